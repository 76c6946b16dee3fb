"""Run the metric's commands on the sample corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sgsacc_metric.__main__ import main

SAMPLE = ("--source", "sample")
LEXICAL = ("--nli", "lexical")


def scores_of(tmp_path: Path, predictions: Path, *options: str) -> dict[str, Any]:
    output = tmp_path / f"{predictions.name}.json"
    words = ["score", "--predictions", str(predictions), *options, "--output", str(output)]
    assert main(words) == 0
    found: dict[str, Any] = json.loads(output.read_text())
    return found


def error_of(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    capsys.readouterr()  # the notes of commands before
    assert main([*map(str, words)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("sgsacc_metric: error: ") and err.count("\n") == 1
    return err.removeprefix("sgsacc_metric: error: ").rstrip()
