"""Scores say what predictions were made from, and predictions of other data are refused."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pyarrow.parquet as pq
import pytest

from sgdx_dataset import open_release
from sgdx_dataset.release.open import SAMPLE

from ..conftest import Run
from ..sgdx_metric.frames import Row, written

SCORE = ("sgdx_metric", "score", "--split", "test", "--output", "s.json")


def signature_of(folder: Path) -> str:
    scores: dict[str, Any] = json.loads((folder / "s.json").read_text())
    return str(scores["signature"])


def test_the_signature_says_which_predictions_were_made_elsewhere(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    data = open_release("sample").data_digest("test", "v1")
    for header, part in (
        ({"source": "sample", "data": data}, "|system-acts:unknown|ci:"),
        ({"model": "mine"}, "|system-acts:unknown|predictions:made-elsewhere|ci:"),
        ({}, "|system-acts:unknown|predictions:made-elsewhere|ci:"),
    ):
        path = written(tmp_path / "p.jsonl", gold["v1"], **header)
        done = command(*SCORE, "--source", "sample", "--predictions", f"v1={path}")
        assert (done.returncode, done.stderr) == (0, "")
        assert part in signature_of(tmp_path)


def test_predictions_of_other_data_are_refused(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """A changed utterance makes other data, even where all frames are the same."""
    copytree(SAMPLE, tmp_path / "source")
    file = tmp_path / "source" / "test" / "dialogues_001.json"
    dialogues = json.loads(file.read_text())
    dialogues[0]["turns"][1]["utterance"] += " "
    file.write_text(json.dumps(dialogues))
    data = open_release("sample").data_digest("test", "v1")
    path = written(tmp_path / "p.jsonl", gold["v1"], source="sample", data=data)
    done = command(*SCORE, "--source", "source", "--predictions", f"v1={path}")
    assert done.returncode == 2
    assert f"predictions for v1: were made from data {data} (source sample)" in done.stderr
    assert not (tmp_path / "s.json").exists()


def test_predictions_of_other_data_or_two_systems_are_not_explained(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    copytree(SAMPLE, tmp_path / "source")
    file = tmp_path / "source" / "test" / "dialogues_001.json"
    file.write_text(file.read_text().replace("?", "!"))
    data = open_release("sample").data_digest("test", "v1")
    path = written(tmp_path / "p.jsonl", gold["v1"], source="sample", data=data, model="a")
    words = ("sgdx_metric", "explain", "--split", "test", "--predictions", f"v1={path}")
    frame = gold["v1"][0]["frame_id"]
    assert command(*words, "--source", "sample", frame).returncode == 0
    done = command(*words, "--source", "source", frame)
    assert done.returncode == 2
    assert f"predictions for v1: were made from data {data} (source sample)" in done.stderr
    other = written(tmp_path / "o.jsonl", gold["original"], model="b")
    done = command(*words, "--predictions", f"original={other}", "--source", "sample", frame)
    assert done.returncode == 2
    assert 'predictions for original: model is "b", and "a" in those for v1' in done.stderr


def test_the_source_that_predictions_name_is_taken(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --source, and with another default, the references are those of the predictions."""
    copytree(SAMPLE, tmp_path / "other")
    for file in (tmp_path / "other" / "test").glob("dialogues_*.json"):
        file.write_text(file.read_text().replace("the", "that"))
    monkeypatch.setenv("SGDX_SOURCE", str(tmp_path / "other"))
    data = open_release("sample").data_digest("test", "v1")
    path = written(tmp_path / "p.jsonl", gold["v1"], source="sample", data=data)
    done = command(*SCORE, "--predictions", f"v1={path}")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("note: the source is sample, which the predictions were made")
    assert "|release:sample|" in signature_of(tmp_path)


