"""How long the work of the commands takes, each beside a peer that no way of doing it can go below.

``python -m maintenance.benchmark --source SGD`` prints seconds and their ratio. Seconds are CPU
seconds of all threads, which other work on the machine changes less than those of a clock. Work and
peer take turns, and the least of several rounds counts.
"""

from __future__ import annotations

import argparse
import copy
import gc
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import msgspec
import torch
from datasets import Dataset, concatenate_datasets
from rich.console import Console

from baselines.batching import epoch
from baselines.data.dialogues import read_dialogues
from baselines.onepass.examples import FrameExamples, all_examples
from baselines.onepass.modeling import OnePassModel
from baselines.onepass.system import OnePassTracker
from baselines.precision import autocast, resolved, train_in_bfloat16
from baselines.processes import make_accelerator
from baselines.recipes import find_recipe, read_recipe
from baselines.use import SHIPPED_MODEL
from sgdx_dataset import VARIANTS, frame_tables, frames, load, open_release
from sgdx_dataset.release import Release
from sgdx_dataset.rows import read_dialogues as read_release
from sgdx_dataset.tracker_inputs import training_columns
from sgdx_eval.tables import table, to_terminal
from tests.sgdx_metric.frames import with_errors

ROOT = Path(__file__).parents[1]
CONFIGS = ("original", *VARIANTS)
Tensors = dict[str, torch.Tensor]
Seconds = Callable[[], float]  # does work once, and says how many seconds it took
# The peer of commands: a process that has imported little loads all dialogues with ``json``.
_JSON_LOAD = """
import gc, json, sys, time
from sgdx_dataset import open_release
release = open_release(sys.argv[1])
files = [f for split in ("train", "validation", "test") for f in release.dialogue_files(split)]
gc.freeze()
start = time.process_time()
for file in files:
    json.loads(release.read(file))
print(time.process_time() - start)
"""
# ``evaluate``'s door, by lists of rows and of the same files of predictions.
_COMPUTE = """
import gc, json, sys, time
import evaluate, pyarrow as pa
from sgdx_dataset import frame_tables, open_release
from sgdx_metric.rows import REFERENCE
source, folder, *configs = sys.argv[1:]
guesses = [json.loads(line) for c in configs for line in open(f"{folder}/{c}.jsonl")]
tables = [frame_tables(open_release(source), "test", c, REFERENCE.names) for c in configs]
truths = [row for table in tables for row in table.to_pylist()]
metric = evaluate.load("sgdx_metric", keep_in_memory=True)
gc.freeze()
start = time.process_time()
metric.compute(predictions=guesses, references=truths, split="test")
print(time.process_time() - start)
"""


class Measure(NamedTuple):
    """Some work and its peer."""

    work: str
    peer: str
    time_work: Seconds
    time_peer: Seconds


def main() -> None:
    """Time every measure and print the table."""
    parser = argparse.ArgumentParser("python -m maintenance.benchmark", description=__doc__)
    text = "Read this copy of the SGD release. Default: the sample corpus."
    parser.add_argument("--source", default="sample", help=text)
    text = "Track N test dialogues. Default: 16."
    parser.add_argument("--dialogues", type=int, default=16, metavar="N", help=text)
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="Default: 3.")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        chosen = measures(options.source, options.dialogues, Path(folder))
        gc.freeze()  # what is prepared costs no search for garbage
        for measure in chosen:
            rounds = [(measure.time_work(), measure.time_peer()) for _ in range(options.rounds)]
            work, peer = map(min, zip(*rounds))
            ratio = f"{work / peer:.2f}" if work > peer else f"1/{peer / work:.0f}"
            rows.append([measure.work, f"{work:.2f}", measure.peer, f"{peer:.2f}", ratio])
    headers = ["work", "CPU seconds", "beside", "CPU seconds", "ratio"]
    to_terminal(table("", headers, rows, ["beside"]), Console(width=120))


def measures(source: str, dialogues: int, folder: Path) -> list[Measure]:
    """All measures; the commands read and write in a folder."""
    return [*commands(source, folder), *tracker(source, dialogues)]


