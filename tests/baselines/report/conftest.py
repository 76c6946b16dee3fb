"""Runs to report on: the sample's gold states with errors that a test chooses."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from baselines.report.data import Data, open_source
from sgdx_metric.cli.files import write_scores
from sgdx_metric.report import paired, report
from sgdx_metric.rows import PREDICTION
from sgdx_metric.scoring import score_frames
from sgdx_metric.signature import Setup

VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")
Row = dict[str, Any]
Change = Callable[[str, Row], None]  # a variant's name and a prediction row that is changed


@pytest.fixture(scope="session")
def sample() -> Data:
    """The sample's test split."""
    return open_source("sample", "test")


@pytest.fixture(scope="session")
def gold(sample: Data) -> dict[str, list[Row]]:
    """The gold states of the sample's test split as prediction rows, by variant."""
    columns = PREDICTION.names[:5]
    return {name: sample.frames(name).select(columns).to_pylist() for name in VARIANTS}


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
    folder: Path, data: Data, gold: dict[str, list[Row]], change: Change, **facts: Any
) -> Path:
    """Write a run folder as ``baselines.evaluate`` does.

    Args:
        folder: Where to.
        data: What the predictions are scored on.
        gold: What they are made from.
        change: What is wrong in them.
        facts: What the predictions say about the tracker.
    """
    (folder / "predictions").mkdir(parents=True)
    header = {"split": "test", "system_acts": False, **facts}
    scores = {}
    for variant, rows in gold.items():
        changed = json.loads(json.dumps(rows))
        for row in changed:
            change(variant, row)
        lines = [{"metadata": {**header, "variant": variant}}, *changed]
        text = "\n".join(map(json.dumps, lines))
        (folder / "predictions" / f"{variant}.jsonl").write_text(text, encoding="utf-8")
        table = PREDICTION.empty_table().from_pylist(changed, PREDICTION)
        scores[variant] = score_frames(data.frames(variant), table, variant)
    result = report(scores, Setup("test", "sample", system_acts="no"))
    write_scores(result | {"paired": paired(scores)}, folder / "scores.json")
    record = {"evaluation": {**header, "source": "sample", "configs": list(gold)}}
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    return folder


AUGMENT = {"schemas": "backtrans", "ratio": 1.0, "seed": 0}


@pytest.fixture(scope="session")
def runs(
    tmp_path_factory: pytest.TempPathFactory, sample: Data, gold: dict[str, list[Row]]
) -> dict[str, Path]:
    """Two seeds of a tracker without augmentation and one with, and one of random weights."""
    root = tmp_path_factory.mktemp("runs")

    def run(name: str, seed: int, rate: float, **facts: Any) -> Path:
        facts = {"tracker": "t5dst", "seed": seed, "oracle": False, **facts}
        return write_run(root / name, sample, gold, forget(seed, rate), **facts)

    return {
        "plain-0": run("plain-0", 0, 0.03, augment=None, train=["original"]),
        "plain-1": run("plain-1", 1, 0.04, augment=None, train=["original"]),
        "backtrans": run("backtrans", 0, 0.01, augment=AUGMENT, train=["original", "backtrans-zh"]),
        "tiny": run("tiny", 0, 0.08, tracker="sgp_dst", parts={"intent": {"model": "tiny"}}),
    }
