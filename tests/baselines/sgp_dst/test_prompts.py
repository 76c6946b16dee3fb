"""Sequences and binary features, literally."""

from __future__ import annotations

from baselines.sgp_dst.prompts import (
    Prompt,
    combine_bits,
    combine_prompt,
    copy_bits,
    copy_prompt,
    cross_bits,
    cross_prompt,
    role_bits,
)
from sgdx_dataset.schema import Service


def words(prompt: Prompt) -> str:
    head, tail = (" ".join(piece.text for piece in side) for side in (prompt.head, prompt.tail))
    return f"{head} TURN {tail}"


def elements(prompt: Prompt) -> list[tuple[str, int]]:
    return [(piece.text, piece.element) for piece in prompt.tail if piece.element]


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
