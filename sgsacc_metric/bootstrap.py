"""Intervals and p-values from resampled dialogues, since a dialogue's frames are not independent.

A figure is a function of sums over dialogues. So each dialogue's sums are taken once, and a
resample is no more than a weight for each dialogue.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .columns import Floats, over

RESAMPLES = 1000
TRIALS = 10_000
SEED = 0
_CHUNK = (
    100  # Resamples are drawn so many at a time, so that memory does not grow with their number.
)

Draw = Callable[[np.random.Generator, int, int], Floats]
Figures = dict[str, Floats]
Interval = list[float] | None


@dataclass(frozen=True)
class Sums:
    """Sums of scores by dialogue, from which the figures of any resample follow.

    Attributes:
        total: The sum of each dialogue's defined scores, one row a kind of score [dialogues, rows].
        number: How many scores that sum has [dialogues, rows].
    """

    total: Floats
    number: Floats

    def means(self, weights: Floats) -> Floats:
        """Mean scores [draws, rows] of the dialogues under weights [draws, dialogues]."""
        return over(weights @ self.total, weights @ self.number)

    def only(self, rows: list[int]) -> "Sums":
        """Some of the rows, in the order given; a row may be taken more than once."""
        return Sums(self.total[:, rows], self.number[:, rows])


def with_replacement(random: np.random.Generator, draws: int, dialogues: int) -> Floats:
    """How often each dialogue is drawn when as many are drawn as there are [draws, dialogues]."""
    drawn = random.integers(dialogues, size=(draws, dialogues))
    flat = (drawn + dialogues * np.arange(draws)[:, None]).ravel()
    counts = np.bincount(flat, minlength=draws * dialogues)
    return counts.reshape(draws, dialogues).astype(np.float64)


def one_in_two(random: np.random.Generator, draws: int, dialogues: int) -> Floats:
    """1 for a random half of the dialogues and 0 for the others [draws, dialogues]."""
    return random.integers(2, size=(draws, dialogues), dtype=np.uint8).astype(np.float64)


def resampled(draw: Draw, dialogues: int, number: int) -> Iterator[Floats]:
    """Draw `number` weightings of the dialogues, in chunks [draws, dialogues], always the same."""
    random = np.random.default_rng(SEED)
    for start in range(0, number, _CHUNK):
        yield draw(random, min(_CHUNK, number - start), dialogues)


def bootstrap(statistic: Callable[[Floats], Figures], dialogues: int) -> dict[str, Interval]:
    """95 % intervals of figures, by the percentile method over dialogues drawn with replacement.

    Source: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13.

    Args:
        statistic: Computes the figures [draws] from weights of the dialogues [draws, dialogues].
        dialogues: How many dialogues there are.

    Returns:
        [low, high] of each figure, in its own unit; None for a figure that is undefined in every
        resample. Without dialogues the result is empty.
    """
    if not dialogues:
        return {}
    found = [statistic(weights) for weights in resampled(with_replacement, dialogues, RESAMPLES)]
    return {name: _middle(np.concatenate([draw[name] for draw in found])) for name in found[0]}


def randomisation(
    first: Sums,
    second: Sums,
    statistic: Callable[[Floats], Figures],
    observed: Figures,
    trials: int = TRIALS,
) -> dict[str, float | None]:
    """Two-sided p-values of paired approximate randomisation, in which whole dialogues are swapped.

    In each trial, each dialogue's two results change sides with probability 1/2. If the
    difference is at least as large as the observed one in n trials, p is (n + 1) / (trials + 1).
    Source: Noreen 1989, "Computer-Intensive Methods for Testing Hypotheses".

    Args:
        first, second: Both sides' sums over the same dialogues.
        statistic: Computes the figures [draws] from mean scores [draws, rows].
        observed: The observed difference of each figure [1].
        trials: How many trials there are.

    Returns:
        The p-value of each figure in (0, 1]; None where a difference is undefined.
    """
    as_large = dict.fromkeys(observed, 0)
    total, number = second.total - first.total, second.number - first.number
    for swap in resampled(one_in_two, len(total), trials):
        moved, count = swap @ total, swap @ number
        left, right = (
            statistic(over(own.total.sum(0) + sign * moved, own.number.sum(0) + sign * count))
            for own, sign in ((first, 1), (second, -1))
        )
        for name, value in observed.items():
            # The margin is smaller than any difference that one frame makes, and larger than that
            # of rounding.
            large = np.abs(right[name] - left[name]) >= np.abs(value) - 1e-12
            as_large[name] += int(large.sum())
    return {
        name: None if np.isnan(value).any() else (as_large[name] + 1) / (trials + 1)
        for name, value in observed.items()
    }


def compared(
    first: Sums, second: Sums, statistic: Callable[[Floats], Figures], trials: int = TRIALS
) -> dict[str, dict[str, Any]]:
    """Compare two sides, such as two systems, or one system under two wordings.

    Args:
        first, second: Both sides' sums over the same dialogues; there must be at least one.
        statistic: Computes the figures [draws] from mean scores [draws, rows].
        trials: How many trials of `randomisation` give the p-value.

    Returns:
        For each figure `first`, `second`, `difference` (second - first), its 95 % bootstrap
        `interval` ([low, high]), for which both sides are resampled alike, and `p`; None where
        undefined.
    """
    dialogues = len(first.total)

    def difference(weights: Floats) -> Figures:
        left, right = statistic(first.means(weights)), statistic(second.means(weights))
        return {name: right[name] - left[name] for name in left}

    interval = bootstrap(difference, dialogues)
    whole = np.ones((1, dialogues))
    left, right = statistic(first.means(whole)), statistic(second.means(whole))
    observed = {name: right[name] - left[name] for name in left}
    p = randomisation(first, second, statistic, observed, trials)
    return {
        name: {
            "first": _number(left[name]),
            "second": _number(right[name]),
            "difference": _number(observed[name]),
            "interval": interval[name],
            "p": p[name],
        }
        for name in left
    }


def _number(value: Floats) -> float | None:
    return None if np.isnan(value[0]) else float(value[0])


def _middle(values: Floats) -> Interval:
    defined = values[~np.isnan(values)]
    return np.quantile(defined, (0.025, 0.975)).tolist() if len(defined) else None
