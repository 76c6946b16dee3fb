"""The reranker: who is chosen, by what, and what its table says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from baselines.copies import copy_system, generate
from baselines.t2g2 import rerank
from baselines.t2g2.rerank import best_of, choose_system, fidelities
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
    assert fidelities([of], [said], Judge(script)) == [2]
    assert [len(wave) for wave in script.calls] == [4, 2]  # in context only what failed alone


@pytest.mark.parametrize(
    ("fidelity", "likelihoods", "expected"),
    [
        ([[2], [1]], [[-9.0], [-0.1]], 0),  # fidelity goes before likelihood
        ([[1], [2]], [[-0.1], [-9.0]], 1),
        ([[1], [1]], [[-0.5], [-0.4]], 1),  # a tie goes to the likelier
        ([[1], [1]], [[-0.5], [-0.5]], 0),  # and then to the first
        ([[0], [1], [1]], [[0.0], [-3.0], [-2.0]], 2),
        ([[1], [1]], [[float("-inf")], [-50.0]], 1),  # a file without likelihoods
    ],
)
def test_who_is_chosen(
    fidelity: list[list[int]], likelihoods: list[list[float]], expected: int
) -> None:
    assert choose_system(fidelity, likelihoods) == [expected]


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


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of the sample under two variants: one says nothing, one all."""
    folder = tmp_path_factory.mktemp("copies")
    data = RequestedData("sample", "test")
    for name in ("empty", "derived"):
        generate(copy_system(name), data, ("original", "v1"), folder / name)
    return folder


def arguments(copies: Path, *names: str) -> list[object]:
    given: list[object] = ["--source", "sample", "--nli", "lexical"]
    for name in names:
        given += ["--predictions", f"{name}={copies / name}"]
    return given


def test_the_command_chooses_writes_and_prints(
    checkpoint: Path, copies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    some = tmp_path / "ids.txt"
    some.write_text("1_00000\n1_00001\n2_00000\n")
    out = tmp_path / "out"
    given = arguments(copies, "empty", "derived")
    given += ["--second-nli", checkpoint, "--dialogues", some, "--output", out]
    assert command(monkeypatch, rerank, *given) == 0
    table = json.loads((out / "rerank.json").read_text())
    tied = [row for path in out.glob("*.jsonl") for row in lines(path) if row.get("score") is None]
    assert sum(table["decided_by_order"].values()) > 0 and tied  # neither copy has a score
    figures, second = table["figures"].values()
    assert list(figures) == ["empty", "derived", "reranked", "oracle"]
    by_system = {name: of["sgsacc_orig"] for name, of in figures.items()}
    assert by_system["empty"] < by_system["derived"] <= by_system["reranked"]
    assert by_system["reranked"] <= by_system["oracle"]
    by_second = {name: of["sgsacc_orig"] for name, of in second.items()}
    assert by_second["oracle"] >= max(by_second["empty"], by_second["derived"])
    assert by_second != by_system
    assert f"|nli:{checkpoint}@" in second["derived"]["signature"]
    assert "|evaluator:original|" in figures["oracle"]["signature"]
    header, *rows = map(json.loads, (out / "v1.jsonl").read_text().splitlines())
    assert header["metadata"]["system"]["model"] == "reranked of empty, derived"
    expected = {row["turn_id"]: row["utterance"] for row in lines(copies / "derived/v1.jsonl")}
    assert all(
        row["utterance"] == (expected[row["turn_id"]] if row["system"] == "derived" else "")
        for row in rows
    )
    share = sum(row["system"] == "derived" for row in rows) / len(rows)
    assert 0 < share < 1
    assert table["chosen"]["derived"]["v1"] == share
    assert all(row["fidelity"] > 0 for row in rows if row["system"] == "derived")
    printed = capsys.readouterr().out
    assert "no score is known of empty, derived" in printed
    assert "chosen by lexical (no model), whose own figures are biased" in printed
    assert printed.count("SGSAcc_orig") == 2


def test_chosen_turns_a_variant_of_one_s_own_and_other_rules(
    copies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = tmp_path / "words.json"
    words.write_text('{"Museums_1": {"slots": {"city": "town"}}}')
    data = RequestedData("sample", "test", {"mine": str(words)})
    for name in ("empty", "derived"):
        generate(copy_system(name), data, ("original", "mine"), tmp_path / name)
    turns = tmp_path / "turns.txt"
    turns.write_text("1_00000/1\n1_00000/3\n2_00000/1\n")
    out = tmp_path / "out"
    given = [*arguments(tmp_path, "empty", "derived"), "--variant", f"mine={words}"]
    given += ["--turns", turns, "--rules", "extended", "--output", out]
    assert command(monkeypatch, rerank, *given) == 0
    header = json.loads((out / "mine.jsonl").read_text().splitlines()[0])["metadata"]
    before = json.loads((tmp_path / "derived/mine.jsonl").read_text().splitlines()[0])["metadata"]
    assert len(lines(out / "mine.jsonl")) == 3
    assert header["system"]["rules"] == "extended"
    assert header["words"] == before["words"] and header["data"] == before["data"]
    record = json.loads((out / "rerank.json").read_text())
    figures = record["figures"]["lexical (no model)"]
    signature = figures["reranked"]["signature"]
    assert "|rules:extended|" in signature and f"|turns:{record['turns']}|" in signature
    assert f"|generator:original+mine@{header['words']}|" in signature
    # What was chosen is scored as any system is.
    inputs = Inputs(out, source="sample", own_variants={"mine": str(words)})
    result = score(Turns(turns=turns), inputs)
    assert result.counts["turns"] == 3


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()][1:]
