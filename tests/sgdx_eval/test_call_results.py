"""Calls in `compare` and `summarise`: two systems' calls in three dialogues, worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sgdx_eval.files import write_scores
from sgdx_metric.calls import CALL_METRICS, CallScores, report_calls
from sgdx_metric.robustness import paired
from sgdx_metric.signature import Setup

from ..conftest import Run

# Dialogue a has two calls of a seen service, b and c have one of an unseen one each.
FRAMES = ["a/0/Cabs_1", "a/2/Cabs_1", "b/0/Zoos_1", "c/0/Zoos_1"]
FIRST = {"original": [1, 1, 1, 1], "v1": [1, 0, 1, 1], "v2": [1, 0, 0, 1]}
SECOND = {name: [1, 1, 1, 0] for name in FIRST}
Write = Callable[..., Path]


def scores_of(accuracy: dict[str, list[int]], **others: Any) -> dict[str, Any]:
    variants = {
        name: CallScores(
            pa.array(FRAMES),
            np.array([True, True, False, False]),
            dict.fromkeys(CALL_METRICS, np.array(row, dtype=float)),
            None,
        )
        for name, row in accuracy.items()
    }
    scores = report_calls(variants, 3, Setup("test", "sample", **others))
    return scores | {"paired": paired(variants, CALL_METRICS)}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, accuracy: dict[str, list[int]], **others: Any) -> Path:
        path = tmp_path / name
        write_scores(scores_of(accuracy, **others), path)
        return path

    return written


def test_figures_by_hand() -> None:
    scores = scores_of(FIRST)
    call, task = scores["calls"]["call_accuracy"], scores["calls"]["task_success"]
    assert {key: call[key] for key in ("original", "reworded", "drop", "worst", "flips")} == {
        "original": 1, "reworded": 0.625, "drop": -0.375, "worst": 0.5, "flips": 0.5,
    }  # fmt: skip
    # Under v1 and v2 the third call alone varies: 1 and 0, mean 0.5, sample deviation 0.7071.
    assert call["sensitivity"] == pytest.approx(2**0.5 / 4)
    assert (task["original"], task["reworded"], task["drop"]) == (1, 0.5, -0.5)
    assert (task["worst"], task["flips"]) == pytest.approx((1 / 3, 2 / 3))
    services = call["by_service"]
    assert {name: (s["frames"], s["worst"]) for name, s in services.items()} == {
        "Cabs_1": (2, 0.5), "Zoos_1": (2, 0.5),
    }  # fmt: skip


def test_compare(write: Write, command: Run) -> None:
    paths = write("first.json", FIRST), write("second.json", SECOND)
    done = command("sgdx_metric", "compare", *paths, "--json", "c.json")
    assert done.returncode == 0, done.stderr
    result = json.loads(Path("c.json").read_text())
    figures = result["groups"]["all"]
    assert figures["frames"] == 4
    reworded = figures["call_accuracy.reworded"]
    assert (reworded["first"], reworded["second"], reworded["difference"]) == (0.625, 0.75, 0.125)
    # Drawn with replacement, all three are c, which the second loses, in one of 27 draws; where
    # none is c, half of what is left is won.
    assert reworded["interval"] == [-1, 0.5]
    # By dialogue the second wins 1, wins 0.5, loses 1: whatever is swapped, 0.5 or more is left.
    assert reworded["p"] == 1
    drop = figures["call_accuracy.drop"]
    assert (drop["first"], drop["second"], drop["difference"]) == (-0.375, 0, 0.375)
    assert figures["task_success.worst"]["difference"] == pytest.approx(1 / 3)
    assert figures["call_accuracy.flips"]["second"] == 0
    assert result["groups"]["seen"]["call_accuracy.reworded"]["difference"] == 0.5
    assert result["groups"]["Zoos_1"]["task_success.reworded"]["first"] == 0.75
    assert result["by_variant"]["v2"]["first"] == 0.5
    assert "By call reworded second is better than first by 12.50 points" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("call drop")]
    assert line.split()[:5] == ["call", "drop", "-37.50", "0.00", "37.50"]
