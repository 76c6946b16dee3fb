"""Intervals and p-values: whole dialogues are drawn, and both are right where that is known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from math import comb

import numpy as np
import pyarrow as pa
import pytest

from sgdx_metric.columns import Floats
from sgdx_metric.figures import JGA as MAIN
from sgdx_metric.figures import of_units, state_figures
from sgdx_metric.signature import OFFICIAL, Rules
from sgdx_metric.statistics import Sample, bounded_interval, compare, drop, mean
from sgdx_metric.units import Scores, index_frames

# Dialogue 1 has two turns, the first of two frames; dialogue 2 has one frame.
IDS = ["1/0/A_1", "1/0/B_1", "1/2/A_1", "2/0/A_1"]
JGA = {
    "original": np.array([1.0, 0.0, 1.0, 0.5]),
    "v1": np.array([1.0, 0.5, 0.0, 1.0]),
    "v2": np.array([1.0, 0.5, 0.0, 0.0]),
}
PLACE = index_frames(pa.array(IDS), np.array([True, False, True, True]))


def sample(rules: Rules = OFFICIAL) -> Sample:
    scores = of_units(Scores([*JGA], PLACE, {MAIN: np.stack([*JGA.values()])}), rules)
    return Sample(state_figures(scores), scores.items.dialogue)


def of_means(means: Floats, frames: int = 1) -> Sample:
    """Dialogues of some equal frames each, whose mean is the only figure [dialogues]."""
    rows, dialogue = np.repeat(means, frames), np.repeat(np.arange(len(means)), frames)
    return Sample([mean("jga", rows)], dialogue)


def test_figures_of_dialogues_and_turns_by_hand() -> None:
    keys = ("jga_orig", "ss_jga", "jga_worst(original+v1+v2)", "flips(original+v1+v2)")
    of_turns = sample(Rules(joint_acc_across_turn=True))
    for place, of, figures in (
        # The worst scores of its frames are 1, 0 and 0; the last two flip; v1 and v2 are equal.
        (0, sample(), (2 / 3, 0, 1 / 3, 2 / 3)),
        # Under v1 and v2 1 and 0.
        (1, sample(), (0.5, 2**0.5, 0, 1)),
        # Turns of 0, 0.5, 0.5 and of 1, 0, 0: the worst is 0, and both are on two sides of 0.5.
        (0, of_turns, (0.5, 0, 0, 1)),
    ):
        values = of.of_sums(of.sums[[place]])[:, 0]
        found = {figure.key: value for figure, value in zip(of.figures, values)}
        assert found == pytest.approx(dict(zip(keys, figures, strict=True)))


def test_means_over_variants_are_of_the_items_that_each_defines() -> None:
    """Under v1 one item is undefined: the mean of 1 and of 1/4, and not the 2/7 of all cells."""
    rows = np.array([[1.0, np.nan, np.nan, np.nan], [1.0, 0.0, 0.0, 0.0]])
    original = np.array([1.0, 1.0, 0.0, 0.0])
    figures = [mean("mean", rows), drop("drop", rows, original)]
    values = Sample(figures, np.arange(4)).values()
    assert values == {"mean": 0.625, "drop": pytest.approx(0.125)}


def test_interval_has_the_width_that_theory_gives() -> None:
    """400 dialogues of 5 equal frames, half of them right: as 400 independent observations."""
    found = of_means(np.repeat([0.0, 1.0], 200), 5).intervals()["jga"]
    width = 1.96 * (0.5 * 0.5 / 400) ** 0.5
    assert found == pytest.approx([0.5 - width, 0.5 + width], abs=0.005)


def test_an_interval_of_equal_dialogues_is_no_point() -> None:
    """Clopper and Pearson's of 10 of 10, 0 of 10; and ten frames of one dialogue prove little."""
    for value, frames, dialogues, ends in (
        (1.0, 1, 10, [0.6915, 1.0]),
        (0.0, 1, 10, [0.0, 0.3085]),
        (1.0, 10, 1, [0.025, 1.0]),
        (0.5, 1, 10, [0.3458, 0.6542]),
    ):
        of = of_means(np.full(dialogues, value), frames)
        assert of.intervals()["jga"] == pytest.approx(ends, abs=1e-4)
    same = Sample([drop("drop", np.ones((2, 10)), np.ones(10))], np.arange(10))
    assert same.intervals()["drop"] == pytest.approx([-0.3085, 0.3085], abs=1e-4)


def test_p_is_the_share_of_swaps_with_as_large_a_difference() -> None:
    random = np.random.default_rng(3)
    first, second = (random.integers(0, 4, 8) / 4 for _ in "ab")
    change = second - first
    every = [
        abs(change @ signs) >= abs(change.sum()) - 1e-12 for signs in product((1, -1), repeat=8)
    ]
    p = compare([of_means(first)], [of_means(second)])["jga"]["p"]
    assert p == pytest.approx(sum(every) / len(every), abs=0.02)


