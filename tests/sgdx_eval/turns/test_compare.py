"""The comparison of two systems, on a subset of the dialogues."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgsacc_metric.__main__ import main

from .commands import SAMPLE, error_of, scores_of


def test_a_subset_and_a_comparison(
    copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = tmp_path / "ids.txt"
    chosen.write_text("1_00000\n1_00002\n1_00005\n")
    some = ("--dialogues", str(chosen))
    first = scores_of(tmp_path, copies / "gold", *SAMPLE, *some)
    scores_of(tmp_path, copies / "derived", *SAMPLE, *some)
    assert "|dialogues:3@" in first["signature"] and "|nli:none|" in first["signature"]
    capsys.readouterr()
    files = [tmp_path / "gold.json", tmp_path / "derived.json"]
    assert main(["compare", *map(str, files), "--json", str(tmp_path / "c.json"), "--details"]) == 0
    printed = capsys.readouterr().out
    assert "BLEU orig" in printed and "unseen domains" in printed
    tables = printed.partition("\n\n")[2].partition("\nsgsacc_metric|")[0].splitlines()
    assert len(tables) > 20 and all(len(line) <= 80 for line in tables)
    found = json.loads((tmp_path / "c.json").read_text())["groups"]["all"]
    assert found["bleu_orig"]["first"] == pytest.approx(100)
    other = scores_of(tmp_path, copies / "derived", *SAMPLE, *some)
    assert found["bleu_orig"]["second"] == pytest.approx(other["sgdx"]["bleu_orig"])
    assert found["bleu_orig"]["difference"] < -50 and found["bleu_orig"]["p"] <= 1
    assert found["ser_orig"] == {
        "first": 0, "second": 0, "difference": 0, "interval": [0, 0], "p": 1
    }  # fmt: skip
    whole = tmp_path / "whole"
    whole.mkdir()
    scores_of(whole, copies / "derived", *SAMPLE)
    capsys.readouterr()
    words = ["compare", str(files[0]), str(whole / "derived.json")]
    assert main([*words, "--json", str(tmp_path / "part.json")]) == 0
    # On the dialogues that both have, the figures are those of these dialogues.
    part = json.loads((tmp_path / "part.json").read_text())["groups"]["all"]
    assert part["bleu_orig"] == found["bleu_orig"]


def test_other_counts_are_refused(
    copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("gold", "derived"):
        scores_of(tmp_path, copies / name, *SAMPLE)
    whole, part = tmp_path / "gold.json", tmp_path / "derived.json"
    scores = json.loads(part.read_text())
    del scores["paired"]["turns"]
    part.write_text(json.dumps(scores))
    assert str(part) in error_of(capsys, "compare", whole, part)
