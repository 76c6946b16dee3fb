"""What generated turns have beside the contract of all tasks, and how entailment is tested."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shutil import copytree

import pytest

from sgdx_dataset import frame_tables, open_release
from sgdx_dataset.release import SAMPLE
from sgdx_eval.entailment import table2
from sgdx_eval.gold_files import GoldHeader, read_gold, write_gold
from sgdx_eval.references import open_references
from sgdx_eval.requested import RequestedData
from sgdx_eval.tasks.turns import Turns
from sgdx_metric.errors import ScoreError
from sgsacc_metric.gold import GoldAction, GoldTurn

from ..conftest import Run
from ..sgsacc_metric.turns import turn
from .conftest import SAMPLE_TEST, refused, scored

LEXICAL = ("--nli", "lexical")
COLUMNS = Turns.references.names


def test_score(copies: Path, command: Run) -> None:
    words = ("score", *SAMPLE_TEST, *LEXICAL, "--predictions", copies / "gold")
    done = command("sgsacc_metric", *words, "--output", "s.json", "--per-turn", "turns.jsonl")
    assert done.returncode == 0, done.stderr
    gold = json.loads(Path("s.json").read_text())
    every = gold["variants"]["v1"]["#ALL_SERVICES"]
    assert every["bleu"] == pytest.approx(100) and every["ser"] == gold["sgdx"]["changed"] == 0
    assert every["sgsacc_validated"] == 1
    assert "BLEU orig 100.00 100.00 to 100.00" in " ".join(done.stdout.split())
    done = command("sgsacc_metric", *words, "--explain")
    tables, _, signature = done.stdout.rstrip().rpartition("\n")
    assert signature == gold["signature"] and "SGSAcc validated" in tables
    counts, shares = gold["counts"], gold["variants"]["original"]["#ALL_SERVICES"]
    judged = f"judged turns, {counts['judged_turns']} of 265 ({counts['actions']['judged']} of "
    assert f"coverage {100 * shares['coverage']:.1f} %: {judged}" in tables
    assert f"valid turns, {counts['valid_turns']} of 265 (the paper: 97.0)." in tables
    assert all(len(line) <= 80 for line in tables.splitlines())
    rows = [json.loads(line) for line in Path("turns.jsonl").read_text().splitlines()]
    valid = sum(row["faithful"] and row["valid"] for row in rows[:265])
    assert len(rows) == 2 * 265 and valid == gold["counts"]["valid_turns"]


def test_single_turns(copies: Path, tmp_path: Path, command: Run) -> None:
    """As a paper scores a sample of turns: the signature says which, and others do not compare."""
    chosen = Path("turns.txt")
    some = ("--turns", chosen)
    chosen.write_text('["1_00000/1", "1_00000/3", "1_00002/1"]')
    first = scored(command, copies / "derived", "first.json", *some)
    assert re.search(r"\|dialogues:2@[0-9a-f]{8}\|turns:3@[0-9a-f]{8}\|", first["signature"])
    assert first["counts"]["turns"]["all"] == 3
    chosen.write_text("1_00000/1\n1_00000/3\n1_00002/3\n")
    scored(command, copies / "gold", "second.json", *some)
    assert "turns is '3@" in refused(tmp_path, command, "compare", "second.json", "first.json")
    words = ("validate", *SAMPLE_TEST, *LEXICAL, *some, "--evaluators", "original")
    assert command("sgsacc_metric", *words, "--json", "table2.json").returncode == 0
    table = json.loads(Path("table2.json").read_text())
    assert table["by_evaluator"]["original"]["turns"] == 3
    score = ("score", *SAMPLE_TEST, "--predictions", copies / "gold", "--output", "x.json", *some)
    for text, fact in (("1_00000", "1_00000"), ("", ""), ("[1]", ""), ("1_00000/2", "1_00000/2")):
        chosen.write_text(text)
        line = refused(tmp_path, command, *score)
        assert f"{chosen}: " in line and fact in line
    chosen.write_text("1_00000/1")
    Path("ids.txt").write_text("1_00002")
    line = refused(tmp_path, command, *score, "--dialogues", "ids.txt")
    assert f"{chosen}: " in line and "ids.txt" in line


def test_explain(copies: Path, command: Run) -> None:
    words = ("explain", "1_00000/9", *SAMPLE_TEST, "--predictions", copies / "derived")
    printed = command("sgsacc_metric", *words, *LEXICAL).stdout
    assert "has to entail: " in printed and "REQ_MORE" in printed and "gold: " in printed
    assert re.search(r"v1: entailed; alone \d\.\d{3}/\d\.\d{3}/\d\.\d{3}; said", printed)
    assert "has to entail" not in command("sgsacc_metric", *words).stdout


# ---- turns and the gold side in files


def test_the_same_from_a_gold_side(copies: Path, tmp_path: Path, command: Run) -> None:
    options = ("--output", "gold.jsonl")
    done = command("sgsacc_metric", "references", *SAMPLE_TEST, *LEXICAL, *options)
    assert re.search(r"207 of 265 turns are valid; \d+ pairs", done.stdout)
    first = scored(command, copies / "derived", "first.json", *LEXICAL)
    gold = (*LEXICAL, "--gold", "gold.jsonl")
    second = scored(command, copies / "derived", "second.json", *gold)
    assert first["counts"].pop("pairs")["asked"] > second["counts"].pop("pairs")["asked"]
    assert first == second
    words = ("score", *SAMPLE_TEST, "--predictions", copies / "derived", *gold, "--seed", "1")
    line = refused(tmp_path, command, *words)
    assert "gold.jsonl:1: " in line and "seed" in line


def test_gold_files_that_do_not_fit(tmp_path: Path) -> None:
    header = GoldHeader("script", "original", "test", True, True, "appendix-b", 0)
    gold = [GoldTurn("1_00000/1", [GoldAction("City is Rome.", True, ["City is Pisa."], False)])]
    path = tmp_path / "gold.jsonl"
    write_gold(header, gold, path)
    assert read_gold(path, header, [turn()]) == gold
    first, second = map(json.loads, path.read_text().splitlines())
    assert first["metadata"]["rules"] == "appendix-b"
    assert second["actions"][0] == {
        "reference": "City is Rome.", "found": True, "tampered": ["City is Pisa."], "fooled": False,
    }  # fmt: skip
    other = GoldHeader("script", "v1", "test", True, True, "appendix-b", 0)
    for expected, wanted, fact in (
        (other, turn(), "evaluator"),
        (header, turn(turn_id="9/9"), "9/9"),
    ):
        with pytest.raises(ScoreError, match=rf"gold.jsonl.*{fact}"):
            read_gold(path, expected, [wanted])


def test_a_variant_has_one_fingerprint_wherever_it_is_read(tmp_path: Path) -> None:
    """Of a copy that has dialogues of some services alone, as headers of predictions have it."""
    source, own = tmp_path / "source", {"mine": str(tmp_path / "mine.json")}
    copytree(SAMPLE, source)
    (tmp_path / "mine.json").write_text('{"Cabs_1": {"description": "Rides"}}')
    first, *others = sorted((source / "test").glob("dialogues_*.json"))
    first.write_text(json.dumps(json.loads(first.read_text())[:1]))
    for file in others:
        file.unlink()
    rows = frame_tables(open_release(str(source), own), "test", "mine")
    of_frames = open_references(str(source), "test", own).marks(["original", "mine"])
    assert len(set(rows["service"].to_pylist())) == 1 and list(of_frames) == ["mine"]
    of_turns = open_references(str(source), "test", own, COLUMNS, "turns")
    assert of_turns.marks(["mine"]) == of_frames
    assert RequestedData(str(source), "test", own).facts("mine")["words"] == of_frames["mine"]


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
