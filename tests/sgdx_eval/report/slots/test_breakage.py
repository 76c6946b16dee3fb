"""Classes of errors and the costliest rewordings, on predictions whose errors are known."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import pytest

from sgdx_eval.references import References
from sgdx_eval.report.slots.breakage import (
    CLASSES,
    INTENT,
    Analysis,
    Error,
    Mistake,
    choose_mistakes,
    classify,
    costliest_rewordings,
    find_mistakes,
    lost_and_won,
    with_intervals,
)
from sgdx_eval.report.slots.scores import Element, Words

from ..conftest import Row, analysed, values, with_state

STATE = {"city": ["Rome", "Roma"], "stars": ["3"]}


@pytest.mark.parametrize(
    ("slot", "predicted", "error"),
    [
        ("city", {"stars": ["3"]}, ("missed", "Rome", "", "")),
        ("city", {"city": ["Oslo"], "stars": ["3"]}, ("wrong value", "Rome", "Oslo", "")),
        ("name", {**STATE, "name": ["Bo"]}, ("invented", "", "Bo", "")),
        ("name", {**STATE, "name": ["Pisa"]}, ("copied from another service", "", "Pisa", "")),
        # The value went to another slot, for which it is the value of this one.
        ("city", {"name": ["Roma"], "stars": ["3"]}, ("wrong slot", "Rome", "", "name")),
        ("name", {"name": ["Roma"], "stars": ["3"]}, ("wrong slot", "", "Roma", "city")),
        # It is predicted in both, so that this slot is not the one that it is missing in.
        ("name", {**STATE, "name": ["Rome"]}, ("invented", "", "Rome", "")),
    ],
)
def test_every_class(
    slot: str, predicted: dict[str, list[str]], error: tuple[str, str, str, str]
) -> None:
    """The class, the reference, what is predicted, and the other slot."""
    assert classify(slot, STATE, predicted, {"Pisa"}) == error
    assert error[0] in CLASSES


def test_the_costliest_rewording(
    forgetful: Analysis, sample: References, gold: dict[str, list[Row]]
) -> None:
    first = sample.schemas("original")["Vets_1"].slots[0]
    lost = sum(
        first.name in values(row) for row in gold["original"] if row["frame_id"].endswith("Vets_1")
    )
    assert lost > 0
    (rewording,) = costliest_rewordings(forgetful)
    assert (rewording.lost, rewording.won, rewording.net) == (lost, 0, lost)
    of_v3 = lost_and_won(forgetful.gold, forgetful.runs[0], "v3")
    lost_there, won_there = of_v3[:, forgetful.gold.elements.index(Element("Vets_1", 1, False))]
    assert lost_there == 0 and won_there > 0


def test_only_dialogues_that_have_frames_are_drawn(forgetful: Analysis) -> None:
    """As in a choice of frames, which keep their dialogues' numbers."""
    with_gaps = copy(forgetful.gold)
    with_gaps.frames = replace(with_gaps.frames, dialogue=3 * with_gaps.frames.dialogue)
    rewordings = costliest_rewordings(forgetful)
    found = with_intervals(replace(forgetful, gold=with_gaps), rewordings)
    assert found[0].interval and found == with_intervals(forgetful, rewordings)


def mistake(system: str, dialogue: str, kind: str, slot: str, turns: int = 1) -> Mistake:
    errors = [
        Error(
            system, f"{dialogue}/{turn}/S_1", True, "v1", kind, True,
            Words(slot, ""), Words("new", ""), "", "", "", "", "",
        )
        for turn in range(turns)
    ]  # fmt: skip
    (found,) = find_mistakes(errors)
    return found


def test_every_class_and_system_is_shown_before_one_twice() -> None:
    mistakes = [mistake("a", f"d{i}", "missed", "city") for i in range(50)]
    mistakes += [mistake("a", "d3", "invented", "date"), mistake("a", "d4", "missed", "date")]
    mistakes.append(mistake("b", "d9", "missed", "city"))
    chosen = choose_mistakes(mistakes, 3)
    assert {(m.first.system, m.first.kind) for m in chosen} == {
        ("a", "missed"), ("a", "invented"), ("b", "missed"),
    }  # fmt: skip
    assert len(choose_mistakes(mistakes, 200)) == 53


