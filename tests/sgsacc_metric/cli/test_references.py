"""The turns that are scored, and folders that are none of turn rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgdx_dataset import SgdxError, open_release, turn_tables
from sgdx_metric.rows import ScoreError
from sgsacc_metric.cli.references import open_references


def test_a_folder_gives_the_same_turns_as_the_release(tmp_path: Path) -> None:
    pq.write_table(turn_tables(open_release("sample"), "test", "v2"), tmp_path / "v2.parquet")
    folder = open_references(None, tmp_path, "test", {}).turns("v2")
    release = open_references("sample", None, "test", {}).turns("v2")
    assert [turn.turn_id for turn in folder] == sorted(turn.turn_id for turn in folder)
    assert [(turn.actions, turn.utterance, turn.prompt) for turn in folder] == [
        (turn.actions, turn.utterance, turn.prompt) for turn in release
    ]
    for left, right in zip(folder, release, strict=True):
        slots = [left.slot(action) for action in left.actions]
        assert slots == [right.slot(action) for action in right.actions]


def test_folders_that_are_none(tmp_path: Path) -> None:
    rows = turn_tables(open_release("sample"), "test", "v1")
    pq.write_table(rows, tmp_path / "v2.parquet")
    pq.write_table(rows.drop_columns(["actions"]), tmp_path / "v3.parquet")
    pq.write_table(
        rows.set_column(0, "turn_id", pa.array([1] * len(rows))), tmp_path / "v4.parquet"
    )
    (tmp_path / "v5.parquet").write_text("x")
    references = open_references(None, tmp_path, "test", {})
    for variant, message in {
        "v1": "found no v1.parquet, expected the turn rows of v1",
        "v2": "found variant v1, expected v2",
        "v3": "found no column actions, expected turn rows",
        "v4": "Expected `str`, got `int`",
        "v5": "not a Parquet file",
    }.items():
        with pytest.raises((ScoreError, SgdxError)) as error:
            references.turns(variant)
        assert str(tmp_path) in str(error.value) and message in str(error.value), variant
    with pytest.raises(ScoreError, match="found no folder"):
        open_references(None, tmp_path / "none", "test", {})
