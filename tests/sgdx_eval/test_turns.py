"""What generated turns have beside the contract of all tasks, and how entailment is tested."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from sgdx_eval.entailment import table2
from sgdx_eval.result import read_result
from sgdx_metric.result import Result
from sgsacc_metric.gold import GoldAction, GoldTurn

from ..conftest import Run
from .conftest import SAMPLE_TEST, Subject, put, refused, scored

LEXICAL = ("--nli", "lexical")


def test_score(copies: Path, command: Run) -> None:
    words = ("score", *SAMPLE_TEST, *LEXICAL, "--predictions", copies / "gold")
    done = command("sgsacc_metric", *words, "--output", "s.json")
    assert done.returncode == 0, done.stderr
    gold = read_result(Path("s.json")).result
    assert gold["bleu_v1"] == pytest.approx(100) and gold["ser_v1"] == gold["changed_v1"] == 0
    assert gold["sgsacc_validated_v1"] == 1
    assert "BLEU_orig 100.00 " in " ".join(done.stdout.split())
    done = command("sgsacc_metric", *words, "--explain")
    tables, _, signature = done.stdout.rstrip().rpartition("\n")
    assert signature == gold.signature and "SGSAcc_validated" in tables
    counts = gold.counts
    judged = f"judged turns, {counts['judged_turns']} of 265 ({counts['actions']['judged']} of "
    assert f"coverage {100 * (gold['coverage_orig'] or 0):.1f} %: {judged}" in tables
    assert f"valid turns, {counts['valid_turns']} of 265 (the paper: 97.0)." in tables
    assert all(len(line) <= 80 for line in tables.splitlines())
    rows = pq.read_table("s.items.parquet").to_pylist()
    valid = sum(row["sgsacc"] * row["validated"] for row in rows[:265])
    assert len(rows) == 2 * 265 and valid == counts["valid_turns"]


def test_single_turns(copies: Path, tmp_path: Path, command: Run) -> None:
    """As a paper scores a sample of turns: the signature says which, and others do not compare."""
    chosen = Path("turns.txt")
    some = ("--turns", chosen)
    chosen.write_text('["1_00000/1", "1_00000/3", "1_00002/1"]')
    first = scored(command, copies / "derived", "first.json", *some)
    assert re.search(r"\|dialogues:2@[0-9a-f]{8}\|turns:3@[0-9a-f]{8}\|", first["signature"])
    assert first["counts"]["turns"] == 3
    chosen.write_text("1_00000/1\n1_00000/3\n1_00002/3\n")
    scored(command, copies / "gold", "second.json", *some)
    assert "turns is '3@" in refused(tmp_path, command, "compare", "second.json", "first.json")
    words = ("validate", *SAMPLE_TEST, *LEXICAL, *some, "--evaluators", "original")
    assert command("sgsacc_metric", *words, "--json", "table2.json").returncode == 0
    table = json.loads(Path("table2.json").read_text())
    assert table["by_evaluator"]["original"]["turns"] == 3


def test_explain(copies: Path, subjects: dict[str, Subject], tmp_path: Path, command: Run) -> None:
    words = ("explain", *SAMPLE_TEST, "--predictions", copies / "derived")
    printed = command("sgsacc_metric", *words, "1_00000/9", *LEXICAL).stdout
    assert "has to entail: " in printed and "REQ_MORE" in printed and "gold: " in printed
    assert re.search(r"v1: entailed; alone \d\.\d{3}/\d\.\d{3}/\d\.\d{3}; said", printed)
    assert "has to entail" not in command("sgsacc_metric", *words, "1_00000/9").stdout
    bad = put(tmp_path / "p", subjects["turns"].bad)
    of_bad = ("explain", *SAMPLE_TEST, *LEXICAL, "--predictions", bad)
    printed = command("sgdx_metric", *of_bad, "--flips").stdout
    assert "\n43 of 265 turns (16.23 %) flip; " in printed
    printed = command("sgdx_metric", *of_bad, "--changed", "original", "v1").stdout
    silent = [row["turn_id"] for row in subjects["turns"].bad["v1"] if not row["utterance"]]
    rows = [line.split() for line in printed.splitlines() if line.count("/") == 1]
    assert len(rows) == 43  # of 88; what has no judged action stays as it was
    assert all(name in silent and scores == ["100.00", "0.00"] for name, *scores in rows)
    assert "mine" in refused(tmp_path, command, *of_bad, "--changed", "original", "mine")


def test_services(copies: Path, tmp_path: Path, command: Run) -> None:
    every = scored(command, copies / "derived", "all.json")
    cabs = scored(command, copies / "derived", "cabs.json", "--service", "Cabs_1")
    assert (cabs["counts"]["turns"], every["counts"]["turns"]) == (48, 265)
    assert "|services:Cabs_1|turns:48@" in cabs["signature"]
    one, whole = (msgspec.convert(scores, Result) for scores in (cabs, every))
    for name in ("bleu_orig", "ser_orig"):
        figure, same = one.figure(name), whole.figure(name, "Cabs_1")
        assert figure and same and figure.value == pytest.approx(same.value)


# ---- turns and the gold side in files


def test_the_same_from_a_gold_side(copies: Path, tmp_path: Path, command: Run) -> None:
    options = ("--output", "gold.jsonl")
    done = command("sgsacc_metric", "references", *SAMPLE_TEST, *LEXICAL, *options)
    assert re.search(r"207 of 265 turns are valid; \d+ pairs", done.stdout)
    first = scored(command, copies / "derived", "first.json", *LEXICAL)
    gold = (*LEXICAL, "--gold", "gold.jsonl")
    second = scored(command, copies / "derived", "second.json", *gold)
    assert first["counts"].pop("pairs")["asked"] > second["counts"].pop("pairs")["asked"]
    assert first["notes"].pop() != second["notes"].pop()  # of the pairs, too
    assert first == second
    words = ("responses", "score", *SAMPLE_TEST, "--predictions", copies / "derived", *gold)
    line = refused(tmp_path, command, *words, "--seed", "1")
    assert "gold.jsonl:1: " in line and "seed" in line
    header, *turns = Path("gold.jsonl").read_text().splitlines()
    assert json.loads(header)["metadata"]["evaluator"] == "original"
    Path("gold.jsonl").write_text("\n".join([header, *turns[1:]]))
    line = refused(tmp_path, command, *words)
    assert "gold.jsonl" in line and "1_00000/1" in line


# ---- models of entailment, and people


def test_validate(tmp_path: Path, command: Run) -> None:
    words = ("validate", *SAMPLE_TEST, *LEXICAL, "--evaluators", "original", "v5")
    printed = command("sgsacc_metric", *words, "--json", "table2.json").stdout
    assert "96.30" in printed and "95.40" in printed and "|nli:lexical (no model)|" in printed
    found = json.loads(Path("table2.json").read_text())
    assert "|generator:gold|evaluator:original+v5|" in found["signature"]
    assert list(found["by_evaluator"]) == ["original", "v5"]
    one = found["by_evaluator"]["original"]
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
        **dict.fromkeys(["precision", "recall", "f1"], 2 / 3),
        **{"positives": 3, "found": 2, "negatives": 2, "false_positives": 1},
        **{"turns": 3, "valid_turns": 1, "published": (0.970, 0.970, 0.970)},
    }
    assert {table["mine"][key] for key in ("precision", "recall", "f1", "published")} == {None}
