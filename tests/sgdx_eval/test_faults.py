"""Files from outside that are damaged in every field: one line that names the file, exit status 2.

Every field of a prediction row is given eight other values, and its bytes are damaged. What a
command takes all the same must not change what it computes.
"""

from __future__ import annotations

import json
import shutil
import tracemalloc
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_eval.predictions import read_predictions
from sgdx_eval.requested import RequestedData, frame_rows
from sgdx_metric.__main__ import main

from ..conftest import ROOT
from ..mutations import VALUES, changed, places
from ..sgdx_metric.frames import prediction, state

ROW = prediction({"city": ["Rome", "Roma"]}, requested_slots=["name"]) | {
    "slots": [{"slot": "city", "start": 3, "exclusive_end": 7}]
}
GOOD = json.dumps(ROW).encode()
DEEP = b"[" * 100_000 + b"]" * 100_000
# What a row may hold at these places, so that it is read as it stands.
TEXTS = {
    ("frame_id",),
    ("active_intent",),
    ("requested_slots", 0),
    ("slot_values", 0, "slot"),
    ("slot_values", 0, "values", 0),
    ("slot_values", 0, "values", 1),
    ("slots", 0, "slot"),
}
LISTS = {("requested_slots",), ("slot_values",), ("slots",)}


@pytest.mark.parametrize("new", VALUES, ids=lambda new: new[:8])
def test_every_field_of_a_prediction_row(tmp_path: Path, new: str) -> None:
    path, value = tmp_path / "p.jsonl", json.loads(new)
    for place in places(ROW):
        path.write_bytes(GOOD + b"\n" + changed(ROW, place, new))
        if (
            (place in TEXTS and isinstance(value, str))
            or (place in LISTS and value == [])
            or (place == ("slots",) and value is None)
        ):
            row = json.loads(changed(ROW, place, new))
            read = read_predictions(path, "test", "original").rows.to_pylist()
            assert read == [ROW, row], place
            continue
        with pytest.raises(SgdxError) as caught:
            read_predictions(path, "test", "original")
        assert str(caught.value).startswith(f"{path}:2: "), place


@pytest.mark.parametrize(
    "line",
    [b"x" * 10**8, b'{"frame_id": "' + b"x" * 10**8, GOOD.replace(b'["name"]', DEEP)],
    ids=["x", "open", "deep"],
)
def test_a_line_of_100_megabytes_or_levels(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(line)
    tracemalloc.start()
    with pytest.raises(SgdxError) as caught:
        read_predictions(path, "test", "original")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert str(caught.value).startswith(f"{path}:1: ") and len(str(caught.value)) < 1000
    assert peak < 5 * 10**8


def test_a_slot_given_twice_in_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from .test_terminal import scored_rows

    words, rows, path = scored_rows(tmp_path)
    rows[3]["slot_values"] = state({"from": ["A"]}) * 2
    path.write_text("\n".join(map(json.dumps, rows)))
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(path) in line and rows[3]["frame_id"] in line and "'from'" in line


def test_a_split_without_states_is_not_predicted(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "sgdx_dataset" / "sample", tmp_path / "mine")
    for path in (tmp_path / "mine" / "test").glob("dialogues_*.json"):
        path.write_text(path.read_text().replace('"state":', '"was":'))
    data = RequestedData(str(tmp_path / "mine"), "test")
    with pytest.raises(SgdxError, match="mine: found no labels of the split test.*sgdx track"):
        data.rows("original", frame_rows)
