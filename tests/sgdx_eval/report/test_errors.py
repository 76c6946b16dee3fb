"""Errors stand once for each dialogue and slot, with every wording; the choice has all classes."""

from __future__ import annotations

import pytest
from sgdx_eval.report.analysis import analyse
from sgdx_eval.report.cells import Cell
from sgdx_eval.report.data import ReferenceData
from sgdx_eval.report.errors import Error, WrongWording, choose_errors, error_lines, system_errors

from sgdx_eval.report.inputs import read_tracker
from sgdx_eval.report.systems import group_runs
from sgdx_eval.tables import Cell

from .conftest import Row, values, with_state, write_run


def error(system: str, dialogue: str, kind: str, words: str, turns: int = 1) -> Error:
    wrong = WrongWording("v1", kind, Cell("new"), "", "", turns)
    return Error(system, dialogue, "S_1", "seen", 0, "", "", Cell(words), "", [wrong])


def test_every_class_and_system_is_shown_before_one_twice() -> None:
    errors = [error("a", f"d{i}", "missed", "city") for i in range(50)]
    errors += [error("a", "d3", "invented", "date"), error("a", "d4", "missed", "date")]
    errors.append(error("b", "d9", "missed", "city"))
    chosen = choose_errors(errors, 3)
    assert {(e.system, e.wordings[0].kind) for e in chosen} == {
        ("a", "missed"), ("a", "invented"), ("b", "missed"),
    }  # fmt: skip
    assert len(choose_errors(errors, 200)) == 53


def test_what_lasts_longest_comes_first_and_dialogues_stay_together() -> None:
    errors = [
        error("a", "d1", "missed", "city", 1),
        error("a", "d2", "missed", "city", 7),
        error("a", "d1", "missed", "date", 3),
        error("a", "d3", "missed", "time", 2),
    ]
    chosen = choose_errors(errors, 4)
    ids = [e.dialogue_id for e in chosen]
    assert chosen[ids.index("d2")].wordings[0].turns == 7
    assert ids.index("d2") < 2 and abs(ids.index("d1") - len(ids) + 1 + ids[::-1].index("d1")) == 1


@pytest.fixture(scope="module")
def broken(
    tmp_path_factory: pytest.TempPathFactory, sample: ReferenceData, gold: dict[str, list[Row]]
) -> tuple[list[Error], list[dict[str, object]], str]:
    """The errors of a tracker that forgets one slot of a dialogue under v2 and v4, and intents."""
    name = sample.schemas("original")["Vets_1"].slots[0].name
    frames = [
        row["frame_id"] for row in gold["original"]
        if row["frame_id"].endswith("/Vets_1") and name in values(row)
    ]  # fmt: skip
    dialogue = frames[0].split("/")[0]

    def change(variant: str, row: Row) -> None:
        if row["frame_id"].startswith(f"{dialogue}/") and row["frame_id"].endswith("/Vets_1"):
            state = values(row)
            if variant in ("v2", "v4"):
                state.pop(sample.schemas(variant)["Vets_1"].slots[0].name, None)
            if variant == "v3":
                row["active_intent"] = "NONE"
            with_state(row, state)

    folder = tmp_path_factory.mktemp("broken") / "run"
    (group,) = group_runs([read_tracker(write_run(folder, sample, gold, change, tracker="x"))])
    analysis = analyse(group.systems[0], sample)
    lines = list(error_lines(group.systems[0], analysis))
    return system_errors(group.systems[0], analysis), lines, dialogue


def test_an_error_stands_once_with_every_wording(
    broken: tuple[list[Error], list[dict[str, object]], str],
    sample: ReferenceData,
    gold: dict[str, list[Row]],
) -> None:
    errors, lines, dialogue = broken
    slot = sample.schemas("original")["Vets_1"].slots[0]
    of_dialogue = [
        row
        for row in gold["original"]
        if row["frame_id"].startswith(f"{dialogue}/") and row["frame_id"].endswith("/Vets_1")
    ]
    frames = [row for row in of_dialogue if slot.name in values(row)]
    (forgotten,) = (error for error in errors if not error.is_intent)
    assert (forgotten.dialogue_id, forgotten.service) == (dialogue, "Vets_1")
    assert forgotten.words == Cell(slot.name, slot.description)
    assert forgotten.turn == min(int(row["frame_id"].split("/")[1]) for row in frames)
    assert forgotten.reference in values(frames[0])[slot.name]
    assert forgotten.user_utterance
    assert [(w.variant, w.kind, w.predicted, w.turns) for w in forgotten.wordings] == [
        ("v2", "missed", "", len(frames)),
        ("v4", "missed", "", len(frames)),
    ]
    new = sample.schemas("v4")["Vets_1"].slots[0]
    assert forgotten.wordings[1].words == Cell(new.name, new.description)
    assert sum(line["class"] == "missed" for line in lines) == 2 * len(frames)


def test_the_right_intent_is_in_the_original_words(
    broken: tuple[list[Error], list[dict[str, object]], str], sample: ReferenceData
) -> None:
    errors, _, _ = broken
    intents = [error for error in errors if error.is_intent]
    names = {intent.name for intent in sample.schemas("original")["Vets_1"].intents}
    others = {intent.name for intent in sample.schemas("v3")["Vets_1"].intents}
    assert intents and {error.reference for error in intents} <= names
    assert not names & others and {w.words.text for e in intents for w in e.wordings} <= others
