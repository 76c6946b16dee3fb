"""Predictions and their scores in one folder: resumed, of chosen dialogues, under own words."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from baselines import evaluate, predict

from ..conftest import Run
from .conftest import LAUNCH, command, error_line

LEXICAL = ("--tracker", "lexical", "--source", "sample")


def header_of(path: Path) -> dict[str, Any]:
    with path.open() as file:
        metadata: dict[str, Any] = json.loads(file.readline())["metadata"]
    return metadata


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
    assert header_of(tmp_path / "predictions" / "v5.jsonl") == {
        "task": "state", "variant": "v5", "split": "test",
        "source": "sample", "data": "1997e12934add94d", "oracle": False,
        "system": {"model": "lexical", "tracker": "lexical", "system_acts": True},
    }  # fmt: skip


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


# The same class of a module, under two conditions: it only counts, or its code has changed.
_OWN = """
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


def test_own_code_counts_train_and_predicts_anew(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tracker that only counts gets train; ``--keep`` keeps what its code has predicted."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "out" / "v2.jsonl"
    words = ("--tracker", "own_code:Majority", "--variant", "v2", "--dialogues", three)
    found = []
    for word, more in (("most", ()), ("'B'", ()), ("'C'", ("--keep",))):
        code = _OWN.replace("row, most", f"row, {word}")
        (tmp_path / "own_code.py").write_text(code)
        sys.modules.pop("own_code", None)
        importlib.invalidate_caches()
        assert command(monkeypatch, predict, *words, "--output", tmp_path / "out", *more) == 0
        row = json.loads(file.read_text().splitlines()[1])
        found.append((row["active_intent"], row["requested_slots"]))
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    sys.modules.pop("own_code", None)
    assert found == [("BookCheckup", ["492"]), ("B", ["492"]), ("B", ["492"])]
