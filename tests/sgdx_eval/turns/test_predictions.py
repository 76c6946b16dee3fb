"""Prediction files that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from .commands import SAMPLE, error_of


def test_bad_predictions(copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (copies / "derived" / "v1.jsonl").read_text().splitlines()
    header = '{"metadata": {"split": "dev"}}'
    cases = {
        "missing": (lines[:-1], "predictions for v1: 1 of 265 turns are missing, the first is "),
        "twice": (
            [*lines, lines[-1]],
            "predictions for v1: turn 2_00009/9 appears twice, expected once",
        ),
        "split": ([header, *lines[1:]], "v1.jsonl:1: metadata: split is "),
        "variant": (
            [line.replace('"v1"', '"v2"') for line in lines[1:]],
            "v1.jsonl:1: variant is 'v2'",
        ),
        "json": ([lines[0], "{"], "v1.jsonl:2: not a prediction row: Input data was truncated"),
        "key": ([lines[0], '{"turn_id": "a", "variant": "v1"}'], "missing required field"),
    }
    for name, (text, message) in cases.items():
        file = tmp_path / name / "v1.jsonl"
        file.parent.mkdir()
        file.write_text("\n".join(text))
        output = tmp_path / name / "scores.json"
        words = ["score", *SAMPLE, "--predictions", f"v1={file}", "--output", output]
        assert message in error_of(capsys, *words), name
        assert not output.exists()