def test_what_lasts_longest_comes_first_and_dialogues_stay_together() -> None:
    mistakes = [
        mistake("a", "d1", "missed", "city", 1),
        mistake("a", "d2", "missed", "city", 7),
        mistake("a", "d1", "missed", "date", 3),
        mistake("a", "d3", "missed", "time", 2),
    ]
    chosen = choose_mistakes(mistakes, 4)
    ids = [m.first.place[0] for m in chosen]
    assert len(chosen[ids.index("d2")].variants[0]) == 7
    assert ids.index("d2") < 2 and abs(ids.index("d1") - len(ids) + 1 + ids[::-1].index("d1")) == 1


@pytest.fixture(scope="module")
def of_one_dialogue(
    tmp_path_factory: pytest.TempPathFactory, sample: References, gold: dict[str, list[Row]]
) -> tuple[Analysis, list[Row]]:
    """A tracker that forgets one slot of a dialogue under v2 and v4, and intents under v3.

    With it come the dialogue's frames that have a value for the slot, in the order of turns.
    """
    name = sample.schemas("original")["Vets_1"].slots[0].name
    rows = [
        row for row in gold["original"]
        if row["frame_id"].endswith("/Vets_1") and name in values(row)
    ]  # fmt: skip
    dialogue = rows[0]["frame_id"].split("/")[0]

    def change(variant: str, row: Row) -> None:
        if row["frame_id"].startswith(f"{dialogue}/") and row["frame_id"].endswith("/Vets_1"):
            state = values(row)
            if variant in ("v2", "v4"):
                state.pop(sample.schemas(variant)["Vets_1"].slots[0].name, None)
            if variant == "v3":
                row["active_intent"] = "NONE"
            with_state(row, state)

    analysis = analysed(tmp_path_factory.mktemp("broken"), sample, gold, change)
    rows = [row for row in rows if row["frame_id"].startswith(f"{dialogue}/")]
    return analysis, sorted(rows, key=lambda row: int(row["frame_id"].split("/")[1]))


def test_a_mistake_stands_once_with_every_variant(
    of_one_dialogue: tuple[Analysis, list[Row]], sample: References
) -> None:
    analysis, rows = of_one_dialogue
    slot, new = (sample.schemas(name)["Vets_1"].slots[0] for name in ("original", "v4"))
    (forgotten,) = (m for m in find_mistakes(analysis.errors) if m.first.kind != INTENT)
    assert forgotten.first.frame_id == rows[0]["frame_id"]
    assert forgotten.first.original == Words(slot.name, slot.description)
    assert forgotten.reference in values(rows[0])[slot.name]
    dialogue_id, turn, _ = forgotten.first.place
    said = sample.turns()[dialogue_id]
    assert forgotten.first.user_utterance == said[turn][1]
    assert forgotten.first.system_utterance == (said[turn - 1][1] if turn else "")
    under_v2, under_v4 = forgotten.variants
    for variant, errors in (("v2", under_v2), ("v4", under_v4)):
        assert [error.frame_id for error in errors] == [row["frame_id"] for row in rows]
        assert {(e.variant, e.kind, e.predicted) for e in errors} == {(variant, "missed", "")}
    assert under_v4[0].reworded == Words(new.name, new.description)


def test_the_right_intent_is_in_the_original_words(
    of_one_dialogue: tuple[Analysis, list[Row]], sample: References
) -> None:
    mistakes = find_mistakes(of_one_dialogue[0].errors)
    intents = [mistake for mistake in mistakes if mistake.first.kind == INTENT]
    names = {intent.name for intent in sample.schemas("original")["Vets_1"].intents}
    others = {intent.name for intent in sample.schemas("v3")["Vets_1"].intents}
    assert intents and {mistake.reference for mistake in intents} <= names
    assert not names & others
    assert {errors[0].reworded.name for m in intents for errors in m.variants} <= others
    assert {error.reference for m in intents for errors in m.variants for error in errors} <= others
