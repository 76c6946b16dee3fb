"""Intervals that hold, for few clusters too, against other programs' and by simulation."""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np
import pytest

from sgdx_metric.columns import Floats
from sgdx_metric.statistics import Sample, drop, intervals, judged, mean, stand_out


def of_means(means: Floats, frames: int = 1) -> Sample:
    """Dialogues of some equal frames each, whose mean is the only figure [dialogues]."""
    rows, dialogue = np.repeat(means, frames), np.repeat(np.arange(len(means)), frames)
    return Sample([mean(rows)], dialogue)


def interval(*sides: Sample) -> list[float]:
    (found,) = intervals(*([side] for side in sides))
    assert found is not None
    return found


def test_means_over_variants_are_of_the_items_that_each_defines() -> None:
    """Under v1 one item is undefined: the mean of 1 and of 1/4, and not the 2/7 of all cells."""
    rows = np.array([[1.0, np.nan, np.nan, np.nan], [1.0, 0.0, 0.0, 0.0]])
    found = Sample([mean(rows), drop(rows[:1], rows[1])], np.arange(4)).values()
    assert found == pytest.approx([0.625, 0.75])


def test_interval_has_the_width_that_theory_gives() -> None:
    """400 dialogues of 5 equal frames, half of them right: as 400 independent observations."""
    width = 1.96 * (0.5 * 0.5 / 400) ** 0.5
    found = interval(of_means(np.repeat([0.0, 1.0], 200), 5))
    assert found == pytest.approx([0.5 - width, 0.5 + width], abs=0.005)


@pytest.mark.parametrize(
    ("right", "of", "ends"),
    [
        # R: binom.test(1, 6), (0, 10), (3, 10), (10, 10), (50, 100) and (5, 300).
        (1, 6, (0.0042107, 0.6412346)),
        (0, 10, (0.0, 0.3084971)),
        (3, 10, (0.0667395, 0.6524529)),
        (10, 10, (0.6915029, 1.0)),
        (5, 300, (0.0054325, 0.0384646)),
    ],
)
def test_of_right_and_wrong_it_is_that_of_clopper_and_pearson(
    right: int, of: int, ends: tuple[float, float]
) -> None:
    found = interval(of_means(np.repeat([1.0, 0.0], [right, of - right])))
    assert found == pytest.approx(ends, abs=0.02 if of < 20 else 0.004)


def test_nothing_that_changes_proves_little() -> None:
    """Ten dialogues in which nothing is lost: each end is that of 0 of 10."""
    same = Sample([drop(np.ones((2, 10)), np.ones(10))], np.arange(10))
    assert interval(same) == pytest.approx([-0.3085, 0.3085], abs=0.015)
    assert interval(of_means(np.ones(1), 10))[0] < 0.05  # ten frames of one dialogue


def test_of_many_it_is_the_percentile_bootstrap() -> None:
    """Recorded: a figure that is published does not move with the code.

    The same draws as those of `boot` in R with its type "perc", but for the generator.
    """
    random = np.random.default_rng(5)
    one, other = (of_means(random.random(120)) for _ in "ab")
    assert interval(one) == pytest.approx([0.4615, 0.5646], abs=1e-3)
    low, high = interval(one, other)
    width = 1.96 * 2 * (2 / 12 / 120) ** 0.5
    assert high - low == pytest.approx(width, rel=0.15)


def test_the_interval_has_the_spread_over_seeds() -> None:
    """All dialogues are alike, so that only the runs differ: the variance of the difference of the
    means is s1^2 / 3 + s2^2 / 4, which drawing r - 1 of r runs gives without bias."""
    levels = np.array([0.4, 0.5, 0.65]), np.array([0.5, 0.55, 0.7, 0.75])
    spread = np.repeat([0.001, -0.001], 200)  # so that dialogues differ by a little
    first, second = ([of_means(level + spread) for level in side] for side in levels)
    (found,) = intervals(first, second)
    assert found is not None
    variance = sum(side.var(ddof=1) / len(side) for side in levels)
    assert (found[1] - found[0]) / 3.92 == pytest.approx(variance**0.5, rel=0.2)


# ---- how often it holds