def commands(source: str, folder: Path) -> list[Measure]:
    """The help, ``prepare`` of six configs, and ``score`` of six files of predictions."""
    release = open_release(source)
    encoder = msgspec.json.Encoder()
    for config in CONFIGS:
        chance = random.Random(config)  # noqa: S311
        rows = frame_tables(release, "test", config).to_pylist()
        predictions = encoder.encode_lines(with_errors(row, chance) for row in rows)
        (folder / f"{config}.jsonl").write_bytes(predictions)
        write_dialogues(release, config, predictions, folder / "dialogues" / config)
    score = ["score", "--source", source, "--predictions", str(folder)]
    score += ["--output", str(folder / "scores.json")]
    of_dialogues = ["score", "--source", source, "--predictions", str(folder / "dialogues")]
    of_dialogues += ["--output", str(folder / "scores.json")]

    def time_prepare() -> float:
        with (
            tempfile.TemporaryDirectory(dir=folder) as cache,
            mock.patch.dict(os.environ, {"HF_DATASETS_CACHE": cache}),
        ):
            prepare = ["prepare", "--source", source, "--variant", *CONFIGS]
            return process_seconds("-m", "sgdx_cli", *prepare)[0]

    def time_json() -> float:
        return float(process_seconds("-c", _JSON_LOAD, source)[1])

    peer = "json.load of all dialogues"
    return [
        Measure(
            "sgdx --help", "python -c 'import datasets'",
            lambda: process_seconds("-m", "sgdx_cli", "--help")[0],
            lambda: process_seconds("-c", "import datasets")[0],
        ),
        Measure("prepare, 6 configs", peer, time_prepare, time_json),
        Measure(
            "score, 6 variants of test", peer,
            lambda: process_seconds("-m", "sgdx_cli", *score)[0], time_json,
        ),
        Measure(
            "score, 6 folders of dialogues", peer,
            lambda: process_seconds("-m", "sgdx_cli", *of_dialogues)[0], time_json,
        ),
        Measure(
            "evaluate's compute, 6 variants", peer,
            lambda: float(process_seconds("-c", _COMPUTE, source, str(folder), *CONFIGS)[1]),
            time_json,
        ),
    ]  # fmt: skip


def write_dialogues(release: Release, config: str, predictions: bytes, folder: Path) -> None:
    """Write predictions as dialogues in the layout of the release, as the official scorer reads."""
    rows = {row["frame_id"]: row for row in map(msgspec.json.decode, predictions.splitlines())}
    schemas = release.schema("test", "original"), release.schema("test", config)
    names = {old.service_name: new.service_name for old, new in zip(*schemas)}
    folder.mkdir(parents=True)
    for file, dialogues in read_release(release, "test"):
        for dialogue in dialogues:
            for index, turn in enumerate(dialogue["turns"]):
                for frame in turn["frames"]:
                    row = rows.get(f"{dialogue['dialogue_id']}/{index}/{frame['service']}")
                    frame["service"] = names[frame["service"]]
                    if row:
                        state: Any = {key: row[key] for key in ("active_intent", "requested_slots")}
                        state["slot_values"] = {v["slot"]: v["values"] for v in row["slot_values"]}
                        frame["state"] = state
        (folder / Path(file).name).write_bytes(msgspec.json.encode(dialogues))


def tracker(source: str, count: int) -> list[Measure]:
    """The shipped tracker: states of test dialogues under two variants, and steps of training."""
    accelerator = make_accelerator()
    shipped = OnePassTracker.from_pretrained(SHIPPED_MODEL)
    model, limit = copy.deepcopy(shipped), shipped.seen.max_tokens
    rows = concatenate_datasets([test_rows(source, config, count) for config in ("original", "v5")])
    dialogues = list(read_dialogues(training_columns(rows, shipped.READS)))
    learnt = all_examples(dialogues, shipped.reading)
    recipe: Any = read_recipe(find_recipe("onepass/smoke"), [f"max_tokens={limit}"])
    examples = FrameExamples(learnt, shipped.vocabulary, recipe)
    batches = [examples.batch(part) for part in epoch(examples.lengths, 12, 4096, 0, 0)[:4]]
    precision = autocast(resolved("auto", accelerator.device), accelerator.device)
    train_in_bfloat16(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0)

    def track() -> None:
        with precision:
            shipped.track_dialogues(dialogues)

    def learn() -> None:
        model.train()
        for batch in batches:
            with precision:
                loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        model.train(False)

    def learn_encoder() -> None:
        model.train()
        for batch in batches:
            with precision:
                loss: Any = model.encode(batch).square().mean()
            loss.backward()
            optimizer.zero_grad()
        model.train(False)

    encoded = calls_of_encoder(track)

    @torch.inference_mode()
    def encode() -> None:
        for encoder, batch in encoded:
            encoder.encode(batch)

    peer = "its encoder alone, same batches"
    return [
        Measure(
            f"onepass tracks {len(rows)} frames", peer,
            lambda: seconds(track), lambda: seconds(encode),
        ),
        Measure(
            f"onepass learns from {len(batches)} batches", peer,
            lambda: seconds(learn), lambda: seconds(learn_encoder),
        ),
    ]  # fmt: skip


def test_rows(source: str, config: str, count: int) -> Dataset:
    """Frame rows of evenly spaced dialogues of the test split."""
    dialogues = load(config, "test", source)
    count = min(count, len(dialogues))
    return frames(dialogues.select([len(dialogues) * i // count for i in range(count)]))


def calls_of_encoder(work: Callable[[], None]) -> list[tuple[OnePassModel, Tensors]]:
    """The models and batches that are encoded while some work is done."""
    calls: list[tuple[OnePassModel, Tensors]] = []
    encode = OnePassModel.encode

    def recorded(model: OnePassModel, batch: Tensors) -> torch.Tensor:
        calls.append((model, batch))
        return encode(model, batch)

    with mock.patch.object(OnePassModel, "encode", recorded):
        work()
    return calls


def seconds(work: Callable[[], object]) -> float:
    """The CPU seconds of some work in this process, of all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def process_seconds(*words: str) -> tuple[float, str]:
    """The CPU seconds of a Python process with its start, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, done.stdout.decode()


if __name__ == "__main__":
    main()
