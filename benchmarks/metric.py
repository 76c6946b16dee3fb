"""Speed and memory of the metric, against the rules written down directly and against JSON itself.

    python -m benchmarks.metric                       # invented frames, as many as SGD's test split
    python -m benchmarks.metric --source PATH         # the release's frames, gold with errors

The peer is tests/sgdx_metric/slow.py: the official scorer's loops over frames and slots, with
fuzzywuzzy on its C backend. Every way reads the same rows, and their results are compared.
The whole command `score` is timed by benchmarks.score.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import evaluate
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from sgdx_metric.cli.predictions import read_predictions
from sgdx_metric.cli.reference_folder import open_folder
from sgdx_metric.cli.references import open_references
from sgdx_metric.report import ALL, group_means, report
from sgdx_metric.rows import REFERENCE
from sgdx_metric.scoring import FrameScores, score_frames
from tests.sgdx_metric import slow
from tests.sgdx_metric.frames import with_errors

ROOT = Path(__file__).parents[1]
VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")
Row = dict[str, Any]
T = TypeVar("T")
_WORDS = (
    "the new old grand royal blue house garden station bar cafe of at street park north".split()
)


def main() -> None:
    """Make or read the frames, time every way in turn, print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.metric", description=__doc__)
    parser.add_argument("--source", help="a copy of the SGD release; default: invented frames")
    parser.add_argument("--frames", type=int, default=26802, help="how many frames to invent")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_frames(Path(folder), options.source, options.frames)
        for table in (parity, speed, memory):
            Console(width=110).print(table(Path(folder)))


def write_frames(folder: Path, source: str | None, count: int) -> None:
    """Fill `folder` with <variant>.parquet, the references, and <variant>.jsonl, predictions."""
    references = open_references(source, "test", {}) if source else None
    for variant in VARIANTS:
        path = folder / f"{variant}.parquet"
        if references:
            table = references.frames(variant)
        else:
            table = pa.Table.from_pylist([invented(i, variant) for i in range(count)], REFERENCE)
        pq.write_table(table, path)
        chance = random.Random(variant)  # noqa: S311
        guesses = (with_errors(row, chance) for row in table.to_pylist())
        lines = msgspec.json.Encoder().encode_lines(guesses)
        (folder / f"{variant}.jsonl").write_bytes(lines)


def invented(index: int, variant: str) -> Row:
    """A frame with nine slots, about half of them with a value, the same for every variant."""
    chance = random.Random(index)  # noqa: S311
    slots = [{"name": f"slot_{i}_{variant}", "is_categorical": i % 3 == 0} for i in range(9)]
    values = [
        {"slot": slot["name"], "values": [_value(chance) for _ in range(chance.randint(1, 2))]}
        for slot in slots
        if chance.random() < 0.5
    ]
    service = f"Service_{index % 21}"
    return {
        "frame_id": f"{index // 9}/{2 * (index % 9)}/{service}",
        "variant": variant,
        "service": service + variant[1:],
        "seen": index % 21 < 6,
        "active_intent": "Find",
        "requested_slots": ["slot_1"] if chance.random() < 0.1 else [],
        "slot_values": values,
        "schema_slots": slots,
    }


def _value(chance: random.Random) -> str:
    return " ".join(chance.sample(_WORDS, chance.randint(1, 3)))


def speed(folder: Path) -> Table:
    """Seconds of each way, and how many times faster than the peer it is."""
    tables = {name: _tables(folder, name) for name in VARIANTS}
    pair = tables["v1"]
    references, predictions = (table.to_pylist() for table in pair)
    metric = evaluate.load(str(ROOT / "sgdx_metric"))

    peer, expected = timed(lambda: slow.group_means(references, predictions))
    arrays, scores = timed(lambda: score_frames(*pair, "v1"))
    through, result = timed(lambda: metric.compute(predictions=predictions, references=references))
    six, _ = timed(lambda: report(_scored(tables)))
    files, _ = timed(lambda: report(_read_and_scored(folder, len(VARIANTS))))
    goal = expected[ALL]["joint_goal_accuracy"]
    for accuracy in (
        scores.scores["joint_goal_accuracy"].mean(),
        result["sgdx"]["by_variant"]["v1"],
    ):
        assert abs(accuracy - goal) < 1e-9, (accuracy, goal)

    table = Table(title=f"{len(references):,} frames a variant, best of 3, JGA {100 * goal:.2f} %")
    table.add_column("way")
    for name in ("variants", "seconds", "against the direct rules"):
        table.add_column(name, justify="right")
    table.add_row("the rules written down directly, fuzzywuzzy", "1", f"{peer:.3f}", "1.0x")
    table.add_row("score_frames, from Arrow tables", "1", f"{arrays:.3f}", f"{peer / arrays:.1f}x")
    table.add_row(
        "metric.compute, from Python rows", "1", f"{through:.3f}", f"{peer / through:.1f}x"
    )
    table.add_row("score_frames and report with SS", "6", f"{six:.3f}", f"{6 * peer / six:.1f}x")
    table.add_row("the same, files read too", "6", f"{files:.3f}", f"{6 * peer / files:.1f}x")
    return table


def parity(folder: Path) -> Table:
    """Every variant's scores both ways, and the largest difference of any metric of any group."""
    table = Table(title="Parity with the rules written down directly, in %")
    for name in ("variant", "JGA direct", "JGA here", "scores compared", "largest difference"):
        table.add_column(name, justify="right")
    for variant in VARIANTS:
        pair = _tables(folder, variant)
        direct = slow.group_means(*(rows.to_pylist() for rows in pair))
        means_here = group_means(score_frames(*pair, variant))
        assert set(means_here) == set(direct)
        gaps = [
            abs(mean - (means_here[group][metric] or 0))
            for group, means in direct.items()
            for metric, mean in means.items()
        ]
        goals = [100 * (way[ALL]["joint_goal_accuracy"] or 0) for way in (direct, means_here)]
        table.add_row(
            variant, *(f"{goal:.6f}" for goal in goals), str(len(gaps)), f"{max(gaps):.0e}"
        )
    return table


def timed(work: Callable[[], T], times: int = 3) -> tuple[float, T]:
    """The shortest of several runs in seconds, and the last result."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def _tables(folder: Path, variant: str) -> tuple[pa.Table, pa.Table]:
    references = open_folder(folder, [variant]).frames(variant)
    return references, read_predictions(folder / f"{variant}.jsonl", "test", variant).rows


def _scored(tables: dict[str, tuple[pa.Table, pa.Table]]) -> dict[str, FrameScores]:
    return {name: score_frames(*pair, name) for name, pair in tables.items()}


def _read_and_scored(folder: Path, number: int) -> dict[str, FrameScores]:
    return {name: score_frames(*_tables(folder, name), name) for name in VARIANTS[:number]}


def memory(folder: Path) -> Table:
    """Peak memory of a process that scores 1, 2, 4 or 6 variants, one after the other."""
    table = Table(title="Peak memory of a process of its own")
    table.add_column("variants", justify="right")
    table.add_column("MiB", justify="right")
    for number in (1, 2, 4, 6):
        table.add_row(str(number), _in_its_own_process(peak, folder, number))
    return table


def peak(folder: Path, number: int) -> int:
    """Score the first `number` variants; this process's peak resident memory in MiB (Linux)."""
    report(_read_and_scored(folder, number))
    # Not getrusage's, which a new process inherits from its parent.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def _in_its_own_process(work: Callable[[Path, int], int], *arguments: Path | int) -> str:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return str(pool.submit(work, *arguments).result())  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
