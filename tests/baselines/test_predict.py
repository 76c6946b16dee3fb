"""Predictions: the same from one process, two, or a killed one; never from the gold state."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from baselines import evaluate, predict

from ..conftest import ROOT, Run
from .conftest import LAUNCH, Refuse, command

LEXICAL = ("--tracker", "lexical", "--source", "sample")
SMALL = ("--config", "original", "v5", "--chunk-size", 10, "--batch-size", 5)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def predicted(trained: Path, three: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Predictions of one process for three dialogues, original and v5."""
    folder = tmp_path_factory.mktemp("predicted")
    arguments = ("--model", trained, "--dialogues", three, "--output", folder, *SMALL)
    with pytest.MonkeyPatch.context() as patch:
        assert command(patch, predict, *arguments) == 0
    return folder


def test_a_file_says_how_it_was_made(predicted: Path, trained: Path) -> None:
    assert sorted(path.name for path in predicted.iterdir()) == ["original.jsonl", "v5.jsonl"]
    header, *rows = lines(predicted / "v5.jsonl")
    metadata = header["metadata"]
    expected = {"task": "state", "variant": "v5", "split": "test", "oracle": False}
    assert expected.items() <= metadata.items()
    system = {
        "model": str(trained), "format": "t5dst", "seed": 0, "system_acts": False,
        "train": ["original"], "tracks": ["slot_values"],
    }  # fmt: skip
    assert system.items() <= metadata["system"].items()
    libraries = {"python", "torch", "transformers", "accelerate", "datasets"}
    assert set(metadata["versions"]) == libraries
    assert metadata["counts"]["frames"] == 2 * len(rows)
    assert metadata["counts"]["cut"]["inputs"] > 0
    assert len(rows) == 6 + 8 + 12
    assert {row["variant"] for row in rows} == {"v5"}


def test_a_tiny_model_is_asked_on_one_thread(
    trained: Path, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless ``OMP_NUM_THREADS`` says otherwise, as on a busy machine its threads wait for long."""
    arguments = ("--model", trained, "--dialogues", three, "--config", "v5", "--output")
    try:
        torch.set_num_threads(2)
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        assert command(monkeypatch, predict, *arguments, tmp_path / "two") == 0
        assert torch.get_num_threads() == 2
        monkeypatch.delenv("OMP_NUM_THREADS")
        assert command(monkeypatch, predict, *arguments, tmp_path / "one") == 0
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(1)


@pytest.mark.slow
def test_two_processes_predict_what_one_does(
    predicted: Path, trained: Path, three: Path, run: Run, tmp_path: Path
) -> None:
    done = run(
        *LAUNCH, "baselines.predict", "--model", trained, "--dialogues", three,
        "--output", "two", *SMALL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("original.jsonl", "v5.jsonl"):
        assert (tmp_path / "two" / name).read_bytes() == (predicted / name).read_bytes()


@pytest.mark.posix
def test_a_killed_run_goes_on_from_its_chunks(
    predicted: Path, trained: Path, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "o"
    arguments = ("--model", trained, "--dialogues", three, "--output", output, *SMALL)
    words = [sys.executable, "-m", "baselines.predict", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, env=environment) as process:
        chunks = output / "chunks"
        for _ in range(60000):  # four minutes, for machines that do other things too
            if len(list(chunks.rglob("*.json"))) >= 2 or process.poll() is not None:
                break
            time.sleep(0.004)
        process.send_signal(signal.SIGKILL)
    done = sorted(chunks.rglob("*.json"))
    assert done, "it was killed too late to test anything"
    # What it goes on from is what it wrote: answers put in the files by hand come out.
    for chunk in done:
        chunk.write_text(json.dumps(["Xanadu"] * len(json.loads(chunk.read_text()))))
    assert command(monkeypatch, predict, *arguments) == 0
    assert not chunks.exists()
    found = [row for name in ("original", "v5") for row in lines(output / f"{name}.jsonl")]
    values = [v["values"] for row in found for v in row.get("slot_values", [])]
    assert ["Xanadu"] in values
    for name in ("original.jsonl", "v5.jsonl"):
        assert len(lines(output / name)) == len(lines(predicted / name))


WRONG: dict[str, tuple[Any, tuple[object, ...], str]] = {
    "nothing named": (predict, (), "found neither --model nor --tracker"),
    "no such tracker": (
        predict, ("--tracker", "simple"), "tracker 'simple' is unknown, expected one of lexical",
    ),
    "a tracker that is trained": (
        evaluate, ("--tracker", "sgp_dst"), "--tracker sgp_dst: it is trained, expected --model",
    ),
    "an option out of range": (
        predict, ("--model", "{trained}", "--batch-size", 0), "--batch-size: Expected `int` >= 1",
    ),
    "an option of another kind": (
        evaluate, ("--model", "{trained}", "--shuffle", "x"), "--shuffle: Expected `int | null`",
    ),
    "a folder of another run": (
        evaluate, (*LEXICAL, "--output", "{trained}/../o"), "run.json: not the record of a run: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_line(
    name: str, trained: Path, tmp_path: Path, refuse: Refuse
) -> None:
    (trained.parent / "o").mkdir(exist_ok=True)
    (trained.parent / "o" / "run.json").write_text("[]")
    module, words, expected = WRONG[name]
    arguments = [str(word).format(trained=trained) for word in words]
    assert expected in refuse(module, "--output", tmp_path / "o", *arguments)
    assert not (tmp_path / "o").exists()


def test_a_variant_without_a_path(tmp_path: Path, refuse: Refuse) -> None:
    message = refuse(predict, *LEXICAL, "--output", tmp_path, "--variant", "mine")
    assert "--variant mine: expected NAME=PATH" in message