def test_a_wording_is_the_same_where_the_data_are(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """Rows of some dialogues have some of the services, whose fingerprint is another one."""
    (tmp_path / "mine.json").write_text('{"Cabs_1": {"description": "Rides"}}')
    (tmp_path / "ids.txt").write_text("1_00000\n")
    release = open_release("sample", {"mine": str(tmp_path / "mine.json")})
    rows = [
        {**row, "variant": "mine"}
        for row in gold["original"]
        if row["frame_id"].startswith("1_00000/")
    ]
    header = {"data": release.data_digest("test", "mine"), "wording": "of all services"}
    path = written(tmp_path / "p.jsonl", rows, **header)
    config = ("--source", "sample", "--variant", "mine=mine.json", "--config", "mine")
    choice = ("--split", "test", "--dialogues", "ids.txt")
    made = command("sgdx_dataset", "frames", *config, *choice, "--output", "rows")
    assert made.returncode == 0, made.stderr
    done = command(*SCORE, "--references", "rows", "--predictions", f"mine={path}")
    assert done.returncode == 0, done.stderr
    assert "predictions:" not in signature_of(tmp_path)


def test_a_variant_that_a_folder_lacks_is_told(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    (tmp_path / "p").mkdir()
    for variant in ("original", "v1", "v3"):
        written(tmp_path / "p" / f"{variant}.jsonl", gold[variant])
    done = command(*SCORE, "--source", "sample", "--predictions", "p")
    assert (done.returncode, done.stderr) == (
        0, "note: found no predictions for v2, v4, v5, so there is no mean over v1 to v5\n"
    )  # fmt: skip
    for variant in ("v1", "v3"):
        (tmp_path / "p" / f"{variant}.jsonl").unlink()
    assert command(*SCORE, "--source", "sample", "--predictions", "p").stderr == ""


def test_a_subset_of_another_split_is_refused(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """Dialogues of two splits may have the same id."""
    chosen = ("--split", "validation", "--count", "2", "--output", "subset.json")
    assert command("sgdx_dataset", "subset", "--source", "sample", *chosen).returncode == 0
    path = written(tmp_path / "p.jsonl", gold["v1"])
    words = ("--source", "sample", "--predictions", f"v1={path}", "--dialogues", "subset.json")
    done = command(*SCORE, *words)
    assert done.returncode == 2
    assert "subset.json: is a subset of validation, expected one of test" in done.stderr
    assert command(*SCORE, *words[:4]).returncode == 0
    done = command("sgdx_metric", "compare", "s.json", "s.json", *words[4:])
    assert done.returncode == 2
    assert "subset.json: is a subset of validation, expected one of test" in done.stderr


def test_a_seen_service_that_is_lost_changes_the_signature(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    copytree(SAMPLE, tmp_path / "source")
    schema = tmp_path / "source" / "train" / "schema.json"
    evaluated = {row["frame_id"].split("/")[-1] for row in gold["original"]}
    services = json.loads(schema.read_text())
    lost = next(s for s in services if s["service_name"] in evaluated)
    schema.write_text(json.dumps([s for s in services if s != lost]))
    for file in (tmp_path / "source" / "sgd_x").glob("data/*/train/schema.json"):
        file.unlink()
    path = written(tmp_path / "p.jsonl", gold["original"])
    done = command(*SCORE, "--source", "source", "--predictions", f"original={path}")
    assert done.returncode == 0, done.stderr
    assert "|release:unverified:" in signature_of(tmp_path)


def test_parquet_references_state_their_split_and_their_dialogues(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    chosen = ("--count", "2", "--split", "test", "--output", "subset.json")
    assert command("sgdx_dataset", "subset", "--source", "sample", *chosen).returncode == 0
    frames = ("--source", "sample", "--config", "v1", "--split", "test", "--output")
    assert command("sgdx_dataset", "frames", *frames, "whole").returncode == 0
    some_frames = (*frames, "some", "--dialogues", "subset.json")
    assert command("sgdx_dataset", "frames", *some_frames).returncode == 0
    path = written(tmp_path / "p.jsonl", gold["v1"])
    words = ("--predictions", f"v1={path}", "--references")
    assert command(*SCORE, *words, "whole").returncode == 0
    assert "|release:sample|" in signature_of(tmp_path)
    ids = [
        row["dialogue_id"] for row in pq.read_table(tmp_path / "some" / "v1.parquet").to_pylist()
    ]
    some = [row for row in gold["v1"] if row["frame_id"].split("/")[0] in ids]
    of_some = written(tmp_path / "some.jsonl", some)
    words_of_some = ("--predictions", f"v1={of_some}", "--references", "some")
    done = command(*SCORE, *words_of_some)
    assert done.returncode == 0, done.stderr
    assert "|dialogues:2@" in signature_of(tmp_path)
    done = command(*SCORE[:3], "validation", *SCORE[4:], *words, "whole")
    assert done.returncode == 2 and "v1.parquet: is of test, expected validation" in done.stderr


def test_a_part_that_a_signature_has_twice_is_refused(
    tmp_path: Path, command: Run, gold: dict[str, list[Row]]
) -> None:
    """Readers take the last one, and people the first."""
    path = written(tmp_path / "p.jsonl", gold["v1"])
    assert command(*SCORE, "--source", "sample", "--predictions", f"v1={path}").returncode == 0
    scores = json.loads((tmp_path / "s.json").read_text())
    scores["signature"] = scores["signature"].replace("|release:", "|release:mine|release:")
    (tmp_path / "s.json").write_text(json.dumps(scores))
    done = command("sgdx_metric", "compare", "s.json", "s.json")
    assert done.returncode == 2
    assert "s.json: signature has the part 'release' twice, expected it once" in done.stderr
