"""The command score, from prediction files to scores.json, scores by turn and tables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ...conftest import ROOT
from .commands import LEXICAL, SAMPLE, scores_of


def test_score(copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    per_turn = tmp_path / "turns.jsonl"
    options = (*SAMPLE, *LEXICAL, "--per-turn", str(per_turn))
    gold = scores_of(tmp_path, copies / "gold", *options)
    everything = gold["variants"]["v1"]["#ALL_SERVICES"]
    assert everything["bleu"] == pytest.approx(100) and everything["ser"] == 0
    assert everything["ser_extended"] == 8 / 265 and everything["sgsacc_validated"] == 1
    assert gold["sgdx"]["changed"] == 0
    assert {name: round(of["bleu"], 9) for name, of in gold["conventions"]["original"].items()} == {
        "13a": 100,
        "13a-lc": 100,
        "intl": 100,
        "none": 100,
    }
    printed = capsys.readouterr().out
    assert "BLEU orig 100.00 100.00 to 100.00" in " ".join(printed.split())
    for part in ("SGSAcc validated", "changed", "265", "validated 7"):
        assert part in printed
    tables, _, signature = printed.rstrip().rpartition("\n")
    assert signature == gold["signature"]
    assert all(len(line) <= 80 for line in tables.splitlines())
    rows = [json.loads(line) for line in per_turn.read_text().splitlines()]
    assert len(rows) == 2 * 265 and {row["variant"] for row in rows} == {"original", "v1"}
    assert (
        sum(row["faithful"] and row["valid"] for row in rows[:265]) == gold["counts"]["valid_turns"]
    )


def test_a_wording_of_one_s_own(copies: Path, tmp_path: Path) -> None:
    """A generator's and the evaluator's own wording are marked in the signature."""
    words = tmp_path / "words.json"
    words.write_text('{"Museums_1": {"slots": {"city": "town"}}}')
    mine = tmp_path / "copies"
    mine.mkdir()
    for name in ("original", "mine"):
        text = (copies / "derived" / "original.jsonl").read_text().partition("\n")[2]
        (mine / f"{name}.jsonl").write_text(text.replace('"original"', f'"{name}"'))
    result = scores_of(tmp_path, mine, *SAMPLE, "--variant", f"mine={words}", "--evaluator", "mine")
    assert re.search(
        r"\|generator:original\+mine@([0-9a-f]{8})\|evaluator:mine@\1\|", result["signature"]
    )
    assert result["sgdx"]["differences"]["mine"]["bleu"]["difference"] == 0


def test_without_a_model_nothing_needs_torch(copies: Path, tmp_path: Path) -> None:
    """An import of torch, transformers or accelerate would fail where only sgdx is installed."""
    script = """
import sys
for name in ("torch", "transformers", "accelerate"):
    sys.modules[name] = None
from sgsacc_metric.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
    words = ["score", *SAMPLE, "--predictions", copies / "empty", "--output", tmp_path / "x.json"]
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "x.json").read_text())["sgdx"]["bleu_orig"] == 0
