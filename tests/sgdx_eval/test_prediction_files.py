"""Prediction files: what is written is what is read, and a file is of one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from sgdx_dataset import SgdxError
from sgdx_eval.prediction_files import (
    Header,
    finished_names,
    prediction_row,
    system_acts,
    write_predictions,
)

HEADER = Header(
    variant="v1", split="test", system={"model": "m", "system_acts": False, "tracks": ("a",)}
)
FRAME = {"frame_id": "1_00000/0/Cabs_1", "variant": "v1"}


def test_rows_are_written_as_they_are(tmp_path: Path) -> None:
    row = prediction_row(FRAME, "OrderCab", ["price"], {"to": ["the station"]})
    path = write_predictions(tmp_path / "p" / "v1.jsonl", HEADER, [row])
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == [
        {"metadata": msgspec.json.decode(msgspec.json.encode(HEADER))},
        {
            **FRAME,
            "active_intent": "OrderCab",
            "requested_slots": ["price"],
            "slot_values": [{"slot": "to", "values": ["the station"]}],
        },
    ]


def test_predictions_are_kept_while_their_header_would_be_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "v1.jsonl"
    assert finished_names(tmp_path, {"v1": HEADER}) == []
    write_predictions(path, replace(HEADER, counts={"frames": 1}, versions={"torch": "2"}), [])
    assert finished_names(tmp_path, {"v1": HEADER, "v2": HEADER}) == ["v1"]
    assert str(tmp_path) in capsys.readouterr().err
    cases: list[tuple[dict[str, Any], str]] = [
        ({"data": "0123456789abcdef"}, "data"),
        ({"oracle": True}, "oracle"),
        ({"system": {**HEADER.system, "model": "n"}}, "model"),
        ({"system": {"model": "m", "tracks": ["a"]}}, "system_acts"),
        ({"system": {**HEADER.system, "seed": 1}}, "seed"),
    ]
    for changes, key in cases:
        assert finished_names(tmp_path, {"v1": replace(HEADER, **changes)}) == []
        assert f"{tmp_path}: predicting again, as the {key} of v1 " in capsys.readouterr().err
    path.write_text("no header")
    assert finished_names(tmp_path, {"v1": HEADER}) == []


@pytest.mark.parametrize(
    ("stated", "option", "expected"),
    [
        ([True, True], None, "yes"),
        ([False, None], None, "mixed"),
        ([False, None], "no", "no"),
        ([None, "yes"], None, "unknown"),
    ],
)
def test_whether_dialogue_acts_were_used(
    stated: list[Any], option: str | None, expected: str
) -> None:
    headers = {str(i): Header(system={"system_acts": acts}) for i, acts in enumerate(stated)}
    assert system_acts(headers, option) == expected
    with pytest.raises(SgdxError, match="--system-acts"):
        system_acts({"v1": Header(system={"system_acts": True})}, "no")
