"""Runs to report on: the sample's gold states with errors that a test chooses."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgdx_cli import main
from sgdx_eval.gold import Gold, open_gold
from sgdx_eval.report.runs import Group, group_runs, read_run
from sgdx_eval.result import write_result
from sgdx_metric.figures import figures
from sgdx_metric.result import Result
from sgdx_metric.rows import PREDICTION
from sgdx_metric.scoring import STATE_METRICS, frame_scores, score_frames, state_signature
from sgdx_metric.signature import Setup

from ...conftest import ROOT
from ...sgdx_metric.frames import written

VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")
Row = dict[str, Any]
Change = Callable[[str, Row], None]  # a variant's name and a prediction row that is changed


@pytest.fixture(scope="session")
def sample() -> Gold:
    """The sample's test split."""
    return open_gold("sample", "test")


def forget(seed: int, rate: float) -> Change:
    """Leave out slots at random, always the same ones, and more of them under later variants."""

    def change(variant: str, row: Row) -> None:
        chance = rate * (1 + VARIANTS.index(variant))
        row["slot_values"] = [
            item
            for place, item in enumerate(row["slot_values"])
            if zlib.crc32(f"{seed}/{row['frame_id']}/{place}/{variant}".encode()) / 2**32 > chance
        ]

    return change


def write_run(
    folder: Path, data: Gold, gold: dict[str, list[Row]], change: Change, **metadata: Any
) -> Path:
    """Write a run as `baselines.evaluate` does, of changed gold rows; `metadata` is the system."""
    (folder / "predictions").mkdir(parents=True)
    oracle = metadata.pop("oracle", False)
    system = {"system_acts": False, **metadata}
    header = {"split": "test", "source": "sample", "oracle": oracle, "system": system}
    scores = {}
    for variant, rows in gold.items():
        changed = json.loads(json.dumps(rows))
        for row in changed:
            change(variant, row)
        written(folder / "predictions" / f"{variant}.jsonl", changed, **header, variant=variant)
        table = PREDICTION.empty_table().from_pylist(changed, PREDICTION)
        scores[variant] = score_frames(data.rows(variant), table, variant)
    setup = Setup("test", "sample", system_acts="no")
    items = frame_scores(scores)
    result = Result(
        task="state",
        signature=state_signature(items, setup, 36),
        figures=figures(items, STATE_METRICS),
        systems={variant: {**header, "variant": variant} for variant in gold},
    )
    write_result(result, items, folder / "scores.json")
    return folder


AUGMENT = {"schemas": "backtrans", "ratio": 1.0, "seed": 0}


@pytest.fixture(scope="session")
def runs(
    tmp_path_factory: pytest.TempPathFactory, sample: Gold, gold: dict[str, list[Row]]
) -> dict[str, Path]:
    """Two seeds of a tracker without augmentation and one with, and one of random weights."""
    root = tmp_path_factory.mktemp("runs")

    def run(name: str, seed: int, rate: float, **metadata: Any) -> Path:
        metadata = {"tracker": "t5dst", "seed": seed, "oracle": False, **metadata}
        return write_run(root / name, sample, gold, forget(seed, rate), **metadata)

    return {
        "plain-0": run("plain-0", 0, 0.03, augment=None, train=["original"]),
        "plain-1": run("plain-1", 1, 0.04, augment=None, train=["original"]),
        "backtrans": run("backtrans", 0, 0.01, augment=AUGMENT, train=["original", "backtrans-zh"]),
        "tiny": run("tiny", 0, 0.08, tracker="sgp_dst", parts={"intent": {"model": "tiny"}}),
    }


def values(row: Row) -> dict[str, list[str]]:
    """The state of a row: the values of each slot."""
    return {item["slot"]: item["values"] for item in row["slot_values"]}


def with_state(row: Row, state: dict[str, list[str]]) -> None:
    """Give a row a state."""
    row["slot_values"] = [{"slot": slot, "values": value} for slot, value in state.items()]


def only_group(*paths: Path) -> Group:
    """The systems of runs that all compare."""
    (group,) = group_runs(list(map(read_run, paths)))
    return group


@pytest.fixture(scope="session")
def group(runs: dict[str, Path]) -> Group:
    """The systems of ``runs``, which all compare."""
    return only_group(*runs.values())


def scores_of(run: Path) -> dict[str, Any]:
    """What scores.json of a run has."""
    scores: dict[str, Any] = json.loads((run / "scores.json").read_text())
    return scores


def reported(*arguments: object) -> int:
    """The exit status of the command."""
    words = ["report", *map(str, arguments)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sgdx", *words])
        return main(words)


HOSTILE = (
    "</script><script>document.title='hacked'</script><img src=x onerror=alert(1)>|`\x1b[31m\u202e"
)


@pytest.fixture(scope="session")
def hostile(
    tmp_path_factory: pytest.TempPathFactory, sample: Gold, gold: dict[str, list[Row]]
) -> Path:
    """A run whose predictions, and what they say of themselves, try to break the page."""

    def change(variant: str, row: Row) -> None:
        if variant != "original" and row["slot_values"]:
            row["slot_values"][0]["values"] = [HOSTILE + "x" * 5000]

    folder = tmp_path_factory.mktemp("hostile") / "run"
    return write_run(folder, sample, gold, change, tracker=f"$bad$ {HOSTILE}", seed=0)


WITHOUT_TORCH = """
import sys
for name in ("torch", "transformers", "accelerate"):
    sys.modules[name] = None
from sgdx_cli import main
sys.exit(main(["report", *sys.argv[1:]]))
"""


@pytest.fixture(scope="session")
def made(runs: dict[str, Path], hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of all runs, made by a process in which an import of torch would fail."""
    folder = tmp_path_factory.mktemp("made") / "report"
    broken = tmp_path_factory.mktemp("broken")
    words = map(str, (*runs.values(), hostile, broken, "--output", folder))
    process = [sys.executable, "-c", WITHOUT_TORCH, *words]
    done = subprocess.run(process, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert "found no scores.json" in line and line.endswith("this run is left out")
    assert len(done.stdout.splitlines()) == 9  # two pages, the errors, three pictures twice
    return folder
