"""Sequences and binary features, literally."""

from __future__ import annotations

from baselines.sgp_dst.prompts import (
    Prompt,
    TurnText,
    combine_bits,
    combine_prompt,
    copy_bits,
    copy_prompt,
    cross_bits,
    cross_prompt,
    intent_prompt,
    role_bits,
    turn_text,
)
from sgdx_dataset.schema import Service


def words(prompt: Prompt) -> str:
    head, tail = (" ".join(piece.text for piece in side) for side in (prompt.head, prompt.tail))
    return f"{head} TURN {tail}"


def elements(prompt: Prompt) -> list[tuple[str, int]]:
    return [(piece.text, piece.element) for piece in prompt.tail if piece.element]


def test_turn_text() -> None:
    said = turn_text("Where to?", "To Bath.")
    assert said == TurnText("sys : Where to? usr : To Bath.", 22)
    assert said.text[said.user :] == "To Bath."
    assert turn_text("", "Hi") == ("sys : usr : Hi", 12)


def test_intent(cabs: Service) -> None:
    prompt = intent_prompt(cabs, "PlanRide", True)
    assert words(prompt) == (
        "[CLS] keep [SEP] TURN [SEP] Call a cab # OrderCab [SEP] Look up a ride # PlanRide [SEP]"
        " none [SEP]"
    )
    assert [(text[:6], number) for text, number in elements(prompt)] == [
        ("Call a", 1),
        ("Look u", 2),
        ("none", 3),
    ]
    assert [piece.text for piece in prompt.tail if piece.bits == 1] == ["Look up a ride # PlanRide"]
    later = intent_prompt(cabs, "NONE", False)
    assert words(later).startswith("[CLS] jump [SEP] TURN")
    assert [piece.text for piece in later.tail if piece.bits == 1] == ["none"]
    assert later.turn == 0
    first = intent_prompt(cabs, None, False)
    assert [piece.text for piece in first.tail if piece.bits == 1] == []


def test_combine(cabs: Service) -> None:
    free = combine_prompt(cabs, "destination")
    assert words(free) == (
        "[CLS] TURN null [SEP] tag # destination # Where the ride goes to [SEP] null [SEP]"
        " do not care [SEP]"
    )
    assert elements(free) == [("null", -1), ("null", 1), ("do not care", 2)]
    assert free.turn == -1  # where spans are looked for, as in the null behind
    assert "tag # pickup time # When the cab comes" in words(combine_prompt(cabs, "pickup_time"))
    sort = combine_prompt(cabs, "shared")
    assert words(sort) == (
        "[CLS] TURN null [SEP] sort # shared # Whether others ride along [SEP] null [SEP]"
        " do not care [SEP] True [SEP] False [SEP]"
    )
    assert elements(sort)[1:] == [("null", 1), ("do not care", 2), ("True", 3), ("False", 4)]


def test_copy(cabs: Service, museums: Service) -> None:
    assert words(copy_prompt(cabs, "fare")) == (
        "[CLS] api: rides through town [SEP] TURN [SEP] What it costs [SEP]"
    )
    assert words(cross_prompt(cabs, "pickup_time", museums, "address")) == (
        "[CLS] TURN [SEP] pickup time # When the cab comes [SEP] address # Street and number [SEP]"
    )


def test_bits(cabs: Service) -> None:
    names = ("shared", "riders", "fare", "destination")
    pairs = [(False, False), (True, False), (False, True), (True, True)]
    assert [combine_bits(gave=gave, asked=asked) for gave, asked in pairs] == [0, 2, 4, 6]
    assert [role_bits(cabs, "OrderCab", name) for name in names] == [8, 0, 0, 4]
    assert role_bits(cabs, "NONE", "destination") == 0
    assert copy_bits(cabs, "OrderCab", "shared", in_system=True, in_state=False) == 1 + 8
    assert copy_bits(cabs, "PlanRide", "destination", in_system=True, in_state=True) == 1 + 2 + 4
    facts = {"source": True, "target_given": True, "success": True}
    assert cross_bits(cabs, "OrderCab", "destination", **facts) == 1 + 2 + 4 + 16
    facts = {"source": False, "target_given": False, "success": True}
    assert cross_bits(cabs, "NONE", "destination", **facts) == 16
