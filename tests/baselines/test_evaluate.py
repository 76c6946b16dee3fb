"""Predictions and their scores in one folder: resumed, of chosen dialogues, under own words."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from transformers import BertConfig, BertModel

from baselines import evaluate, predict
from sgdx_dataset.release import SAMPLE

from ..conftest import Run
from .conftest import LAUNCH, Refuse, command, error_line

LEXICAL = ("--tracker", "lexical", "--source", "sample")


def test_an_evaluation_goes_on_where_it_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Predictions that are there are kept, to the byte and to the moment; the rest is made."""
    arguments = (*LEXICAL, "--output", tmp_path)
    assert command(monkeypatch, evaluate, *arguments) == 0
    assert "JGA_v1-5" in capsys.readouterr().out
    scores = (tmp_path / "scores.json").read_bytes()
    kept = (tmp_path / "predictions" / "v3.jsonl").stat()
    lost = (tmp_path / "predictions" / "v4.jsonl").read_bytes()
    (tmp_path / "predictions" / "v4.jsonl").unlink()
    (tmp_path / "scores.json").unlink()
    assert command(monkeypatch, evaluate, *arguments) == 0
    assert (tmp_path / "predictions" / "v3.jsonl").stat().st_mtime_ns == kept.st_mtime_ns
    assert (tmp_path / "predictions" / "v4.jsonl").read_bytes() == lost
    assert (tmp_path / "scores.json").read_bytes() == scores
    facts = json.loads((tmp_path / "run.json").read_text())["evaluation"]
    assert facts["release"] == "sample"
    assert facts["configs"] == ["original", "v1", "v2", "v3", "v4", "v5"]


def header_of(path: Path) -> dict[str, Any]:
    with path.open() as file:
        metadata: dict[str, Any] = json.loads(file.readline())["metadata"]
    return metadata


def test_chosen_dialogues_under_words_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Headers and signature say which dialogues, and mark the variant by its fingerprint."""
    words, chosen, out = tmp_path / "mine.json", tmp_path / "ids.txt", tmp_path / "out"
    words.write_text('{"Cabs_1": {"slots": {"destination": "dropoff"}}}')
    chosen.write_text("1_00000\n1_00003\n")
    arguments = (
        *LEXICAL, "--variant", "original", f"mine={words}",
        "--dialogues", chosen, "--output", out,
    )  # fmt: skip
    assert command(monkeypatch, evaluate, *arguments) == 0
    header = header_of(out / "predictions" / "mine.jsonl")
    assert header["dialogues"] == "2@bae2f743"
    assert "words" not in header_of(out / "predictions" / "original.jsonl")
    scores = json.loads((out / "scores.json").read_text())
    assert f"|variants:original+mine@{header['words']}|" in scores["signature"]
    assert "|dialogues:2@bae2f743|" in scores["signature"]
    rows = [json.loads(line) for line in (out / "predictions" / "mine.jsonl").open()][1:]
    assert {row["frame_id"].split("/")[0] for row in rows} == {"1_00000", "1_00003"}
    facts = json.loads((out / "run.json").read_text())["evaluation"]
    assert str(tmp_path) not in json.dumps(facts)
    for path, content, expected in (
        (words, '{"Cabs_1": {"slots": {"destination": "goal"}}}', "the data of mine differs"),
        (chosen, "1_00000\n", "the dialogues of original, mine differs"),
    ):
        path.write_text(content)
        capsys.readouterr()
        assert command(monkeypatch, evaluate, *arguments) == 0
        assert expected in capsys.readouterr().err
    chosen.write_text("1_00000\n9_00000\n")
    assert command(monkeypatch, evaluate, *arguments[:-1], tmp_path / "new") == 2
    assert "ids.txt: 1 of 2 dialogues are not in test of sample, the first is 9_0" in error_line(
        capsys
    )


def test_a_header_says_what_its_rows_were_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The header has the source without its folders, and a digest of the data."""
    source = tmp_path / "private" / "source"
    copytree(SAMPLE, source)
    for name in (source, "sample"):
        out = tmp_path / f"of-{Path(name).name}"
        arguments = ("--tracker", "lexical", "--source", name, "--variant", "v5", "--output", out)
        assert command(monkeypatch, predict, *arguments) == 0
        assert header_of(out / "v5.jsonl") == {
            "task": "state", "variant": "v5", "split": "test",
            "source": Path(name).name, "data": "1997e12934add94d",
            "oracle": False,
            "system": {"model": "lexical", "tracker": "lexical", "system_acts": True},
        }  # fmt: skip


