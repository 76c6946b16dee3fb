"""Predictions and their scores in one folder: resumed, of chosen dialogues, under own words."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from baselines import evaluate, predict
from sgdx_dataset.release.open import SAMPLE

from .conftest import change_the_data, command, error_line

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
    assert (facts["tracker"], facts["split"], facts["release"]) == ("lexical", "test", "sample")
    assert facts["configs"] == ["original", "v1", "v2", "v3", "v4", "v5"]


def header_of(path: Path) -> dict[str, Any]:
    with path.open() as file:
        metadata: dict[str, Any] = json.loads(file.readline())["metadata"]
    return metadata


def test_chosen_dialogues_under_words_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Headers and signature say which dialogues, and mark the wording by its fingerprint."""
    words, chosen, out = tmp_path / "mine.json", tmp_path / "ids.txt", tmp_path / "out"
    words.write_text('{"Cabs_1": {"slots": {"destination": "dropoff"}}}')
    chosen.write_text("1_00000\n1_00003\n")
    arguments = (
        *LEXICAL, "--config", "original", "mine", "--variant", f"mine={words}",
        "--dialogues", chosen, "--output", out,
    )  # fmt: skip
    assert command(monkeypatch, evaluate, *arguments) == 0
    header = header_of(out / "predictions" / "mine.jsonl")
    assert header["dialogues"] == "2@bae2f743"
    assert "wording" not in header_of(out / "predictions" / "original.jsonl")
    scores = json.loads((out / "scores.json").read_text())
    assert f"|variants:original+mine@{header['wording']}|" in scores["signature"]
    assert "|dialogues:2@bae2f743|" in scores["signature"]
    rows = [json.loads(line) for line in (out / "predictions" / "mine.jsonl").open()][1:]
    assert {row["frame_id"].split("/")[0] for row in rows} == {"1_00000", "1_00003"}
    facts = json.loads((out / "run.json").read_text())["evaluation"]
    assert str(tmp_path) not in json.dumps(facts)
    for path, content, expected in (
        (words, '{"Cabs_1": {"slots": {"destination": "goal"}}}', "predictions: wording is"),
        (chosen, "1_00000\n", "predictions: dialogues is '2@bae2f743', expected '1@"),
        (chosen, "1_00000\n9_00000\n", "1 of 2 dialogues are not in the split, the first is 9_0"),
    ):
        path.write_text(content)
        place = tmp_path / "new" if "9_" in content else out
        capsys.readouterr()
        assert command(monkeypatch, evaluate, *arguments[:-1], place) == 2
        assert expected in error_line(capsys)


def test_predictions_of_changed_data_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Predictions are kept only while the dialogues that they were made from are the same."""
    source, out = tmp_path / "source", tmp_path / "out"
    copytree(SAMPLE, source)
    arguments = ("--tracker", "lexical", "--source", source, "--config", "original", "--output")

    def jga(output: Path) -> float:
        assert command(monkeypatch, evaluate, *arguments, output) == 0
        scores = json.loads((output / "scores.json").read_text())
        return float(round(100 * scores["sgdx"]["jga_orig"], 2))

    before = jga(out)
    digest = header_of(out / "predictions" / "original.jsonl")["data"]
    change_the_data(source)
    capsys.readouterr()
    after = jga(out)
    assert "the data of source have changed" in capsys.readouterr().err
    assert after == jga(tmp_path / "new") < before
    assert header_of(out / "predictions" / "original.jsonl")["data"] != digest


def test_predictions_of_changed_code_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tracker without weights is known by its code, and by what that imports beside it."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_tracker.py").write_text(OWN_TRACKER)
    arguments = ("--tracker", "own_tracker:Own", "--source", "sample", "--config", "v1", "--output")

    def evaluate_own(value: str) -> tuple[str, set[str]]:
        (tmp_path / "own_words.py").write_text(f"VALUE = '{value}'")
        for name in ("own_tracker", "own_words"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        assert command(monkeypatch, evaluate, *arguments, tmp_path / "out") == 0
        path = tmp_path / "out" / "predictions" / "v1.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
        return header_of(path)["program"], {row["active_intent"] for row in rows}

    first, intents = evaluate_own("Rome")
    assert intents == {"Rome"}
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert scores["predictions"]["v1"]["program"] == first
    assert evaluate_own("Rome") == (first, {"Rome"})
    assert "predicting again" not in capsys.readouterr().err
    second, intents = evaluate_own("Barcelona")
    err = capsys.readouterr().err
    assert "the program of own has changed since these predictions were made" in err
    assert intents == {"Barcelona"}
    assert second != first


OWN_TRACKER = """
from baselines.data.prediction_files import prediction_row
from baselines.system import Predictions, Tracker
from own_words import VALUE


class Own(Tracker):
    NAME = "own"
    READS = ("utterance",)

    def predict(self, rows, chunks):
        return Predictions([prediction_row(row, VALUE, [], {}) for row in rows], {})
"""


def test_a_header_says_what_its_rows_were_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The header has the source without its folders, and a digest of the data."""
    source, digests = tmp_path / "private" / "source", {}
    copytree(SAMPLE, source)
    for name in (source, "sample"):
        out = tmp_path / f"of-{Path(name).name}"
        arguments = ("--tracker", "lexical", "--source", name, "--config", "v1", "--output", out)
        assert command(monkeypatch, predict, *arguments) == 0
        header = header_of(out / "v1.jsonl")
        digests[header["source"]] = header["data"]
        assert "private" not in json.dumps(header)
    assert digests["source"] == digests["sample"]
