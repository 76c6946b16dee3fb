"""``python -m benchmarks.score --source PATH``: the whole command ``score`` beside ``json.load``.

The command scores six variants of the test split from a folder of predictions, gold with errors and
with spans. The yardstick is ``json.load`` of the release's dialogues, of all splits and of test
alone, by a process that does nothing else. The other lines are what scoring cannot go
without: imports, inflating, digests, and parsing both sides. Every line is a process of its own.
Its seconds are CPU seconds, which other work on the machine changes less than those of a clock, and
the least of several rounds, in which all lines take turns.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from sgdx_dataset import open_release
from sgdx_dataset.io.memory import many_objects
from sgdx_dataset.release.dialogue import BriefFrame, read_dialogues
from sgdx_metric.rows import Prediction

# Prepares work on a source and a folder of predictions, and gives it back to be timed.
Task = Callable[[str, Path], Callable[[], object]]
ROOT = Path(__file__).parents[1]
WHOLE, TEST = "json.load of all dialogues", "json.load of the test dialogues"
SCORE, IMPORTS = "score, 6 variants", "imports: score --help"


def load_json(*splits: str) -> Task:
    """The yardstick: inflate and ``json.load`` the dialogues of some splits."""

    def task(source: str, _: Path) -> Callable[[], object]:
        release = open_release(source)
        files = [file for split in splits for file in release.dialogue_files(split)]
        gc.freeze()  # What is imported here costs no search for garbage.
        return lambda: [json.loads(release.read(file)) and None for file in files]

    return task


def inflate(source: str, _: Path) -> Callable[[], object]:
    """Inflate the test dialogues and take their digests."""
    release = open_release(source)
    files = release.dialogue_files("test")
    return lambda: [release.read_with_digest(file)[1] for file in files]


def parse_gold(source: str, _: Path) -> Callable[[], object]:
    """Parse the test dialogues into records of what scoring reads."""
    release = open_release(source)
    contents = [(*release.read_with_digest(f), f) for f in release.dialogue_files("test")]

    def work() -> None:
        for content, sha256, file in contents:
            with many_objects():
                read_dialogues(content, file, BriefFrame, sha256)

    return work


def read_predictions(_: str, folder: Path) -> Callable[[], object]:
    """Read the files of predictions and take their digests."""
    paths = list(folder.glob("*.jsonl"))
    return lambda: [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


def parse_predictions(_: str, folder: Path) -> Callable[[], object]:
    """Parse the predictions into typed records."""
    contents = [path.read_bytes() for path in folder.glob("*.jsonl")]
    decoder = msgspec.json.Decoder(Prediction)

    def work() -> None:
        for content in contents:
            with many_objects():
                decoder.decode_lines(content)

    return work


TASKS: dict[str, Task] = {
    WHOLE: load_json("train", "validation", "test"),
    TEST: load_json("test"),
    "test dialogues: inflate, digest": inflate,
    "test dialogues: parse, typed": parse_gold,
    "predictions: read, digest": read_predictions,
    "predictions: parse, typed": parse_predictions,
}


def main() -> None:
    """Time every line in each round, or one of them, which is how this script calls itself."""
    parser = argparse.ArgumentParser("python -m benchmarks.score", description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--predictions", type=Path, help="a folder of them; default: made here")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        work = TASKS[options.task](options.source, options.predictions)
        start = time.process_time()
        work()
        print(time.process_time() - start)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.predictions or Path(temporary)
        if not options.predictions:
            from .metric import write_frames

            write_frames(folder, options.source, 0)
        rounds = [_measure(options.source, folder, Path(temporary)) for _ in range(options.rounds)]
    _print({line: min(seconds[line] for seconds in rounds) for line in rounds[0]})


def _measure(source: str, folder: Path, output: Path) -> dict[str, float]:
    """CPU seconds of every line, once."""
    score = [sys.executable, "-m", "sgdx_metric", "score"]
    files = ["--predictions", str(folder), "--source", source, "--output", "scores.json"]
    seconds = {}
    for task in TASKS:
        words = [sys.executable, "-m", "benchmarks.score", "--source", source, "--task", task]
        seconds[task] = float(_run([*words, "--predictions", str(folder)], ROOT)[1].split()[-1])
    seconds[IMPORTS] = _run([*score, "--help"], output)[0]
    seconds[SCORE] = _run([*score, *files], output)[0]
    return seconds


def _run(words: list[str], folder: Path) -> tuple[float, str]:
    """The CPU seconds of a process with its start, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stdout.decode()


def _print(seconds: dict[str, float]) -> None:
    table = Table("line", "CPU seconds", "times json.load of all", "of test")
    for line, number in seconds.items():
        ratios = (f"{number / seconds[yardstick]:.2f}" for yardstick in (WHOLE, TEST))
        table.add_row(line, f"{number:.2f}", *ratios)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
