"""The reranker: who is chosen, by what, and what its table says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from baselines.copies import copy_system, generate
from baselines.t2g2 import rerank
from baselines.t2g2.rerank import UNKNOWN, best_of, choose_system, fidelities
from sgdx_eval.requested import RequestedData
from sgdx_eval.score import score
from sgdx_eval.task import Inputs
from sgdx_eval.tasks.turns import Turns
from sgsacc_metric.gold import GoldAction, GoldTurn
from sgsacc_metric.nli import Judge

from ...sgsacc_metric.test_models import checkpoint as checkpoint
from ...sgsacc_metric.turns import NO, YES, Script, act, turn
from ..conftest import command

BEFORE = "Find me a hotel."


def test_an_action_counts_if_any_of_its_sentences_is_entailed() -> None:
    """The second sentence of the city, the wifi in context only, the notification never."""
    of = turn(
        act("CONFIRM", "city", "Rome"), act("NOTIFY_SUCCESS"), act("REQUEST", "star_rating"),
        utterance="What was said in the corpus is not looked at.",
    )  # fmt: skip
    said = "Rome it is."
    stars = f"{BEFORE} How many stars the hotel has. {said}"
    script = Script(
        {
            (said, "City of the hotel is Rome."): NO,
            (said, "City is Rome."): YES,
            (said, "Request How many stars the hotel has."): NO,
            (said, "Request star rating."): NO,
            (stars, "Request How many stars the hotel has."): NO,
            (stars, "Request star rating."): YES,
        }
    )
    assert fidelities([of], [said], Judge(script), "appendix-b") == [2]
    assert [len(wave) for wave in script.calls] == [4, 2]  # in context only what failed alone


@pytest.mark.parametrize(
    ("fidelity", "likelihoods", "chosen", "ties"),
    [
        ([[2], [1]], [[-9.0], [-0.1]], 0, 0),  # fidelity goes before likelihood
        ([[1], [2]], [[-0.1], [-9.0]], 1, 0),
        ([[1], [1]], [[-0.5], [-0.4]], 1, 0),  # a tie goes to the likelier
        ([[1], [1]], [[-0.5], [-0.5]], 0, 1),  # and then to the first
        ([[0], [1], [1]], [[0.0], [-3.0], [-2.0]], 2, 0),
        ([[1], [1]], [[UNKNOWN], [-50.0]], 1, 0),  # a file without likelihoods
    ],
)
def test_who_is_chosen(
    fidelity: list[list[int]], likelihoods: list[list[float]], chosen: int, ties: int
) -> None:
    assert choose_system(fidelity, likelihoods) == ([chosen], ties)


def test_the_oracle_takes_what_will_be_scored_as_faithful() -> None:
    """It knows the gold reference; where nothing is faithful it takes what was chosen."""
    of = turn(act("CONFIRM", "city", "Rome"), prompt="")
    gold = GoldTurn(of.turn_id, [GoldAction("City is Rome.")])
    answers = {("A", "City is Rome."): NO, ("B", "City is Rome."): YES}
    context = {(f"City of the hotel. {said}", "City is Rome."): NO for said in ("A", "B", "C")}
    judge = Judge(Script({**answers, ("C", "City is Rome."): NO, **context}))
    turns, golds = [of, of], [gold, gold]
    said = [["A", "A"], ["B", "C"]]
    assert best_of(turns, golds, said, [0, 1], judge) == [1, 1]
    assert best_of(turns, golds, said, [0, 0], judge) == [1, 0]


def test_the_command(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Of copies that say nothing or all, in some turns, under a variant of one's own."""
    words, turns, out = (tmp_path / name for name in ("words.json", "turns.txt", "out"))
    words.write_text('{"Museums_1": {"slots": {"city": "town"}}}')
    turns.write_text("".join(f"{d}/{n}\n" for d in ("1_00000", "2_00000") for n in (1, 3, 5)))
    data = RequestedData("sample", "test", {"mine": str(words)})
    given: list[object] = ["--source", "sample", "--variant", f"mine={words}", "--turns", turns]
    given += ["--nli", "lexical", "--second-nli", checkpoint, "--rules", "extended"]
    for name in ("empty", "derived"):
        generate(copy_system(name), data, ("original", "mine"), tmp_path / name)
        given += ["--predictions", f"{name}={tmp_path / name}"]
    assert command(monkeypatch, rerank, *given, "--output", out) == 0
    header, *rows = map(json.loads, (out / "mine.jsonl").read_text().splitlines())
    before, *said = map(json.loads, (tmp_path / "derived/mine.jsonl").read_text().splitlines())
    expected = {row["turn_id"]: row["utterance"] for row in said}
    for row in rows:
        is_derived = row["system"] == "derived"
        assert row["utterance"] == (expected[row["turn_id"]] if is_derived else "")
        assert row["score"] is None and row["fidelity"] >= is_derived
    made, before = header["metadata"], before["metadata"]
    assert made["words"] == before["words"] and made["data"] == before["data"]
    assert made["system"]["model"] == "reranked of empty, derived"
    assert (made["system"]["rules"], made["oracle"], len(rows)) == ("extended", False, 6)
    record = json.loads((out / "rerank.json").read_text())
    share = sum(row["system"] == "derived" for row in rows) / len(rows)
    assert 0 < record["chosen"]["derived"]["mine"] == share < 1
    assert sum(record["decided_by_order"].values()) > 0  # neither copy has a score
    figures, second = record["figures"].values()
    first = {name: of["sgsacc_orig"] for name, of in figures.items()}
    assert list(first) == ["empty", "derived", "reranked", "oracle"]
    assert first["empty"] < first["derived"] <= first["reranked"] <= first["oracle"]
    by_second = {name: of["sgsacc_orig"] for name, of in second.items()}
    assert by_second["oracle"] >= max(by_second["empty"], by_second["derived"])
    assert by_second != first
    signature = figures["reranked"]["signature"]
    for part in ("rules:extended", f"turns:{record['turns']}", "evaluator:original"):
        assert f"|{part}|" in signature
    assert f"|generator:original+mine@{made['words']}|" in signature
    assert f"|nli:{checkpoint}@" in second["derived"]["signature"]
    printed = capsys.readouterr().out
    assert "no score is known of empty, derived" in printed
    assert printed.count("SGSAcc_orig") == 2
    # What was chosen is scored as any system is.
    inputs = Inputs(out, source="sample", own_variants={"mine": str(words)})
    assert score(Turns(turns=turns), inputs).counts["turns"] == 6


def test_the_likelier_of_the_files_of_two_generators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same responses, of which the second file has a score for one."""
    (tmp_path / "turns.txt").write_text("1_00000/1\n1_00000/3\n")
    data = RequestedData("sample", "test")
    given: list[object] = ["--source", "sample", "--nli", "lexical"]
    for name in ("a", "b"):
        (path,) = generate(copy_system("derived"), data, ("original",), tmp_path / name)
        given += ["--predictions", f"{name}={tmp_path / name}"]
    header, *rows = map(json.loads, path.read_text().splitlines())
    rows = [row | ({"score": -9.5} if row["turn_id"] == "1_00000/3" else {}) for row in rows]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in (header, *rows)))
    given += ["--turns", tmp_path / "turns.txt", "--output", tmp_path / "out"]
    assert command(monkeypatch, rerank, *given) == 0
    _, *chosen = map(json.loads, (tmp_path / "out/original.jsonl").read_text().splitlines())
    assert [(row["system"], row["score"]) for row in chosen] == [("a", None), ("b", -9.5)]
