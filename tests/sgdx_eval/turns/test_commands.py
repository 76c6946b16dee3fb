"""Arguments that cannot be used end in one line, and nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .commands import SAMPLE, error_of


def test_other_bad_input(copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    predictions = ["--predictions", str(copies / "gold")]
    output = ["--output", str(tmp_path / "x.json")]
    cases: list[tuple[list[Any], str]] = [
        (["score", *predictions, "--references", tmp_path, *output], "found no original.parquet"),
        (
            ["score", *predictions, *SAMPLE, "--references", tmp_path, *output],
            "found --source or --variant too",
        ),
        (["score", *predictions, *SAMPLE, "--variant", "mine", *output], "expected NAME=PATH"),
        (["score", *predictions, *SAMPLE, "--evaluator", "v9", *output], "unknown config 'v9'"),
        (["score", *predictions, *SAMPLE, "--output", tmp_path], "found a folder"),
        (["references", *SAMPLE, "--nli", tmp_path, *output], "cannot be loaded as a model"),
        (["compare", tmp_path / "a", tmp_path / "b"], "No such file or directory"),
    ]
    for words, message in cases:
        assert message in error_of(capsys, *words), words
    assert not list(tmp_path.glob("*.json"))
