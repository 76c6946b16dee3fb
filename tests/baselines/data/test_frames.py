"""What is left of frame rows when a tracker does not read all of them."""

from __future__ import annotations

from typing import Any

import pytest
from datasets import Dataset, concatenate_datasets

from baselines.data.frames import input_columns
from sgdx_dataset import frames, load

Row = dict[str, Any]
BLIND = ("history", "utterance", "schema")


@pytest.fixture(scope="module")
def rows() -> Dataset:
    return frames(load("v2", "test", "sample"))


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
