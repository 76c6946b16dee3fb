"""An interval that holds for few cases: at a true loss of the limit, at most 3 % of gates fail."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb

import numpy as np
import pytest

from sgdx_metric.statistics import bounded_interval

LIMITS = (0.0, 0.03, 0.1, 0.2)


@cache
def lower(cases: int, *values: tuple[float, int]) -> float:
    """The lower end for some cases with other values than 0, each with how many have it."""
    total = np.zeros(cases)
    for value, count in values:
        zero = np.flatnonzero(total == 0)[:count]
        total[zero] = value
    return bounded_interval(total, np.ones(cases), -1.0, 1.0)[0]


@pytest.mark.parametrize("cases", [6, 10, 20])
def test_a_true_loss_of_the_limit_fails_in_three_of_a_hundred_runs_at_most(cases: int) -> None:
    """Each case is lost, won or neither: the exact probability, however many are won."""
    for limit in LIMITS:
        for won in np.linspace(0.0, (1 - limit) / 2, 6):
            lost, fails = limit + won, 0.0
            for b in range(1, cases + 1):
                for c in range(min(b, cases - b + 1)):
                    rest = max(1 - lost - won, 0.0) ** (cases - b - c)
                    chance = comb(cases, b) * comb(cases - b, c) * lost**b * won**c * rest
                    if chance > 1e-7 and lower(cases, (1.0, b), (-1.0, c)) > limit:
                        fails += chance
            assert fails < 0.03, (limit, won)


@pytest.mark.slow
@pytest.mark.parametrize("cases", [6, 10, 20, 40, 100])
@pytest.mark.parametrize("limit", LIMITS)
def test_so_few_fail_under_several_variants_too(cases: int, limit: float) -> None:
    """Under five variants a case loses a fifth, two, and so on; 500 runs of each kind."""
    random = np.random.default_rng(1)
    values = np.arange(-5, 6) / 5
    for weight in (0.0, 0.5, 2.0):  # of large losses beside small ones
        chances = np.exp(weight * np.abs(values)) * (values != 0)
        chances = np.where(values > 0, chances, 0.3 * chances)
        share = limit / (chances / chances.sum() @ values) or 0.3
        chances = share * chances / chances.sum()
        if not limit:
            chances = (chances + chances[::-1]) / 2
        chances[values == 0] = 1 - chances.sum()
        if chances.min() < 0:
            continue
        fails = 0
        for counts in random.multinomial(cases, chances, size=500):
            drawn = [(float(v), int(n)) for v, n in zip(values, counts) if v and n]
            if counts @ values / cases > limit:  # else the lower end is not above it
                fails += lower(cases, *drawn) > limit
        assert fails <= 0.03 * 500, (weight, fails)


def test_of_dialogues_of_several_cases_so_few_fail_too() -> None:
    """All cases of a dialogue are lost together, in dialogues of one to five cases."""
    random, fails = np.random.default_rng(2), 0
    for _ in range(200):
        number = random.integers(1, 6, size=12).astype(float)
        total = number * (random.random(12) < 0.1)
        fails += bounded_interval(total, number, -1.0, 1.0)[0] > 0.1
    assert fails <= 6


@pytest.mark.parametrize(
    ("total", "cases", "ends"),
    [
        ([0], 10, [0.0, 0.308]),  # Clopper and Pearson's 0 of 10, 3 of 10, 10 of 10
        ([1, 1, 1], 10, [0.067, 0.652]),
        ([1] * 10, 10, [0.692, 1.0]),
    ],
)
def test_of_right_and_wrong_it_is_that_of_clopper_and_pearson(
    total: Sequence[float], cases: int, ends: Sequence[float]
) -> None:
    values = np.zeros(cases)
    values[: len(total)] = total
    assert bounded_interval(values, np.ones(cases), 0.0, 1.0) == pytest.approx(ends, abs=0.004)
