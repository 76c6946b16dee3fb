"""What each kind of errors costs a tracker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maintenance.errata import UserFrame
from maintenance.error_costs import SlotError, costs, dialogue_errors, repair
from sgdx_dataset import frame_tables, open_release
from sgdx_dataset.release.dialogue import Action, State

NOTHING = State("NONE", [], {})


def user_frame(
    turn: int, utterance: str, state: dict[str, list[str]], system: list[Action] | None = None,
    service: str = "Hotels_1",
) -> UserFrame:  # fmt: skip
    return UserFrame(
        "test", "d", turn, service, utterance, [], State("Find", [], state), NOTHING,
        system or [], {}, frozenset(), alone=True,
    )  # fmt: skip


def test_an_error_keeps_the_kind_of_the_turn_in_which_it_began() -> None:
    frames = [
        user_frame(0, "A room in Graz, please.", {"city": ["Graz"]}),
        user_frame(2, "Thanks.", {"city": ["Graz"]}),
        user_frame(4, "No, in Linz.", {"city": ["Linz"]}),
    ]
    states: dict[str, dict[str, list[str]]] = {
        "d/0/Hotels_1": {}, "d/2/Hotels_1": {}, "d/4/Hotels_1": {"city": ["Graz"]},
    }  # fmt: skip
    assert list(dialogue_errors(frames, states, set())) == [
        SlotError("d/0/Hotels_1", "city", ["Graz"], "missed: said by the user in this turn"),
        SlotError("d/2/Hotels_1", "city", ["Graz"], "missed: said by the user in this turn"),
        SlotError("d/4/Hotels_1", "city", ["Linz"], "wrong: said by the user in this turn"),
    ]


@pytest.mark.parametrize(
    ("right", "predicted", "kind"),
    [
        ([], ["Hotel Post"], "invented: shown by the system in this turn"),
        (["Hotel Post"], [], "missed: shown by the system in this turn"),
        ([], ["Graz"], "invented: of an earlier turn or another service"),
        ([], ["Alta"], "invented: of an earlier turn or another service"),
        (["dontcare"], ["Hotel Post"], "wrong: dontcare"),
        (["Hotel Sonne"], ["Hotel Post"], "wrong: anything else"),
        ([], ["Fine"], "invented: said by the user in this turn"),
    ],
)
def test_a_kind_says_where_the_value_stands(
    right: list[str], predicted: list[str], kind: str
) -> None:
    offers = [Action("OFFER", "name", ["Hotel Post"], ["Hotel Post"])]
    alta = [Action("OFFER", "name", ["Alta"], ["Alta"])]
    frames = [
        user_frame(0, "To Graz.", {"to": ["Graz"]}, service="Trains_1"),
        user_frame(2, "And a room?", {}, alta),
        user_frame(4, "Fine.", {"name": right} if right else {}, offers),
    ]
    states = {
        "d/0/Trains_1": {"to": ["Graz"]},
        "d/2/Hotels_1": {},
        "d/4/Hotels_1": {"name": predicted} if predicted else {},
    }
    assert [error.kind for error in dialogue_errors(frames, states, set())] == [kind]


def test_yes_or_no_is_a_kind_of_its_own_and_spoken_forms_are_right() -> None:
    frames = [user_frame(0, "At 5, and no pets.", {"pets": ["False"], "time": ["5 pm", "17:00"]})]
    states = {"d/0/Hotels_1": {"pets": ["True"], "time": ["17:00"]}}
    errors = list(dialogue_errors(frames, states, {"Hotels_1/pets"}))
    assert errors == [SlotError("d/0/Hotels_1", "pets", ["False"], "wrong: yes or no")]


def test_a_repair_leaves_the_other_slots_alone() -> None:
    row = {
        "frame_id": "d/0/Hotels_1",
        "slot_values": [{"slot": "town", "values": ["Graz"]}, {"slot": "beds", "values": ["2"]}],
    }
    names = {"Hotels_1/city": "town", "Hotels_1/name": "title"}
    errors = [
        SlotError("d/0/Hotels_1", "city", [], "k"),
        SlotError("d/0/Hotels_1", "name", ["Post", "The Post"], "k"),
    ]
    assert repair(row, errors, names)["slot_values"] == [
        {"slot": "beds", "values": ["2"]},
        {"slot": "title", "values": ["Post"]},
    ]


def test_costs_of_one_slot_that_is_missed_under_one_wording(tmp_path: Path) -> None:
    """All else is right, so that repairing this one kind gives all figures back."""
    columns = ["frame_id", "variant", "active_intent", "requested_slots", "slot_values"]
    release = open_release("sample")
    for variant in ("original", "v1", "v2", "v3", "v4", "v5"):
        rows = frame_tables(release, "test", variant, columns).to_pylist()
        if variant == "v2":
            last = max(rows[:5], key=lambda row: len(row["slot_values"]))
            assert last["slot_values"].pop()
        lines = [{"metadata": {"model": "made", "variant": variant}}, *rows]
        (tmp_path / f"{variant}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    whole, kind = costs("sample", "test", tmp_path)
    frames = len(rows)
    assert whole[:3] == ("", 0, 1.0)
    assert whole[3:] == pytest.approx((1 - 1 / frames / 5, 1 - 1 / frames))
    assert kind.kind.startswith("missed: ")
    assert kind[1:] == (1, 1.0, 1.0, 1.0)
