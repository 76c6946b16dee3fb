"""Dialogues as tables: literal rows, both name clashes, and faults that are named."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sgdx_dataset import SgdxError, frame_tables
from sgdx_dataset.release.open import open_release
from sgdx_dataset.rows.dialogue_rows import dialogue_tables
from sgdx_dataset.rows.features import DIALOGUE_ROW

from ..conftest import DIALOGUE, write

Json = Any


def rows(root: Path, config: str) -> list[Json]:
    release = open_release(root)
    parts = [table for _, table in dialogue_tables(release, "test", config)]
    assert all(part.schema == DIALOGUE_ROW.arrow_schema for part in parts)
    made: list[Json] = pa.concat_tables(parts).to_pylist()
    return made


def test_a_row_of_the_original(mini: Path) -> None:
    row = rows(mini, "original")[0]
    assert (row["dialogue_id"], row["variant"], row["services"]) == (
        "1_00000",
        "original",
        ["Flats_1"],
    )
    schema = row["schemas"][0]
    assert (schema["service_name"], schema["original_name"], schema["seen"]) == (
        "Flats_1",
        "Flats_1",
        True,
    )
    assert schema["intents"][0]["optional_slots"] == [{"slot": "area", "value": "dontcare"}]
    user, system, _ = row["turns"]
    assert user["frames"][0]["service_call"] is None
    assert user["frames"][0]["service_results"] == []
    assert user["frames"][0]["state"] == {
        "active_intent": "FindFlat",
        "requested_slots": ["area"],
        "slot_values": [
            {"slot": "area", "values": ["Weststadt"]},
            {"slot": "city", "values": ["Ulm"]},
            {"slot": "intent", "values": ["rent"]},
        ],
    }
    assert system["frames"][0]["state"] is None
    assert system["frames"][0]["service_results"] == [
        [{"slot": "area", "value": "Weststadt"}, {"slot": "city", "value": "Ulm"}],
        [],
    ]


def test_all_keys_are_renamed_at_once(mini: Path) -> None:
    """``area`` becomes ``city`` while ``city`` becomes ``town``; in v2 the two are swapped."""
    state = {
        config: rows(mini, config)[0]["turns"][0]["frames"][0]["state"] for config in ("v1", "v2")
    }
    assert state["v1"]["slot_values"] == [
        {"slot": "city", "values": ["Weststadt"]},
        {"slot": "town", "values": ["Ulm"]},
        {"slot": "purpose", "values": ["rent"]},
    ]
    assert state["v2"]["slot_values"] == [
        {"slot": "city", "values": ["Weststadt"]},
        {"slot": "area", "values": ["Ulm"]},
        {"slot": "aim", "values": ["rent"]},
    ]
    assert (state["v1"]["active_intent"], state["v1"]["requested_slots"]) == (
        "SearchFlat",
        ["city"],
    )


def test_a_slot_called_intent_is_told_from_intents(mini: Path) -> None:
    user, system, _ = rows(mini, "v1")[0]["turns"]
    acts = [(a["act"], a["slot"], a["values"]) for a in user["frames"][0]["actions"]]
    assert acts == [
        ("INFORM_INTENT", "intent", ["SearchFlat"]),
        ("INFORM", "purpose", ["rent"]),
        ("INFORM", "town", ["Ulm"]),
        ("INFORM", "city", ["Weststadt"]),
    ]
    acts = [(a["act"], a["slot"], a["canonical_values"]) for a in system["frames"][0]["actions"]]
    assert acts == [
        ("INFORM_COUNT", "count", ["1"]),
        ("OFFER_INTENT", "intent", ["SeeFlat"]),
        ("REQUEST", "purpose", ["buy"]),
        ("REQ_MORE", "", []),
    ]


def test_every_other_place_is_renamed(mini: Path) -> None:
    row = rows(mini, "v4")[0]
    assert row["variant"] == "v4"
    assert row["services"] == ["Flats_14"]
    assert row["schemas"][0]["service_name"] == "Flats_14"
    assert row["schemas"][0]["original_name"] == "Flats_1"
    frame = row["turns"][0]["frames"][0]
    assert frame["service"] == "Flats_14"
    assert [span["slot"] for span in frame["slots"]] == ["p", "q"]
    call = row["turns"][1]["frames"][0]["service_call"]
    assert call["method"] == "F"
    assert [pair["slot"] for pair in call["parameters"]] == ["q", "p", "r"]
    results = row["turns"][1]["frames"][0]["service_results"]
    assert [pair["slot"] for pair in results[0]] == ["q", "p"]
    assert row["turns"][2]["frames"][0]["state"]["active_intent"] == "NONE"


def test_unseen_is_decided_on_the_original_name(mini: Path) -> None:
    train = mini / "train" / "schema.json"
    train.write_text(train.read_text().replace("Flats_1", "Flats_7"))
    for path in (mini / "sgd_x" / "data").glob("*/train/schema.json"):
        path.write_text(path.read_text().replace("Flats_1", "Flats_7"))
    assert rows(mini, "original")[0]["schemas"][0]["seen"] is False
    assert rows(mini, "v1")[0]["schemas"][0]["seen"] is False


def _frame(dialogue: Json) -> Json:
    return dialogue["turns"][0]["frames"][0]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: _frame(d)["state"]["slot_values"].update(rent=["9"]), "'rent' is no slot of"),
        (lambda d: _frame(d)["state"]["requested_slots"].append("rent"), "'rent' is no slot of"),
        (lambda d: _frame(d)["slots"][0].update(slot="rent"), "'rent' is no slot of service Flats"),
        (lambda d: _frame(d)["actions"][1].update(slot="rent"), "'rent' is no slot of"),
        (lambda d: _frame(d)["state"].update(active_intent="Rent"), "'Rent' is no intent of"),
        (lambda d: _frame(d)["actions"][0].update(values=["Rent"]), "'Rent' is no intent of"),
        (lambda d: d["services"].append("Flats_2"), "'Flats_2' is no service in"),
        (lambda d: d["turns"][0].update(speaker="BOT"), "turn 0: speaker is 'BOT', expected USER"),
        (lambda d: d["turns"][0]["frames"].append(_frame(d)), "expected one frame a service"),
        (lambda d: d["turns"][1]["frames"][0].pop("service_results"), "turn 1: expected both"),
        (lambda d: _frame(d).update(service=3), "Expected `str`, got `int`"),
        (lambda d: _frame(d).update(extra=3), "Object contains unknown field `extra`"),
        (lambda d: _frame(d)["state"]["slot_values"].update(city=[]), "`array` of length >= 1"),
        (lambda d: _frame(d)["slots"][0].update(start=-1), "Expected `int` >= 0"),
        (lambda d: _frame(d)["slots"][0].update(start=3_000_000_000), "Expected `int` <= 21474836"),
        (
            lambda d: _frame(d)["slots"][0].update(exclusive_end=47),
            "turn 0: found city at characters 25 to 47, expected some of 46",
        ),
        (
            lambda d: _frame(d)["slots"][0].update(exclusive_end=24),
            "turn 0: found city at characters 25 to 24, expected some of 46",
        ),
    ],
)
def test_a_fault_names_the_file_and_the_dialogue(
    mini: Path, edit: Callable[[Json], None], message: str
) -> None:
    faulty = copy.deepcopy(DIALOGUE) | {"dialogue_id": "1_00001"}
    edit(faulty)
    write(mini / "test" / "dialogues_001.json", [DIALOGUE, faulty])
    with pytest.raises(SgdxError) as error:
        rows(mini, "original")
    assert f"{mini}: test/dialogues_001.json: dialogue 1_00001: " in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("file", "old", "new", "record"),
    [
        ("001", "}]", "", "not a list of dialogues"),
        (
            "001",
            '{"area": ["W',
            '{"area": ["x"], "area": ["W',
            "not a list of dialogues: an",
        ),
        ("001", None, "[]", "has no dialogue"),
        ("002", None, json.dumps([DIALOGUE]), "dialogue 1_00000 is in test/dialogues_001.json"),
    ],
)
def test_a_file_at_fault_is_named(
    mini: Path, file: str, old: str | None, new: str, record: str
) -> None:
    """A parser takes the last of two equal keys without a word, and a row is of one dialogue."""
    path = mini / "test" / f"dialogues_{file}.json"
    path.write_text(path.read_text().replace(old, new, 1) if old else new)
    for read in (
        lambda: rows(mini, "v1"),
        lambda: frame_tables(open_release(mini), "test", "v1", ["slot_values"]),
    ):
        with pytest.raises(SgdxError) as error:
            read()
        assert str(error.value).startswith(f"{mini}: test/dialogues_{file}.json: {record}")


def test_a_split_without_dialogues_is_empty(mini: Path) -> None:
    (mini / "test" / "dialogues_001.json").unlink()
    assert list(dialogue_tables(open_release(mini), "test", "v1")) == []