def population(kind: str, random: np.random.Generator) -> tuple[Floats, Floats]:
    """The scores under the original and other words, and the size, of many dialogues."""
    size = random.integers(1, 9, 20_000).astype(float)
    ability = random.beta(2, 1, len(size))
    before = random.binomial(size.astype(int), ability) / size
    if kind == "rare":
        before = (random.random(len(size)) < 0.05).astype(float)
    lost = random.binomial(size.astype(int), 0.12) / size
    after = np.clip(before - lost * (random.random(len(size)) < 0.6), 0, 1)
    return np.stack([before, after]), size


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [6, 10, 20, 50, 300])
@pytest.mark.parametrize(("kind", "of"), [("usual", "mean"), ("rare", "mean"), ("usual", "drop")])
def test_it_holds_for_few_and_many(clusters: int, kind: str, of: str) -> None:
    """Of 400 samples of so many dialogues, 94 % have the true figure between their ends.

    Three standard errors of 400 are left to chance.
    """
    random = np.random.default_rng(11)
    scores, size = population(kind, random)
    held = 0
    for _ in range(400):
        chosen = random.integers(len(size), size=clusters)
        items = np.repeat(np.arange(clusters), size[chosen].astype(int))
        before, after = scores[:, chosen][:, items]
        statistic = mean(before) if of == "mean" else drop(after[None], before)
        low, high = interval(Sample([statistic], items))
        true = (scores * size).sum(axis=1) / size.sum()
        held += low - 1e-9 <= (true[0] if of == "mean" else true[1] - true[0]) <= high + 1e-9
    assert held / 400 >= 0.94 - 3 * (0.94 * 0.06 / 400) ** 0.5


@cache
def lower(cases: int, *values: tuple[float, int]) -> float:
    """The least loss for some cases with other changes than 0, each with how many have it."""
    change = np.repeat([value for value, _ in values], [count for _, count in values])
    change = np.pad(change, (0, cases - len(change)))
    before, after = np.maximum(change, 0.0), np.maximum(-change, 0.0)
    return -interval(Sample([drop(after[None], before)], np.arange(cases)))[1]


@pytest.mark.parametrize("cases", [6, 10])
def test_a_true_loss_of_the_limit_fails_in_three_of_a_hundred_runs_at_most(cases: int) -> None:
    """Each case is lost, won or neither: the exact probability, however many are won."""
    for limit in (0.0, 0.1):
        for won in np.linspace(0.0, (1 - limit) / 2, 4):
            lost, fails = limit + won, 0.0
            for b in range(1, cases + 1):
                for c in range(min(b, cases - b + 1)):
                    rest = max(1 - lost - won, 0.0) ** (cases - b - c)
                    chance = comb(cases, b) * comb(cases - b, c) * lost**b * won**c * rest
                    if chance > 1e-5 and lower(cases, (1.0, b), (-1.0, c)) > limit:
                        fails += chance
            assert fails < 0.03, (limit, won)


# ---- the one judgement


def test_a_difference_is_a_loss_a_gain_or_not_shown() -> None:
    """Rounding is no loss."""
    assert judged(-0.2, -5.6e-17) == judged(-0.2, 0.1) == judged(None, None) == "not shown"
    assert (judged(-0.2, -0.1), judged(-0.2, -0.1, False)) == ("loss", "gain")
    assert (judged(0.1, 0.2), judged(0.1, 0.2, False)) == ("gain", "loss")


def test_of_many_losses_the_largest_has_to_stand_out() -> None:
    """Of losses at random about one in twenty runs has any that stand out; a real one does."""
    random, named = np.random.default_rng(3), 0
    for _ in range(60):
        changes = random.integers(-1, 2, size=(150, 40)).astype(float)
        named += bool((stand_out(changes, 500) <= 0.05).any())
    assert named <= 8
    changes[0] = 1.0
    assert stand_out(changes)[0] <= 0.001 and (stand_out(changes)[1:] > 0.05).all()


def test_intervals_that_hold_together_are_wider_where_losses_differ() -> None:
    """Equal losses need no more room; of others the least and the largest of all draws decide."""
    random = np.random.default_rng(1)
    before = np.ones(60)
    rows = (random.random((12, 60)) < 0.8).astype(float)  # each loses other items
    cluster = np.arange(60)

    def found(lost: Floats, together: bool) -> Floats:
        sample = Sample([drop(row[None], before) for row in lost], cluster)
        return np.array(intervals([sample], together=together))

    alone, both = found(rows, False), found(rows, True)
    assert (both[:, 0] < alone[:, 0]).all() and (both[:, 1] > alone[:, 1]).all()
    same = np.repeat(rows[:1], 12, axis=0)
    assert found(same, True) == pytest.approx(found(same, False), abs=0.003)
    one = found(rows[:1], True)
    assert one == pytest.approx(alone[:1], abs=0.003)
