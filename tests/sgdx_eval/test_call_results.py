"""Calls in `compare` and `summarise`: two systems' calls in three dialogues, worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sgdx_metric.calls import CALL_METRICS, CallScores, report_calls
from sgdx_metric.robustness import paired
from sgdx_metric.signature import Setup

# Dialogue a has two calls of a seen service, b and c have one of an unseen one each.
FRAMES = ["a/0/Cabs_1", "a/2/Cabs_1", "b/0/Zoos_1", "c/0/Zoos_1"]
FIRST = {"original": [1, 1, 1, 1], "v1": [1, 0, 1, 1], "v2": [1, 0, 0, 1]}


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
