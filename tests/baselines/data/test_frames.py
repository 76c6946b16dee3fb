"""The guard: what reaches a tracker, and how one fails that asks for more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from datasets import Dataset, concatenate_datasets

from baselines.data import turns
from baselines.data.frames import GOLD, IDENTITY, INPUTS, input_columns, track, training_columns
from baselines.system import SYSTEMS, Predictions, Tracker, get_system
from sgdx_dataset import SgdxError, frames, load

Row = dict[str, Any]
BLIND = ("history", "utterance", "schema")


@pytest.fixture(scope="module")
def rows() -> Dataset:
    return frames(load("v2", "test", "sample"))


def tracker_that(look: Callable[[Row], Any], *reads: str) -> Tracker:
    """A tracker that declares some inputs and looks at something of each row."""

    class Looking(Tracker):
        NAME: ClassVar[str] = "looking"
        READS: ClassVar[tuple[str, ...]] = reads

        def predict(self, rows: Dataset, chunks: Path) -> Predictions:
            return Predictions([{"saw": look(row)} for row in rows], {})

    return Looking()


def last_acts(row: Row) -> Any:
    return [turn["actions"] for turn in row["history"]]


@pytest.mark.parametrize("column", [*GOLD, "seen", "schema_slots"])
def test_a_tracker_that_looks_at_gold_fails(rows: Dataset, column: str, tmp_path: Path) -> None:
    with pytest.raises(KeyError, match=column):
        track(tracker_that(lambda row: row[column], *INPUTS), rows, tmp_path)


@pytest.mark.parametrize("column", GOLD)
def test_a_tracker_cannot_declare_gold(rows: Dataset, column: str, tmp_path: Path) -> None:
    greedy = tracker_that(lambda row: row[column], *BLIND, column)
    with pytest.raises(SgdxError, match=f"asks to read {column}, expected only history, utter"):
        track(greedy, rows, tmp_path)


def test_acts_are_for_those_who_declare_them(rows: Dataset, tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="actions"):
        track(tracker_that(last_acts, *BLIND), rows, tmp_path)
    seeing = track(tracker_that(last_acts, *BLIND, "system_acts"), rows, tmp_path).rows
    assert [row["saw"] for row in seeing] == [last_acts(row) for row in rows]
    assert sum(len(acts) for row in seeing for acts in row["saw"]) > 300


def test_an_input_that_is_not_declared_is_not_there(rows: Dataset) -> None:
    assert input_columns(rows, ["utterance"]).column_names == [*IDENTITY, "utterance"]
    assert input_columns(rows, ()).column_names == list(IDENTITY)


def test_without_acts_everything_else_stays(rows: Dataset) -> None:
    """In whole splits, in selections and in splits one after the other; dicts and Arrow alike."""
    some = rows.select([7, 3, 100, 101])
    for given in (rows, some, concatenate_datasets([some, rows]), rows.select(range(5, 60))):
        bare = input_columns(given, BLIND)
        assert bare["frame_id"] == given["frame_id"]
        expected = [
            [{"speaker": t["speaker"], "utterance": t["utterance"]} for t in row["history"]]
            for row in given
        ]
        assert list(bare["history"]) == expected
        assert bare.with_format("arrow")[:]["history"].to_pylist() == expected
        assert list(bare["schema"]) == list(given["schema"])


def test_training_sees_gold_besides(rows: Dataset) -> None:
    shown = training_columns(rows, BLIND)
    assert set(shown.column_names) == {*IDENTITY, *BLIND, *GOLD}
    assert "actions" not in shown[5]["history"][0]
    assert shown["slot_values"] == rows["slot_values"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_tracker_declares_inputs_alone(name: str) -> None:
    system_class = get_system(name)
    assert name == system_class.NAME
    assert set(system_class.READS) <= set(INPUTS if system_class.ROWS == "frames" else turns.INPUTS)
    assert ("system_acts" in system_class.READS) is (name in ("lexical", "sgp_dst", "onepass"))
