"""The first line of a prediction file is told from a row, whoever reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from baselines.report.run_files import read_header
from sgdx_metric.cli.predictions import read_predictions as read_states
from sgsacc_metric.cli.predictions import read_predictions as read_responses

STATE = {"active_intent": "NONE", "requested_slots": [], "slot_values": []}
ROWS = {
    read_states: {"frame_id": "1_00000/0/Cabs_1", "variant": "v1", **STATE},
    read_responses: {"turn_id": "1_00000/1", "variant": "v1", "utterance": "Hello."},
}


@pytest.mark.parametrize("line", ['{"metadata": {"model": "m"}}', ' { "metadata" :{"model":"m"}} '])
@pytest.mark.parametrize("read", ROWS)
def test_a_header_is_told_from_a_row(read: Any, line: str, tmp_path: Path) -> None:
    path = tmp_path / "v1.jsonl"
    path.write_text(f"{line}\n{json.dumps(ROWS[read])}\n")
    predictions = read(path, "test", "v1")
    assert (len(predictions.rows), predictions.metadata.model) == (1, "m")
    assert read_header(path) == {"model": "m"}
    path.write_text(json.dumps(ROWS[read]))
    predictions = read(path, "test", "v1")
    assert (predictions.has_header, predictions.metadata.model) == (False, None)
    assert read_header(path) == {}