def test_a_p_is_never_zero() -> None:
    """Forty dialogues of one frame, all right with the second alone: no swap is as large."""
    wrong, right = (of_means(np.full(40, value)) for value in (0.0, 1.0))
    found = compare([wrong], [right])["jga"]
    assert found["p"] == 1 / 10_001
    assert found.keys() == {"first", "second", "difference", "interval", "p"}  # of single runs


def test_the_interval_has_the_spread_over_seeds() -> None:
    """All dialogues are alike, so that only the runs differ: the variance of the difference of the
    means is s1^2 / 3 + s2^2 / 4, which drawing r - 1 of r runs gives without bias."""
    levels = np.array([0.4, 0.5, 0.65]), np.array([0.5, 0.55, 0.7, 0.75])
    first, second = ([of_means(np.full(20, level)) for level in side] for side in levels)
    found = compare(first, second)["jga"]
    variance = sum(side.var(ddof=1) / len(side) for side in levels)
    low, high = found["interval"]
    assert (high - low) / 3.92 == pytest.approx(variance**0.5, rel=0.15)
    assert found["difference"] == pytest.approx(levels[1].mean() - levels[0].mean())
    assert found["first_sd"] == pytest.approx(levels[0].std(ddof=1))


def test_draws_are_the_same_for_ever() -> None:
    """Recorded: a figure that is published does not move with the code."""
    random = np.random.default_rng(5)
    sides = [[of_means(random.random(20)) for _ in range(3)] for _ in "ab"]
    for runs, recorded in (
        (3, [-0.1522721283654972, 0.17625862594284902, 0.7782217782217782]),
        (1, [-0.10449583178779855, 0.2231760563512096, 0.44125587441255876]),
    ):
        found = compare(sides[0][:runs], sides[1][:runs])["jga"]
        assert [*found["interval"], found["p"]] == pytest.approx(recorded, abs=1e-9)


# ---- an interval that holds for few cases


@cache
def lower(cases: int, *values: tuple[float, int]) -> float:
    """The lower end for some cases with other values than 0, each with how many have it."""
    total = np.repeat([value for value, _ in values], [count for _, count in values])
    total = np.pad(total, (0, cases - len(total)))
    return bounded_interval(total, np.ones(cases), -1.0, 1.0)[0]


@pytest.mark.parametrize("cases", [6, 10, 20])
def test_a_true_loss_of_the_limit_fails_in_three_of_a_hundred_runs_at_most(cases: int) -> None:
    """Each case is lost, won or neither: the exact probability, however many are won."""
    for limit in (0.0, 0.03, 0.1, 0.2):
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
@pytest.mark.parametrize("cases", [6, 10, 20, 40])
def test_so_few_fail_under_several_variants_too(cases: int) -> None:
    """Under five variants a case loses a fifth, two, and so on; 500 runs of each kind."""
    random, values = np.random.default_rng(1), np.arange(-5, 6) / 5
    for limit, weight in product((0.03, 0.1, 0.2), (0.0, 0.5, 2.0)):
        chances = np.exp(weight * np.abs(values)) * np.where(values > 0, 1.0, 0.3) * (values != 0)
        chances *= limit / (chances @ values)
        chances[values == 0] = 1 - chances.sum()
        fails = 0
        for counts in random.multinomial(cases, chances, size=500):
            drawn = [(float(v), int(n)) for v, n in zip(values, counts) if v and n]
            if counts @ values / cases > limit:  # else the lower end is not above it
                fails += lower(cases, *drawn) > limit
        assert fails <= 0.03 * 500, (limit, weight)


def test_of_dialogues_of_several_cases_so_few_fail_too() -> None:
    """All cases of a dialogue are lost together, in dialogues of one to five cases."""
    random, fails = np.random.default_rng(2), 0
    for _ in range(200):
        number = random.integers(1, 6, size=12).astype(float)
        total = number * (random.random(12) < 0.1)
        fails += bounded_interval(total, number, -1.0, 1.0)[0] > 0.1
    assert fails <= 6


@pytest.mark.parametrize(
    ("right", "ends"), [(0, [0, 0.308]), (3, [0.067, 0.652]), (10, [0.692, 1])]
)
def test_of_right_and_wrong_it_is_that_of_clopper_and_pearson(
    right: int, ends: Sequence[float]
) -> None:
    found = bounded_interval(np.repeat([1.0, 0.0], [right, 10 - right]), np.ones(10), 0.0, 1.0)
    assert found == pytest.approx(ends, abs=0.004)
