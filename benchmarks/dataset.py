"""``python -m benchmarks.dataset --source PATH``: the dataset's speed beside ``json.load``.

The yardstick is ``json.load`` of every dialogue; what no way of preparing can go without is to
inflate the dialogues and to parse them. The peer does what the release's own converter does (parse,
copy, rename in place, dump JSON with an indent), in plain Python without TensorFlow's file layer,
for one config. Every line is a process of its own; its seconds are CPU seconds, which other work on
the machine changes less than those of a clock, and memory is that process's peak.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sgdx_dataset.hub.build import build
from sgdx_dataset.hub.prepare import prepare_release
from sgdx_dataset.io.memory import many_objects
from sgdx_dataset.release.dialogue import Frame, read_dialogues
from sgdx_dataset.release.open import open_release
from sgdx_dataset.release.release import Release
from sgdx_dataset.release.schema import SPLITS
from sgdx_dataset.rows.dialogue_rows import read_split


def convert_plainly(release: Release, folder: Path) -> None:
    """The peer: v1 as JSON files, by the release's own rules."""
    from tests.sgdx_dataset.converter import convert

    for split, name in SPLITS.items():
        original, variant = (
            json.loads(release.read(release.schema_file(split, c))) for c in ("original", "v1")
        )
        for file in release.dialogue_files(split):
            made = [convert(d, original, variant) for d in json.loads(release.read(file))]
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(json.dumps(made, indent=2, sort_keys=True))


def inflate(release: Release, _: Path) -> None:
    """Inflate every dialogue file."""
    for split in SPLITS:
        for file in release.dialogue_files(split):
            release.read(file)


def load_json(release: Release, _: Path) -> None:
    """The yardstick: inflate every dialogue file and ``json.load`` it."""
    for split in SPLITS:
        for file in release.dialogue_files(split):
            json.loads(release.read(file))


def parse_typed(release: Release, _: Path) -> None:
    """Inflate every dialogue file and parse it into records of the release's types."""
    for split in SPLITS:
        for file in release.dialogue_files(split):
            with many_objects():
                read_dialogues(release.read(file), file, Frame)


def parse(release: Release, _: Path) -> None:
    """Inflate and parse every dialogue into columns, from which every config is made."""
    for split in SPLITS:
        read_split(release, split)


def prepare_six(release: Release, folder: Path) -> None:
    """``prepare``: original and v1..v5 in the Hugging Face cache."""
    prepare_release(release, [c for c in release.configs() if c != "backtrans"], folder)


def build_all(release: Release, folder: Path) -> None:
    """``build``: all configs that the source has as Parquet, and the card."""
    build(release, folder / "hub")


def stream_first(_: Release, folder: Path) -> None:
    """The first row of a config streamed from a built repository."""
    import datasets

    next(iter(datasets.load_dataset(str(folder / "hub"), "v3", split="train", streaming=True)))


TASKS: dict[str, Callable[[Release, Path], None]] = {
    "plain conversion, 1 config": convert_plainly,
    "inflate": inflate,
    "json.load": load_json,
    "inflate and parse, typed": parse_typed,
    "the same into columns": parse,
    "prepare, 6 configs": prepare_six,
    "build, all configs": build_all,
    "first streamed row": stream_first,
}


def main() -> None:
    """Run every task, or the one named, which is how this script calls itself."""
    parser = argparse.ArgumentParser("python -m benchmarks.dataset", description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(_measure(options.task, options.source, options.folder)))
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = {}
        for task in TASKS:
            command = [
                sys.executable,
                "-m",
                "benchmarks.dataset",
                "--source",
                options.source,
                "--task",
                task,
            ]
            done = subprocess.run([*command, "--folder", folder], capture_output=True, check=True)
            figures[task] = json.loads(done.stdout.splitlines()[-1])
        parquet, arrow = (
            sum(p.stat().st_size for p in Path(folder).rglob(f"*.{ending}"))
            for ending in ("parquet", "arrow")
        )
    _print(figures, parquet, arrow)


def _measure(task: str, source: str, folder: Path) -> tuple[float, float]:
    """CPU seconds, and peak resident megabytes."""
    release = open_release(source)
    gc.freeze()  # what is imported here costs no task a search for garbage
    start = time.process_time()
    TASKS[task](release, folder)
    seconds = time.process_time() - start
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _print(figures: dict[str, tuple[float, float]], parquet_bytes: int, arrow_bytes: int) -> None:
    table = Table("task", "CPU seconds", "peak MB", "times json.load")
    yardstick = figures["json.load"][0]
    for task, (seconds, peak) in figures.items():
        table.add_row(task, f"{seconds:.1f}", f"{peak:.0f}", f"{seconds / yardstick:.2f}")
    console = Console(width=100)
    console.print(table)
    ratio = figures["plain conversion, 1 config"][0] / (figures["prepare, 6 configs"][0] / 6)
    console.print(f"prepare is {ratio:.1f} times as fast per config as the plain conversion")
    console.print(f"Parquet of all configs: {parquet_bytes / 1e6:.1f} MB")
    console.print(f"the cache of six configs: {arrow_bytes / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
