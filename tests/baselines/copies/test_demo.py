"""The demonstration of generation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from baselines.copies.demo import demo


def test_the_demo_prints_floor_and_controls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demo(tmp_path)
    printed = capsys.readouterr().out
    rows = {tuple(line.split()[:3]): line.split()[3:] for line in printed.splitlines()}
    assert rows["gold", "all", "265"][:4] == ["100.00", "100.00", "0.00", "0.00"]
    assert rows["gold", "all", "265"][-3:] == ["0.00", "0.00", "0.00"]
    assert rows["empty", "all", "265"][:2] == ["0.00", "0.00"]
    assert float(rows["derived", "all", "265"][-2]) > 50  # the text moves with the wording
    assert "nli:lexical (no model)" in printed
    assert "python -m sgsacc_metric score --predictions outputs/derived" in printed
    scores = {
        name: json.loads((tmp_path / f"{name}.json").read_text()) for name in ("gold", "empty")
    }
    gold, empty = (of["variants"]["original"]["#ALL_SERVICES"] for of in scores.values())
    assert gold["ser"] == 0 and gold["sgsacc_validated"] == 1
    assert empty["ser_checkable"] == 1 and empty["sgsacc_alone"] < empty["sgsacc"]
    assert (tmp_path / "derived" / "v5.jsonl").exists()
