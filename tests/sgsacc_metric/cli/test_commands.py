"""The commands on the sample corpus, from files to files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset.__main__ import main as sgdx_dataset
from sgsacc_metric.__main__ import main

from ...conftest import ROOT

SAMPLE = ("--source", "sample")
LEXICAL = ("--nli", "lexical")


def scores_of(tmp_path: Path, predictions: Path, *options: str) -> dict[str, Any]:
    output = tmp_path / f"{predictions.name}.json"
    words = ["score", "--predictions", str(predictions), *options, "--output", str(output)]
    assert main(words) == 0
    found: dict[str, Any] = json.loads(output.read_text())
    return found


def error_of(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main([*map(str, words)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("sgsacc-metric: error: ") and err.count("\n") == 1
    return err.removeprefix("sgsacc-metric: error: ").rstrip()


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
    for part in ("BLEU orig: 95 %", "SGSAcc validated", "changed", "265", "Judged"):
        assert part in printed
    tables, _, signature = printed.rstrip().rpartition("\n")
    assert signature == gold["signature"]
    assert all(len(line) <= 80 for line in tables.splitlines()[:-1])  # all but the count of pairs
    rows = [json.loads(line) for line in per_turn.read_text().splitlines()]
    assert len(rows) == 2 * 265 and {row["variant"] for row in rows} == {"original", "v1"}
    assert (
        sum(row["faithful"] and row["valid"] for row in rows[:265]) == gold["counts"]["valid_turns"]
    )


def test_the_same_from_parquet_files_and_a_gold_side(
    copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["turns", *SAMPLE, "--split", "test", "--config", "original"]
    assert sgdx_dataset([*words, "--output", str(tmp_path / "turns")]) == 0
    side = tmp_path / "gold.jsonl"
    assert main(["references", *SAMPLE, *LEXICAL, "--output", str(side)]) == 0
    assert re.search(r"205 of 265 turns are valid; \d+ pairs", capsys.readouterr().out)
    first = scores_of(tmp_path, copies / "derived", *SAMPLE, *LEXICAL)
    folder = ("--references", str(tmp_path / "turns"))
    second = scores_of(tmp_path, copies / "derived", *folder, *LEXICAL, "--gold", str(side))
    assert first["counts"].pop("pairs")["asked"] > second["counts"].pop("pairs")["asked"]
    assert first == second
    words = ["score", *SAMPLE, "--predictions", str(copies / "derived"), "--gold", str(side)]
    words += ["--output", str(tmp_path / "x.json")]
    message = error_of(capsys, *words, *LEXICAL, "--seed", "1")
    assert message == f"{side}:1: seed is 0, expected 1"


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
    assert main(["compare", *map(str, files), "--json", str(tmp_path / "c.json")]) == 0
    printed = capsys.readouterr().out
    assert "BLEU orig" in printed and "unseen domains" in printed
    tables = printed.partition("\nfirst: ")[0].splitlines()
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
    message = error_of(capsys, "compare", files[0], whole / "derived.json")
    assert "dialogues is 'all' in the signature, and '3@" in message


def test_single_turns(copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a paper scores a sample of turns: the signature says which, and others do not compare."""
    chosen = tmp_path / "turns.json"
    chosen.write_text('["1_00000/1", "1_00000/3", "1_00002/1"]')
    some = ("--turns", str(chosen))
    first = scores_of(tmp_path, copies / "derived", *SAMPLE, *some)
    assert re.search(r"\|dialogues:2@[0-9a-f]{8}\|turns:3@[0-9a-f]{8}\|", first["signature"])
    assert first["counts"]["turns"]["all"] == 3
    chosen.write_text("1_00000/1\n1_00000/3\n1_00002/3\n")
    second = scores_of(tmp_path, copies / "gold", *SAMPLE, *some)
    assert second["signature"] != first["signature"]
    message = error_of(capsys, "compare", tmp_path / "gold.json", tmp_path / "derived.json")
    assert "turns is '3@" in message
    validated = tmp_path / "table2.json"
    words = ["validate", *SAMPLE, *LEXICAL, *some, "--evaluators", "original"]
    assert main([*words, "--json", str(validated)]) == 0
    capsys.readouterr()
    assert json.loads(validated.read_text())["by_evaluator"]["original"]["turns"] == 3
    words = [
        "score",
        *SAMPLE,
        f"--predictions={copies / 'gold'}",
        f"--output={tmp_path / 'x.json'}",
    ]
    for text, expected in (
        ("1_00000", "found '1_00000', expected DIALOGUE/TURN, as in 1_00000/5"),
        ("", "found no turn id, expected DIALOGUE/TURN"),
        ("[1]", "cannot be read as a list of turn ids: Expected `str`, got `int`"),
        ("1_00000/2", "1 of 1 turns are not in the references, the first is 1_00000/2"),
    ):
        chosen.write_text(text)
        assert f"{chosen}: {expected}" in error_of(capsys, *words, *some)
    chosen.write_text("1_00000/1")
    other = tmp_path / "ids.txt"
    other.write_text("1_00002")
    message = error_of(capsys, *words, *some, "--dialogues", other)
    assert message == f"{chosen}: none of these turns is of the dialogues of {other}"


def test_explain(copies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", "1_00000/9", *SAMPLE, "--predictions", str(copies / "derived")]
    assert main([*words, *LEXICAL]) == 0
    printed = capsys.readouterr().out
    assert "has to entail: " in printed and "REQ_MORE" in printed and "gold: " in printed
    assert re.search(r"v1: entailed; alone \d\.\d{3}/\d\.\d{3}/\d\.\d{3}; said", printed)
    assert main(words) == 0
    assert "has to entail" not in capsys.readouterr().out
    message = error_of(capsys, *words[:1], "1_00000/8", *words[2:])
    assert message.startswith("TURN_ID 1_00000/8: found no such turn among 265, expected one such")


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
    assert one["positives"] == 392 and one["valid_turns"] == 205


def test_bad_predictions(copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (copies / "derived" / "v1.jsonl").read_text().splitlines()
    header = '{"metadata": {"split": "dev"}}'
    cases = {
        "missing": (lines[:-1], "predictions for v1: 1 of 265 turns are missing, the first is "),
        "twice": (
            [*lines, lines[-1]],
            "predictions for v1: turn 2_00009/9 is there twice, expected once",
        ),
        "split": ([header, *lines[1:]], "v1.jsonl:1: metadata: split is 'validation', not 'test'"),
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
        (["score", *predictions, *SAMPLE, "--output", tmp_path], "found a folder, expected a file"),
        (["references", *SAMPLE, "--nli", tmp_path, *output], "cannot be loaded as a model"),
        (["compare", tmp_path / "a", tmp_path / "b"], "No such file or directory"),
    ]
    for words, message in cases:
        assert message in error_of(capsys, *words), words
    assert not list(tmp_path.glob("*.json"))


def test_a_wording_of_one_s_own(copies: Path, tmp_path: Path) -> None:
    """A generator's and the evaluator's own wording are marked in the signature."""
    words = tmp_path / "words.json"
    words.write_text('{"Museums_1": {"slots": {"city": "town"}}}')
    mine = tmp_path / "copies"
    mine.mkdir()
    for name in ("original", "mine"):
        text = (copies / "derived" / "original.jsonl").read_text()
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
