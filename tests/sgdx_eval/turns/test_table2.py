"""The test of a model of entailment on gold utterances."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgdx_eval.entailment import table2
from sgsacc_metric.__main__ import main
from sgsacc_metric.gold import GoldAction, GoldTurn

from .commands import LEXICAL, SAMPLE


def test_validate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "table2.json"
    words = ["validate", *SAMPLE, *LEXICAL, "--evaluators", "original", "v5"]
    assert main([*words, "--json", str(output)]) == 0
    printed = capsys.readouterr().out
    assert "96.30" in printed and "95.40" in printed and "|nli:lexical (no model)|" in printed
    written = json.loads(output.read_text())
    assert "|generator:gold|evaluator:original+v5|" in written["signature"]
    found = written["by_evaluator"]
    assert list(found) == ["original", "v5"]
    one = found["original"]
    assert one["published"] == [0.958, 0.968, 0.963]
    assert one["recall"] == one["found"] / one["positives"]
    assert one["precision"] == one["found"] / (one["found"] + one["false_positives"])
    assert one["positives"] == 392 and one["valid_turns"] == 207


def test_precision_and_recall_by_hand() -> None:
    """Of three judged actions two are found; of two tampered ones one is a false positive."""
    gold = [
        GoldTurn("a/1", [GoldAction("x", True, ["y"], True), GoldAction("x", True, ["y"], False)]),
        GoldTurn("a/3", [GoldAction("x", False), GoldAction("")]),
        GoldTurn("a/5", [GoldAction("")]),
    ]
    table = table2({"v1": gold, "mine": []})
    assert table["v1"] == {
        "precision": 2 / 3,
        "recall": 2 / 3,
        "f1": 2 / 3,
        "positives": 3,
        "found": 2,
        "negatives": 2,
        "false_positives": 1,
        "turns": 3,
        "valid_turns": 1,
        "published": (0.970, 0.970, 0.970),
    }
    empty = table["mine"]
    assert empty["precision"] is empty["recall"] is empty["f1"] is empty["published"] is None