@pytest.mark.slow
def test_two_processes_predict_what_one_does(
    trained: Path, three: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ("--variant", "original", "v5", "--chunk-size", 10, "--batch-size", 5)
    some = ("--model", trained, "--dialogues", three, *small)
    assert command(monkeypatch, predict, *some, "--output", tmp_path / "one") == 0
    done = run(*LAUNCH, "sgdx_cli", "predict", *some, "--output", "two")
    assert done.returncode == 0, done.stderr
    for name in ("original.jsonl", "v5.jsonl"):
        one, two = (tmp_path / folder / name for folder in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


WRONG: dict[str, tuple[Any, tuple[object, ...], str]] = {
    "nothing named": (predict, (), "--model nor --tracker"),
    "a model that nobody reads": (
        evaluate, ("--model", "{trained}", "--tracker", "lexical"), "lexical is not trained",
    ),
    "no such tracker": (predict, ("--tracker", "simple"), "'simple'"),
    "a tracker that is trained": (evaluate, ("--tracker", "sgp_dst"), "--tracker sgp_dst: "),
    "out of range": (predict, ("--model", "{trained}", "--batch-size", 0), "--batch-size"),
    "no chunks": (predict, ("--model", "{trained}", "--chunk-size", 0), "--chunk-size"),
    "of another kind": (evaluate, ("--model", "{trained}", "--shuffle", "x"), "--shuffle"),
    "no precision to choose": (predict, (*LEXICAL, "--precision", "bf16"), "--precision bf16: "),
    "no path": (predict, (*LEXICAL, "--variant", "mine"), "--variant mine: expected"),
    "no such model": (predict, ("--model", "nowhere"), "nowhere: "),
    "no such variant": (predict, ("--model", "{trained}", "--variant", "v9"), "v9"),
    "no option of its": (predict, ("--model", "{trained}", "--actz", "x"), "--batch-size"),
    "no such split": (predict, ("--model", "{trained}", "--split", "exam"), "exam"),
    "no model of the project": (predict, ("--model", "{bert}"), "run.json or config.json"),
    "another tracker's model": (
        predict, ("--model", "{bert}", "--tracker", "sgd_baseline"), "bert model",
    ),
    "another run's folder": (evaluate, (*LEXICAL, "--output", "{bert}/../other"), "run.json: "),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_line(
    name: str, trained: Path, tmp_path: Path, refuse: Refuse
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text("[]")
    tiny = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, vocab_size=9)
    BertModel(tiny).save_pretrained(tmp_path / "bert")
    module, words, named = WRONG[name]
    arguments = [str(word).format(trained=trained, bert=tmp_path / "bert") for word in words]
    place = () if "--output" in arguments else ("--output", tmp_path / "o")
    assert named in refuse(module, *place, *arguments)
    assert not (tmp_path / "o").exists()


def test_a_missing_sub_model_is_named(tmp_path: Path, refuse: Refuse) -> None:
    record = {"record": {"seen": {"tracker": "sgp_dst"}, "settings": {}}}
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert f"{tmp_path / 'intent'}: " in refuse(
        predict, "--model", tmp_path, "--output", tmp_path / "o"
    )


_OWN = """
from baselines.system import System
from sgdx_eval.predictions import prediction_row

class Mine(System):
    NAME, READS = "mine", ("utterance",)

    def track(self, rows):
        return [prediction_row(row, WORD, [], {}) for row in rows]
"""


_COUNTING = """
from collections import Counter
from baselines.system import System
from sgdx_eval.predictions import prediction_row

class Majority(System):
    NAME, READS = "majority", ("utterance",)

    def fit(self, rows):
        self.counted = Counter(row["active_intent"] for row in rows)

    def track(self, rows):
        (most, _), = self.counted.most_common(1)
        return [prediction_row(row, most, [str(sum(self.counted.values()))], {}) for row in rows]
"""


def test_a_tracker_that_only_counts_gets_train(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "counting.py").write_text(_COUNTING)
    words = ("--tracker", "counting:Majority", "--variant", "v2", "--dialogues", three)
    assert command(monkeypatch, predict, *words, "--output", tmp_path / "out") == 0
    row = json.loads((tmp_path / "out" / "v2.jsonl").read_text().splitlines()[1])
    assert (row["active_intent"], row["requested_slots"]) == ("BookCheckup", ["492"])


def test_predictions_of_own_code_are_made_anew(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--keep`` keeps them; those of the package's trackers are kept anyway."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "out" / "original.jsonl"
    words = ("--tracker", "own_code:Mine", "--variant", "original", "--dialogues", three)
    found = []
    for word, more in (("A", ()), ("B", ()), ("C", ("--keep",))):
        (tmp_path / "own_code.py").write_text(f"WORD = {word!r}\n{_OWN}")
        sys.modules.pop("own_code", None)
        importlib.invalidate_caches()
        assert command(monkeypatch, predict, *words, "--output", tmp_path / "out", *more) == 0
        found.append(json.loads(file.read_text().splitlines()[1])["active_intent"])
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    sys.modules.pop("own_code", None)
    assert found == ["A", "B", "B"]
