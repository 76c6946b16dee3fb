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

import numpy as np
import pytest

from baselines import predict as command_module
from baselines.data.frames import GOLD, IDENTITY, INPUTS, track
from baselines.t5dst import tracker as tracker_module
from baselines.t5dst.model import About
from baselines.t5dst.tiny import tiny_t5, tiny_tokenizer
from baselines.t5dst.tracker import T5Options, T5Tracker, bucket_widths
from baselines.training.accelerator import make_accelerator
from baselines.training.chunks import run_chunks
from sgdx_dataset import SgdxError, frames, load

from ...conftest import ROOT, Run
from ..conftest import LAUNCH, command

SMALL = ("--chunk-size", 200, "--batch-size", 50)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def predicted(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Predictions of one process, original and v5."""
    folder = tmp_path_factory.mktemp("predicted")
    arguments = ("--model", trained, "--config", "original", "v5", "--output", folder, *SMALL)
    with pytest.MonkeyPatch.context() as patch:
        assert command(patch, command_module, *arguments) == 0
    return folder


def test_a_file_says_how_it_was_made(predicted: Path, trained: Path) -> None:
    assert sorted(path.name for path in predicted.iterdir()) == ["original.jsonl", "v5.jsonl"]
    header, *rows = lines(predicted / "v5.jsonl")
    metadata = header["metadata"]
    expected = {
        "model": str(trained), "format": "t5dst", "variant": "v5", "split": "test", "seed": 0,
        "system_acts": False, "oracle": False, "train": ["original"], "tracks": ["slot_values"],
    }  # fmt: skip
    assert expected.items() <= metadata.items()
    assert set(metadata["versions"]) == {
        "python",
        "torch",
        "transformers",
        "accelerate",
        "datasets",
    }
    assert metadata["counts"]["frames"] == 546
    assert metadata["counts"]["cut"]["inputs"] > 0
    assert len(rows) == 273
    assert {row["variant"] for row in rows} == {"v5"}


def test_the_metric_takes_them(predicted: Path, run: Run, tmp_path: Path) -> None:
    given = [f"--predictions={v}={predicted / v}.jsonl" for v in ("original", "v5")]
    done = run("sgdx_metric", "score", *given, "--output", "scores.json")
    assert done.returncode == 0, done.stderr
    signature = json.loads((tmp_path / "scores.json").read_text())["signature"]
    assert "system-acts:no" in signature


@pytest.mark.slow
def test_two_processes_predict_what_one_does(
    predicted: Path, trained: Path, run: Run, tmp_path: Path
) -> None:
    done = run(
        *LAUNCH, "baselines.predict", "--model", trained, "--config", "original", "v5",
        "--output", "two", *SMALL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("original.jsonl", "v5.jsonl"):
        assert (tmp_path / "two" / name).read_bytes() == (predicted / name).read_bytes()


def test_a_killed_run_goes_on_from_its_chunks(
    predicted: Path, trained: Path, run: Run, tmp_path: Path
) -> None:
    given = ("--model", trained, "--config", "original", "v5", "--output", tmp_path / "o", *SMALL)
    arguments = ["baselines.predict", *map(str, given)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-m", *arguments], env=environment) as process:
        chunks = tmp_path / "o" / "chunks"
        for _ in range(12000):  # four minutes, for machines that do other things too
            if len(done := list(chunks.rglob("*.json"))) >= 2 or process.poll() is not None:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    done = sorted(chunks.rglob("*.json"))
    assert done, "it was killed too late to test anything"
    # What it goes on from is what it wrote: an answer put in the file by hand comes out.
    marked = json.loads(done[0].read_text())
    done[0].write_text(json.dumps(["Xanadu"] * len(marked)))
    assert run(*arguments).returncode == 0
    assert not chunks.exists()
    found = [row for name in ("original", "v5") for row in lines(tmp_path / "o" / f"{name}.jsonl")]
    values = [v["values"] for row in found[1:] for v in row.get("slot_values", [])]
    assert values.count(["Xanadu"]) > 50  # in the free slots of that chunk
    for name in ("original.jsonl", "v5.jsonl"):
        assert len(lines(tmp_path / "o" / name)) == len(lines(predicted / name))


def test_another_model_s_predictions_are_not_overwritten(
    predicted: Path, trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    arguments = ("--model", trained, "--config", "v5", "--output", predicted)
    assert command(monkeypatch, command_module, *arguments, "--split", "validation") == 2
    message = capsys.readouterr().err
    assert "v5.jsonl: holds another run's predictions: split is 'test', expected 'validation'" in (
        message
    )


def test_the_gold_state_is_out_of_reach(trained: Path, tmp_path: Path) -> None:
    assert set(GOLD).isdisjoint({*IDENTITY, *INPUTS})
    rows = frames(load("v2", "test", "sample")).select(range(12))
    scrambled = rows.map(
        lambda row: {"active_intent": "x", "requested_slots": [], "slot_values": [], "slots": []}
    )
    tracker = T5Tracker.load(str(trained), T5Options(), make_accelerator())
    first, second = (
        track(tracker, given, tmp_path / name) for name, given in (("a", rows), ("b", scrambled))
    )
    assert first == second
    assert len(first.rows) == 12


def test_equal_inputs_are_generated_once(trained: Path, tmp_path: Path) -> None:
    rows = frames(load("original", "test", "sample")).select([0, 1, 0, 1, 1])
    tracker = T5Tracker.load(str(trained), T5Options(batch_size=2), make_accelerator())
    predicted = track(tracker, rows, tmp_path)
    assert predicted.counts["unique_inputs"] < predicted.counts["inputs"] / 2
    assert predicted.rows[0] == predicted.rows[2]
    assert predicted.rows[1] == predicted.rows[3] == predicted.rows[4]


def test_chunks_that_are_there_are_not_worked_on(tmp_path: Path) -> None:
    worked: list[list[int]] = []

    def work(chunk: Any) -> list[int]:
        worked.append(chunk.tolist())
        return [10 * index for index in chunk.tolist()]

    chunks = [np.array([2, 0]), np.array([1])]
    accelerator = make_accelerator()
    assert run_chunks(accelerator, chunks, work, tmp_path) == [0, 10, 20]
    (tmp_path / "000001.json").unlink()
    assert run_chunks(accelerator, chunks, work, tmp_path) == [0, 10, 20]
    assert worked == [[2, 0], [1], [1]]


def test_static_shapes_give_the_same_predictions(trained: Path, tmp_path: Path) -> None:
    """Few widths, and all batches of a width alike, with other answers from no padded row."""
    rows = frames(load("v1", "test", "sample")).select(range(24))
    found = []
    for static in (False, True):
        options = T5Options(batch_size=16, token_budget=1600, static_shapes=static)
        tracker = T5Tracker.load(str(trained), options, make_accelerator())
        shapes: set[tuple[int, ...]] = set()
        tracker.model.register_forward_pre_hook(
            lambda module, given, named, shapes=shapes: shapes.add(shape_of_inputs(named)),
            with_kwargs=True,
        )
        found.append((track(tracker, rows, tmp_path / str(static)).rows, shapes - {()}))
    (plain, various), (static_rows, few) = found
    assert static_rows == plain
    assert few <= {(16, 24), (16, 40), (16, 80), (10, 160)}
    assert len(various) > len(few)


def shape_of_inputs(named: dict[str, Any]) -> tuple[int, ...]:
    """The shape of the inputs where a model reads them; empty in the later steps."""
    return tuple(named["input_ids"].shape) if "input_ids" in named else ()


def test_the_widths_of_static_shapes() -> None:
    lengths = np.array([1, 64, 65, 129, 512])
    assert bucket_widths(lengths, 512).tolist() == [64, 64, 128, 256, 512]
    assert bucket_widths(np.array([20, 21, 84, 85, 160]), 161).tolist() == [24, 24, 88, 88, 168]


def test_shuffled_prediction_reads_its_answers_by_the_order_that_it_showed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tracker that always answers with the first option sets other values for another seed."""
    rows = frames(load("v2", "test", "sample")).select(range(30))
    tokenizer = tiny_tokenizer(rows["utterance"], 400)
    model = tiny_t5(len(tokenizer)).eval()
    about = About(tracker="t5dst", format="t5dst-options", max_input=512, max_target=8)
    monkeypatch.setattr(
        tracker_module, "answer_all", lambda tracker, inputs, folder: (["a"] * len(inputs.pairs), 1)
    )
    found = {}
    for seed in (None, 1, 2):
        tracker = T5Tracker(model, tokenizer, about, T5Options(shuffle=seed), make_accelerator())
        assert tracker.describe()["shuffle"] == seed
        found[seed] = track(tracker, rows, tmp_path).rows
    schemas = {row["frame_id"]: row["schema"] for row in rows}
    for seed, predicted in found.items():
        firsts, all_options = 0, 0
        for row in predicted:
            slots = {
                slot["name"]: slot["possible_values"] for slot in schemas[row["frame_id"]]["slots"]
            }
            for given in row["slot_values"]:
                options = slots[given["slot"]]
                if options:
                    assert given["values"][0] in options
                    firsts += given["values"][0] == options[0]
                    all_options += 1
        assert (firsts == all_options) == (seed is None)
    assert found[1] != found[2]


def test_shuffling_a_format_that_is_not_shuffled(trained: Path) -> None:
    with pytest.raises(
        SgdxError, match=r"^--shuffle: the format t5dst is not shuffled in training"
    ):
        T5Tracker.load(str(trained), T5Options(shuffle=1), make_accelerator())


def test_longer_inputs_than_in_training(trained: Path, tmp_path: Path) -> None:
    rows = frames(load("original", "test", "sample")).select(range(8, 12))
    cut = {}
    for limit in (None, 2048):
        options = T5Options(max_input=limit)
        tracker = T5Tracker.load(str(trained), options, make_accelerator())
        cut[limit] = track(tracker, rows, tmp_path / str(limit)).counts["cut"]["inputs"]
        assert tracker.describe()["max_input"] == (limit or 160)
        assert tracker.describe()["max_target"] == 6
    assert cut[None] > cut[2048] == 0
