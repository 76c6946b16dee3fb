"""One rule for what can be said of a loss or a difference, with its three ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from sgdx_eval.verdict import gate, sureness
from sgdx_metric.core import Scores
from sgdx_metric.units import Items

METRICS = {"call": "call", "none": "no-call"}


def scores(original: Sequence[float], reworded: Sequence[float], metric: str = "call") -> Scores:
    """Cases that stand alone, under the original and one other wording."""
    count = len(original)
    ids = pa.array(map(str, range(count)), pa.string())
    names = np.array([""] * count, dtype=object)
    items = Items(ids, np.arange(count), np.arange(count), names, {})
    return Scores(["original", "v1"], items, {metric: np.array([original, reworded])})


@pytest.mark.parametrize(
    ("lost", "cases", "end"),
    [
        (20, 20, "failed"),
        (6, 6, "failed"),
        (5, 5, "cannot tell"),  # of so few nothing can be told
        (1, 1, "cannot tell"),
        (0, 20, "passed"),
        (1, 20, "passed"),  # the interval reaches 0
    ],
)
def test_a_loss_of_some_cases(lost: int, cases: int, end: str) -> None:
    reworded = [0.0] * lost + [1.0] * (cases - lost)
    verdict = gate(scores([1.0] * cases, reworded), METRICS, 3, {})
    assert verdict.end == end
    assert verdict.status == {"passed": 0, "failed": 1, "cannot tell": 2}[end]


def test_a_loss_whose_interval_reaches_below_the_limit() -> None:
    """Six of twenty are lost, 30 points that chance does not explain; the interval begins at 10."""
    lost = scores([1.0] * 20, [0.0] * 6 + [1.0] * 14)
    assert [gate(lost, METRICS, limit, {}).end for limit in (5, 20)] == ["failed", "passed"]


def test_the_whole_interval_has_to_be_above_the_limit() -> None:
    """All twenty lose a half, so that the interval is 50 to 50 points."""
    halved = scores([1.0] * 20, [0.5] * 20)
    ends = [gate(halved, METRICS, limit, {}).end for limit in (49.9, 50, 50.1)]
    assert ends == ["failed", "passed", "passed"]


def test_what_cannot_be_told() -> None:
    lost = scores([1.0] * 20, [0.0] * 20)
    assert gate(lost, METRICS, 3, {"v1": (3, 20)}).end == "cannot tell"  # invalid answers
    assert gate(lost, METRICS, 3, {"v1": (2, 20)}).end == "failed"
    assert gate(scores([0.0] * 20, [0.0] * 20), METRICS, 3, {}).end == "cannot tell"
    alone = Scores(["v1"], lost.items, {"call": lost.metrics["call"][:1]})
    assert gate(alone, METRICS, 3, {}).end == "cannot tell"


def test_cases_that_expect_no_call_count_too() -> None:
    """Of the cases without a call all are lost, and of those with one none is."""
    both = scores([1.0] * 20, [1.0] * 20)
    none = np.full((2, 20), np.nan)
    none[:, :8] = [[1.0] * 8, [0.0] * 8]
    call = np.where(np.isnan(none), both.metrics["call"], np.nan)
    verdict = gate(Scores(both.wordings, both.items, {"call": call, "none": none}), METRICS, 3, {})
    assert verdict.end == "failed" and "no-call" in verdict.why


def test_few_cases_without_a_call_hide_nothing_of_those_with_one() -> None:
    """Four cases with a call are lost, of which nothing can be told; ten without pass."""
    call, none = np.full((2, 14), np.nan), np.full((2, 14), np.nan)
    call[:, :4], none[:, 4:] = [[1.0], [0.0]], 1.0
    both = Scores(
        ["original", "v1"], scores([1.0] * 14, [1.0] * 14).items, {"call": call, "none": none}
    )
    verdict = gate(both, METRICS, 3, {})
    assert verdict.end == "cannot tell" and "no-call" not in verdict.why


def test_a_difference_that_interval_and_p_do_not_agree_on() -> None:
    sure, open_, chance = (
        sureness([0.1, 0.2], 0.01, 9), sureness([0.1, 0.2], 0.06, 9), sureness([-0.1, 0.2], 0.3, 9)
    )  # fmt: skip
    assert len({sure, open_, chance, sureness([-0.1, 0.2], 0.01, 5), sureness(None, None, 9)}) == 5
    assert open_ == sureness([-0.1, 0.2], 0.04, 9)
