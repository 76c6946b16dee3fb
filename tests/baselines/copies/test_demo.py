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
    tables, _, after = printed.partition("BLEU of all turns")
    assert all(len(line) <= 80 for line in tables.splitlines())
    both = [line.split() for line in tables.splitlines() if line.split()[1:3] == ["all", "265"]]
    assert [row[0] for row in both] == ["gold", "derived", "empty"] * 2
    bleu_and_ser, sgsacc = ({row[0]: row[3:] for row in of} for of in (both[:3], both[3:]))
    assert bleu_and_ser["gold"] == ["100.00", "100.00", "0.00", "0.00", "0.00"]
    assert bleu_and_ser["empty"][:2] == ["0.00", "0.00"]
    assert float(bleu_and_ser["derived"][-1]) > 50  # the text moves with the wording
    assert sgsacc["gold"][-2:] == ["0.00", "0.00"]
    assert "tok:none" in after
    assert "nli:lexical (no model)" in printed
    assert "python -m sgsacc_metric score --predictions outputs/derived" in printed
    scores = {
        name: json.loads((tmp_path / f"{name}.json").read_text()) for name in ("gold", "empty")
    }
    gold, empty = (of["variants"]["original"]["#ALL_SERVICES"] for of in scores.values())
    assert gold["ser"] == 0 and gold["sgsacc_validated"] == 1
    assert empty["ser_checkable"] == 1 and empty["sgsacc_alone"] < empty["sgsacc"]
    assert (tmp_path / "derived" / "v5.jsonl").exists()
