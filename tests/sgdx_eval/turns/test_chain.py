"""Scores say what responses were made from, and responses of other data or systems are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset.__main__ import main as sgdx_dataset
from sgsacc_metric.__main__ import main

from .commands import SAMPLE as SOURCE
from .commands import error_of, scores_of

OTHER = "0123456789abcdef"


def rewritten(copies: Path, folder: Path, **changes: Any) -> Path:
    """A folder with the gold responses, under headers with changes for each variant.

    None leaves an entry out. Without changes the files have no header.
    """
    folder.mkdir(exist_ok=True)
    for name in ("original", "v1"):
        header, _, rows = (copies / "gold" / f"{name}.jsonl").read_text().partition("\n")
        metadata = json.loads(header)["metadata"]
        metadata |= changes
        metadata = {key: value for key, value in metadata.items() if value is not None}
        text = f"{json.dumps({'metadata': metadata})}\n{rows}" if changes else rows
        (folder / f"{name}.jsonl").write_text(text)
    return folder


def test_what_responses_were_made_from_stands_in_the_signature(
    copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, changes, part in (
        ("stated", {"task": "turns"}, "|nli:none|ci:"),
        ("unstated", {"data": None}, "|predictions:made-elsewhere|ci:"),
        ("oracle", {"oracle": True}, "|oracle:yes|ci:"),
        ("elsewhere", {}, "|nli:none|predictions:made-elsewhere|ci:"),
    ):
        scores = scores_of(tmp_path, rewritten(copies, tmp_path / name, **changes), *SOURCE)
        assert part in scores["signature"], name
        assert scores["predictions"]["v1"].get("oracle") == changes.get("oracle")
        warning = "warning: the predictions are of an oracle" in capsys.readouterr().err
        assert warning == (name == "oracle")
    files = [tmp_path / "stated.json", tmp_path / "oracle.json"]
    assert main(["compare", *map(str, files), "--json", str(tmp_path / "c.json")]) == 0
    printed = capsys.readouterr().out
    assert f"first: {files[0]}\nsecond: {files[1]} (oracle)\n" in printed
    comparison = json.loads((tmp_path / "c.json").read_text())
    assert comparison["oracle"] == {"first": "no", "second": "yes"}
    files = [tmp_path / "elsewhere.json", tmp_path / "stated.json"]
    assert main(["compare", *map(str, files)]) == 0


def test_the_source_and_the_dialogues_that_responses_name_are_taken(
    copies: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SGDX_SOURCE", str(tmp_path / "nowhere"))
    folder = tmp_path / "some"
    folder.mkdir()
    header, *rows = (copies / "gold" / "v1.jsonl").read_text().splitlines()
    metadata = {**json.loads(header)["metadata"], "dialogues": "2@82354a53"}  # test_signature.py
    few = [row for row in rows if json.loads(row)["turn_id"][:7] in ("1_00000", "1_00001")]
    (folder / "v1.jsonl").write_text("\n".join([json.dumps({"metadata": metadata}), *few]))
    scores = scores_of(tmp_path, folder)
    assert "|release:sample|dialogues:2@82354a53|" in scores["signature"]
    note = capsys.readouterr().err
    assert "note: the source is sample, which the predictions were made from" in note
    assert "note: only the 2 of 36 dialogues that the predictions name are used" in note
    (folder / "v1.jsonl").write_text("\n".join([json.dumps({"metadata": metadata}), *rows]))
    words = ["score", *SOURCE, "--predictions", folder, "--output", tmp_path / "s.json"]
    assert "predictions for v1: found rows of the dialogues 36@" in error_of(capsys, *words)


def test_a_subset_of_another_split_is_refused(
    copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Dialogues of two splits may have the same id."""
    subset = tmp_path / "subset.json"
    words = ["--split", "validation", "--count", "2", "--output", str(subset)]
    assert sgdx_dataset(["subset", *SOURCE, *words]) == 0
    capsys.readouterr()
    options = [*SOURCE, "--dialogues", subset]
    for command in (
        ["score", "--predictions", copies / "gold", "--output", tmp_path / "s.json"],
        ["validate", "--nli", "lexical"],
    ):
        message = error_of(capsys, *command, *options)
        assert message == f"{subset}: is a subset of validation, expected one of test"


def test_parquet_references_state_their_split_and_their_dialogues(
    copies: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "ids.txt").write_text("1_00000\n1_00001\n")
    for name, others in (("whole", []), ("some", ["--dialogues", str(tmp_path / "ids.txt")])):
        words = ["--split", "test", "--output", str(tmp_path / name), *others]
        words += ["--config", "original", "v1"]
        assert sgdx_dataset(["turns", *SOURCE, *words]) == 0
    whole = ("--references", str(tmp_path / "whole"))
    line = scores_of(tmp_path, copies / "gold", *whole)["signature"]
    assert "|release:sample|" in line and "predictions:" not in line
    some = ("--references", str(tmp_path / "some"), "--dialogues", str(tmp_path / "ids.txt"))
    few = tmp_path / "few"
    few.mkdir()
    rows = (copies / "gold" / "v1.jsonl").read_text().splitlines()[1:]
    few_rows = [row for row in rows if json.loads(row)["turn_id"][:7] in ("1_00000", "1_00001")]
    (few / "v1.jsonl").write_text("\n".join(few_rows))
    assert "|dialogues:2@82354a53|" in scores_of(tmp_path, few, *some)["signature"]
    words = ["score", f"--predictions={few}", *whole, "--split", "validation"]
    message = error_of(capsys, *words, "--output", tmp_path / "s.json")
    assert "original.parquet: is of test, expected validation" in message


def test_a_variant_given_twice_is_refused(
    copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["score", *SOURCE, f"--output={tmp_path / 's.json'}", f"--predictions={copies}/gold"]
    twice = ["--variant", "mine=a", "--variant", "mine=b"]
    assert "--variant mine=b: found mine twice, as a before" in error_of(capsys, *words, *twice)
