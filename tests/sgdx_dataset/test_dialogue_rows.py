"""Dialogues as tables: literal rows, both name clashes, and faults that are named.

That all else is renamed too is tested against the release's own converter, in ``test_export``.
"""

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


def test_unseen_is_decided_on_the_original_name(mini: Path) -> None:
    train = mini / "train" / "schema.json"
    train.write_text(train.read_text().replace("Flats_1", "Flats_7"))
    for path in (mini / "sgd_x" / "data").glob("*/train/schema.json"):
        path.write_text(path.read_text().replace("Flats_1", "Flats_7"))
    assert rows(mini, "original")[0]["schemas"][0]["seen"] is False
    assert rows(mini, "v1")[0]["schemas"][0]["seen"] is False


def frame(dialogue: Json) -> Json:
    return dialogue["turns"][0]["frames"][0]


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (lambda d: frame(d)["state"]["slot_values"].update(rent=["9"]), "'rent' .*Flats_1"),
        (lambda d: frame(d)["state"]["requested_slots"].append("rent"), "'rent' .*Flats_1"),
        (lambda d: frame(d)["slots"][0].update(slot="rent"), "'rent' .*Flats_1"),
        (lambda d: frame(d)["actions"][1].update(slot="rent"), "'rent' .*Flats_1"),
        (lambda d: frame(d)["state"].update(active_intent="Rent"), "'Rent' .*Flats_1"),
        (lambda d: frame(d)["actions"][0].update(values=["Rent"]), "'Rent' .*FindFlat, VisitFlat"),
        (lambda d: d["services"].append("Flats_2"), "'Flats_2' .*Flats_1"),
        (lambda d: d["turns"][0].update(speaker="BOT"), "'BOT'"),
        (lambda d: d["turns"][0]["frames"].append(frame(d)), "turn 0: "),
        (lambda d: d["turns"][1]["frames"][0].pop("service_results"), "turn 1: "),
        (lambda d: frame(d).update(service=3), r"`int` .*\.service"),
        (lambda d: frame(d).update(service="Flats_2"), "turn 0: .*'Flats_2'"),
        (lambda d: frame(d)["state"]["slot_values"].update(city=[]), "length >= 1"),
        (lambda d: frame(d)["slots"][0].update(start=-1), ">= 0"),
        (lambda d: frame(d)["slots"][0].update(start=3_000_000_000), "<= 2147483647"),
        (lambda d: frame(d)["slots"][0].update(exclusive_end=47), "turn 0: .*46 characters"),
        (lambda d: frame(d)["slots"][0].update(exclusive_end=24), "turn 0: .*'exclusive_end': 24"),
    ],
)
def test_a_fault_names_the_file_and_the_dialogue(
    mini: Path, edit: Callable[[Json], None], found: str
) -> None:
    faulty = copy.deepcopy(DIALOGUE) | {"dialogue_id": "1_00001"}
    edit(faulty)
    write(mini / "test" / "dialogues_001.json", [DIALOGUE, faulty])
    record = f"^{mini}: test/dialogues_001.json: dialogue 1_00001: "
    with pytest.raises(SgdxError, match=f"{record}.*{found}"):
        rows(mini, "original")


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
