"""Prediction files: what is written is what is read, and a file is of one run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from baselines.data.prediction_files import is_finished, prediction_row, write_predictions
from sgdx_dataset import SgdxError

HEADER = {"model": "m", "split": "test", "variant": "v1", "system_acts": False}
FRAME = {"frame_id": "1_00000/0/Cabs_1", "variant": "v1"}


def test_rows_are_written_as_they_are(tmp_path: Path) -> None:
    row = prediction_row(FRAME, "OrderCab", ["price"], {"to": ["the station"]})
    path = write_predictions(tmp_path / "p" / "v1.jsonl", HEADER, [row])
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == [
        {"metadata": HEADER},
        {
            **FRAME,
            "active_intent": "OrderCab",
            "requested_slots": ["price"],
            "slot_values": [{"slot": "to", "values": ["the station"]}],
        },
    ]


def test_a_finished_file_is_of_one_run(tmp_path: Path) -> None:
    path = tmp_path / "v1.jsonl"
    assert not is_finished(path, HEADER)
    write_predictions(path, HEADER, [])
    assert is_finished(path, HEADER)
    with pytest.raises(SgdxError, match="holds another run's predictions: model is 'm'"):
        is_finished(path, HEADER | {"model": "n"})
