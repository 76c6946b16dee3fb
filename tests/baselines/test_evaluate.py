"""Predictions and their scores in one folder: resumed, of chosen dialogues, under own words."""

from __future__ import annotations

import json
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
    assert facts["release"] == "sample"
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
        (words, '{"Cabs_1": {"slots": {"destination": "goal"}}}', "mine.jsonl: its data differs"),
        (chosen, "1_00000\n", "mine.jsonl: its dialogues differs"),
    ):
        path.write_text(content)
        capsys.readouterr()
        assert command(monkeypatch, evaluate, *arguments) == 0
        assert expected in capsys.readouterr().err
    chosen.write_text("1_00000\n9_00000\n")
    assert command(monkeypatch, evaluate, *arguments[:-1], tmp_path / "new") == 2
    assert "1 of 2 dialogues are not in the split, the first is 9_0" in error_line(capsys)


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
    assert "original.jsonl: its data differs" in capsys.readouterr().err
    assert after == jga(tmp_path / "new") < before
    assert header_of(out / "predictions" / "original.jsonl")["data"] != digest


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
        assert header["system"]["system_acts"] is True
    assert digests["source"] == digests["sample"]
