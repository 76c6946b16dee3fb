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
from sgdx_dataset.columns import DIALOGUE_COLUMNS
from sgdx_dataset.release import open_release
from sgdx_dataset.rows import row_tables

from .conftest import DIALOGUE, write

Json = Any


def rows(root: Path, config: str) -> list[Json]:
    release = open_release(root)
    parts = [table for _, table in row_tables(release, "test", config)]
    assert all(part.schema == DIALOGUE_COLUMNS for part in parts)
    made: list[Json] = pa.concat_tables(parts).to_pylist()
    return made


def pairs(**values: str) -> Json:
    return [{"slot": slot, "values": [value]} for slot, value in values.items()]


def test_a_row_of_the_original(mini: Path) -> None:
    row = rows(mini, "original")[0]
    assert (row["dialogue_id"], row["variant"], row["services"]) == (
        *("1_00000", "original", ["Flats_1"]),
    )
    (schema,) = row["schemas"]
    names = schema["service_name"], schema["original_name"], schema["seen"]
    assert names == ("Flats_1", "Flats_1", True)
    assert schema["intents"][0]["optional_slots"] == [{"slot": "area", "value": "dontcare"}]
    user, system, _ = (turn["frames"][0] for turn in row["turns"])
    assert (user["service_call"], user["service_results"]) == (None, [])
    assert user["state"] == {
        "active_intent": "FindFlat",
        "requested_slots": ["area"],
        "slot_values": pairs(area="Weststadt", city="Ulm", intent="rent"),
    }
    assert system["state"] is None
    assert system["service_results"] == [
        [{"slot": "area", "value": "Weststadt"}, {"slot": "city", "value": "Ulm"}],
        [],
    ]


def test_all_keys_are_renamed_at_once(mini: Path) -> None:
    """``area`` becomes ``city`` while ``city`` becomes ``town``; in v2 the two are swapped."""
    first, second = (rows(mini, v)[0]["turns"][0]["frames"][0]["state"] for v in ("v1", "v2"))
    assert first["slot_values"] == pairs(city="Weststadt", town="Ulm", purpose="rent")
    assert second["slot_values"] == pairs(city="Weststadt", area="Ulm", aim="rent")
    assert (first["active_intent"], first["requested_slots"]) == ("SearchFlat", ["city"])


def test_a_slot_called_intent_is_told_from_intents(mini: Path) -> None:
    user, system, _ = (turn["frames"][0]["actions"] for turn in rows(mini, "v1")[0]["turns"])
    assert [(act["act"], act["slot"], act["values"]) for act in user] == [
        ("INFORM_INTENT", "intent", ["SearchFlat"]),
        ("INFORM", "purpose", ["rent"]),
        ("INFORM", "town", ["Ulm"]),
        ("INFORM", "city", ["Weststadt"]),
    ]
    assert [(act["act"], act["slot"], act["canonical_values"]) for act in system] == [
        ("INFORM_COUNT", "count", ["1"]),
        ("OFFER_INTENT", "intent", ["SeeFlat"]),
        ("REQUEST", "purpose", ["buy"]),
        ("REQ_MORE", "", []),
    ]


def test_every_other_place_is_renamed(mini: Path) -> None:
    row = rows(mini, "v4")[0]
    user, system, last = (turn["frames"][0] for turn in row["turns"])
    schema, call = row["schemas"][0], system["service_call"]
    assert (row["variant"], row["services"], user["service"]) == ("v4", ["Flats_14"], "Flats_14")
    assert (schema["service_name"], schema["original_name"]) == ("Flats_14", "Flats_1")
    assert [span["slot"] for span in user["slots"]] == ["p", "q"]
    assert (call["method"], [pair["slot"] for pair in call["parameters"]]) == ("F", ["q", "p", "r"])
    assert [pair["slot"] for pair in system["service_results"][0]] == ["q", "p"]
    assert last["state"]["active_intent"] == "NONE"


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
        (lambda d: d["services"].append("Flats_2"), "'Flats_2' is no service"),
        (lambda d: d["turns"][0].update(speaker="BOT"), "Invalid enum value 'BOT'"),
        (lambda d: d["turns"][0]["frames"].append(_frame(d)), "expected one frame a service"),
        (lambda d: d["turns"][1]["frames"][0].pop("service_results"), "turn 1: expected both"),
        (lambda d: _frame(d).update(service=3), "Expected `str`, got `int`"),
        (lambda d: _frame(d)["state"]["slot_values"].update(city=[]), "`array` of length >= 1"),
        (lambda d: _frame(d)["slots"][0].update(start=-1), "Expected `int` >= 0"),
        (lambda d: _frame(d)["slots"][0].update(start=3_000_000_000), "Expected `int` <= 21474836"),
        (
            lambda d: _frame(d)["slots"][0].update(exclusive_end=47),
            "expected a place among 46 characters",
        ),
        (lambda d: _frame(d)["slots"][0].update(exclusive_end=24), "turn 0: found the span"),
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
        ("001", None, "[]", "has no dialogue"),
        ("002", None, json.dumps([DIALOGUE]), "dialogue 1_00000 is in test/dialogues_001.json"),
    ],
)
def test_a_file_at_fault_is_named(
    mini: Path, file: str, old: str | None, new: str, record: str
) -> None:
    path = mini / "test" / f"dialogues_{file}.json"
    path.write_text(path.read_text().replace(old, new, 1) if old else new)
    for read in (
        lambda: rows(mini, "v1"),
        lambda: frame_tables(open_release(mini), "test", "v1", ["slot_values"]),
    ):
        with pytest.raises(SgdxError) as error:
            read()
        assert str(error.value).startswith(f"{mini}: test/dialogues_{file}.json: {record}")


def test_a_split_without_dialogues(mini: Path) -> None:
    (mini / "test" / "dialogues_001.json").unlink()
    with pytest.raises(SgdxError, match="has no dialogues in test under v1"):
        list(row_tables(open_release(mini), "test", "v1"))
