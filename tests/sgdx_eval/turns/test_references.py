"""The turns that are scored, and folders that are none of turn rows."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from baselines.data.requested import RequestedData
from sgdx_dataset import SgdxError, frame_tables, open_release, turn_tables
from sgdx_dataset.release.open import SAMPLE
from sgdx_eval.reference_folder import FolderReferences
from sgdx_eval.references import open_references
from sgdx_eval.tasks.turns import Turns, read_turns
from sgdx_metric.rows import ScoreError

COLUMNS = Turns.references.names


def test_a_folder_gives_the_same_turns_as_the_release(tmp_path: Path) -> None:
    pq.write_table(turn_tables(open_release("sample"), "test", "v2"), tmp_path / "v2.parquet")
    folder = read_turns(FolderReferences(tmp_path, "test", ["v2"], COLUMNS, "turns"), "v2")
    release = read_turns(open_references("sample", "test", {}, COLUMNS, "turns"), "v2")
    assert [turn.turn_id for turn in folder] == sorted(turn.turn_id for turn in folder)
    assert [(turn.actions, turn.utterance, turn.prompt) for turn in folder] == [
        (turn.actions, turn.utterance, turn.prompt) for turn in release
    ]
    for left, right in zip(folder, release, strict=True):
        slots = [left.slot(action) for action in left.actions]
        assert slots == [right.slot(action) for action in right.actions]


def test_a_wording_has_one_fingerprint_wherever_it_is_read(tmp_path: Path) -> None:
    """Of a copy that has dialogues of some services alone, as headers of predictions have it."""
    source, own = tmp_path / "source", {"mine": str(tmp_path / "mine.json")}
    copytree(SAMPLE, source)
    (tmp_path / "mine.json").write_text('{"Cabs_1": {"description": "Rides"}}')
    first, *others = sorted((source / "test").glob("dialogues_*.json"))
    first.write_text(json.dumps(json.loads(first.read_text())[:1]))
    for file in others:
        file.unlink()
    rows = frame_tables(open_release(str(source), own), "test", "mine")
    of_frames = open_references(str(source), "test", own).marks(["original", "mine"])
    assert len(set(rows["service"].to_pylist())) == 1 and list(of_frames) == ["mine"]
    of_turns = open_references(str(source), "test", own, COLUMNS, "turns")
    assert of_turns.marks(["mine"]) == of_frames
    assert RequestedData(str(source), "test", own).facts("mine")["wording"] == of_frames["mine"]


def test_folders_that_are_none(tmp_path: Path) -> None:
    rows = turn_tables(open_release("sample"), "test", "v1")
    pq.write_table(rows, tmp_path / "v2.parquet")
    pq.write_table(rows.drop_columns(["actions"]), tmp_path / "v3.parquet")
    place = rows.column_names.index("variant")
    of_v4 = rows.set_column(place, "variant", pa.array(["v4"] * len(rows)))
    pq.write_table(
        of_v4.set_column(0, "turn_id", pa.array([1] * len(rows))), tmp_path / "v4.parquet"
    )
    (tmp_path / "v5.parquet").write_text("x")
    for variant, message in {
        "v1": "found no v1.parquet, expected the turn rows of v1",
        "v2": "found variant v1, expected v2",
        "v3": "found no column actions, expected turn rows",
        "v4": "Expected `str`, got `int`",
        "v5": "not a Parquet file",
    }.items():
        with pytest.raises((ScoreError, SgdxError)) as error:
            read_turns(FolderReferences(tmp_path, "test", [variant], COLUMNS, "turns"), variant)
        assert str(tmp_path) in str(error.value) and message in str(error.value), variant
    with pytest.raises(SgdxError, match="found no folder"):
        FolderReferences(tmp_path / "none", "test")
