"""The demonstration of generation."""

from __future__ import annotations

import json
from pathlib import Path

from baselines.copies.demo import demo


def test_the_demo_scores_floor_and_controls(tmp_path: Path) -> None:
    demo(tmp_path)
    of = {
        name: json.loads((tmp_path / f"{name}.json").read_text())
        for name in ("gold", "derived", "empty")
    }
    assert {name: scores["counts"]["turns"]["all"] for name, scores in of.items()} == {
        "gold": 265, "derived": 265, "empty": 265,
    }  # fmt: skip
    gold, derived, empty = (scores["sgdx"] for scores in of.values())
    assert [gold[name] for name in ("bleu_orig", "bleu_v1-5", "ser_orig")] == [100, 100, 0]
    assert [empty["bleu_orig"], empty["bleu_v1-5"]] == [0, 0]
    assert derived["bleu_orig"] != derived["bleu_v1-5"]  # the text moves with the wording
    whole = {name: scores["variants"]["original"]["#ALL_SERVICES"] for name, scores in of.items()}
    assert whole["gold"]["ser"] == 0 and whole["gold"]["sgsacc_validated"] == 1
    assert whole["empty"]["ser_checkable"] == 1
    assert whole["empty"]["sgsacc_alone"] < whole["empty"]["sgsacc"]
    assert (tmp_path / "derived" / "v5.jsonl").exists()
