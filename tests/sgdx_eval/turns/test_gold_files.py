"""The gold side in a file, and references from Parquet files: the same scores."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sgdx_dataset.__main__ import main as sgdx_dataset
from sgdx_eval.gold_files import GoldHeader, read_gold, write_gold
from sgdx_metric.rows import ScoreError
from sgsacc_metric.__main__ import main
from sgsacc_metric.gold import GoldAction, GoldTurn

from ...sgsacc_metric.turns import act, turn
from .commands import LEXICAL, SAMPLE, error_of, scores_of


def test_the_same_from_parquet_files_and_a_gold_side(
    copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["turns", *SAMPLE, "--split", "test", "--config", "original", "v1"]
    assert sgdx_dataset([*words, "--output", str(tmp_path / "turns")]) == 0
    side = tmp_path / "gold.jsonl"
    assert main(["references", *SAMPLE, *LEXICAL, "--output", str(side)]) == 0
    assert re.search(r"207 of 265 turns are valid; \d+ pairs", capsys.readouterr().out)
    first = scores_of(tmp_path, copies / "derived", *SAMPLE, *LEXICAL)
    folder = ("--references", str(tmp_path / "turns"))
    second = scores_of(tmp_path, copies / "derived", *folder, *LEXICAL, "--gold", str(side))
    assert first["counts"].pop("pairs")["asked"] > second["counts"].pop("pairs")["asked"]
    assert first == second
    words = ["score", *SAMPLE, "--predictions", str(copies / "derived"), "--gold", str(side)]
    words += ["--output", str(tmp_path / "x.json")]
    message = error_of(capsys, *words, *LEXICAL, "--seed", "1")
    assert message == f"{side}:1: seed is 0, expected 1"


def test_gold_files_that_do_not_fit(tmp_path: Path) -> None:
    header = GoldHeader("script", "original", "test", True, True, "appendix-b", 0)
    gold = [GoldTurn("1_00000/1", [GoldAction("City is Rome.", True, ["City is Pisa."], False)])]
    path = tmp_path / "gold.jsonl"
    write_gold(header, gold, path)
    assert read_gold(path, header, [turn()]) == gold
    first, second = path.read_text().splitlines()
    assert json.loads(first)["metadata"]["rules"] == "appendix-b"
    assert json.loads(second)["actions"][0] == {
        "reference": "City is Rome.",
        "found": True,
        "tampered": ["City is Pisa."],
        "fooled": False,
    }
    other = GoldHeader("script", "v1", "test", True, True, "appendix-b", 0)
    cases = (
        (other, turn(), ":1: evaluator is 'original', expected 'v1'"),
        (header, turn(turn_id="9/9"), ": turn 9/9: found no such turn, expected 1 actions"),
        (header, turn(act("GOODBYE"), act("REQ_MORE")), "found 1 actions, expected 2 actions"),
    )
    for expected, wanted, message in cases:
        with pytest.raises(ScoreError) as error:
            read_gold(path, expected, [wanted])
        assert str(error.value).startswith(str(path)) and message in str(error.value)
