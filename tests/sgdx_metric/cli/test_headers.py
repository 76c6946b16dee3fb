"""The first line of a prediction file is told from a row, whoever reads it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from baselines.report.run_files import read_header
from sgdx_dataset.io.errors import SgdxError
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
    assert predictions.metadata.model is None
    assert read_header(path) == {}


@pytest.mark.parametrize(
    ("key", "meant"),
    [("Oracle", "oracle"), ("system-acts", "system_acts"), ("\uff54rain", "train")],
)
@pytest.mark.parametrize("read", ROWS)
def test_a_key_in_other_letters_is_refused(read: Any, key: str, meant: str, tmp_path: Path) -> None:
    """It would be passed over, and an oracle would be none."""
    path = tmp_path / "v1.jsonl"
    path.write_text(json.dumps({"metadata": {key: True}}) + "\n" + json.dumps(ROWS[read]))
    message = f"v1.jsonl:1: metadata: found key '{key}', expected '{meant}'"
    with pytest.raises(SgdxError, match=re.escape(message)):
        read(path, "test", "v1")


def test_a_key_that_may_be_misspelt_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other keys of one's own are nobody's business, nor are those that this project writes."""
    path = tmp_path / "v1.jsonl"
    own = ("note", "versions", "tokens", "tracks", "reads", "dates", "turns", "repeat", "nli")
    keys = dict.fromkeys([*own, "of_variant", "orakle"], "x")
    path.write_text(json.dumps({"metadata": keys}) + "\n" + json.dumps(ROWS[read_states]))
    assert not read_states(path, "test", "v1").metadata.oracle
    assert capsys.readouterr().err == (
        f"note: {path}:1: metadata: found the unknown key 'orakle'; did you mean 'oracle'?\n"
    )
