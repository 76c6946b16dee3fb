"""Intervals and p-values from resampled dialogues, since a dialogue's frames are not independent.

Every statistic here is a function of sums over dialogues. So each dialogue's sums are taken once,
and a resample is only a weight for each dialogue: how often it was drawn.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .columns import Floats, Ints, safe_divide

RESAMPLES = 1000
TRIALS = 10_000
SEED = 0
# How many resamples are drawn at a time, so that memory does not grow with their number.
_CHUNK = 100
# Of `bounded_interval`, and how many of them at a time.
_WEIGHTINGS, _SOME = 20_000, 2_000

Draw = Callable[[np.random.Generator, int, int], Floats]
Statistics = dict[str, Floats]
# Makes figures [draws] of mean scores [draws, rows].
Statistic = Callable[[Floats], Statistics]
Interval = list[float] | None


class Sums(NamedTuple):
    """Sums of scores by dialogue, from which the figures of any resample follow."""

    # The sum of each dialogue's defined scores, and how many there are [dialogues, rows].
    total: Floats
    number: Floats

    def means(self, weights: Floats) -> Floats:
        """Mean scores [draws, rows] of the dialogues under weights [draws, dialogues]."""
        return safe_divide(weights @ self.total, weights @ self.number)


def sums_by_dialogue(rows: Floats, dialogue: Ints) -> Sums:
    """Add up scores [rows, items], NaN where undefined, by the dialogues of the items [items]."""
    dialogues, position = np.unique(dialogue, return_inverse=True)
    # An undefined score adds 0 to its dialogue's total and 0 to the number that it is divided by.
    totals = [np.bincount(position, row, len(dialogues)) for row in np.nan_to_num(rows)]
    numbers = [np.bincount(position, row, len(dialogues)) for row in 1.0 - np.isnan(rows)]
    shape = (len(rows), len(dialogues))  # there may be no row
    return Sums(*(np.array(s, dtype=np.float64).reshape(shape).T for s in (totals, numbers)))


def with_replacement(random: np.random.Generator, draws: int, dialogues: int) -> Floats:
    """How often each dialogue is drawn when as many are drawn as there are [draws, dialogues]."""
    drawn = random.integers(dialogues, size=(draws, dialogues))
    # One bincount for all draws: the dialogue d of draw i is counted at i * dialogues + d.
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


def bootstrap(statistic: Callable[[Floats], Statistics], dialogues: int) -> dict[str, Interval]:
    """95 % intervals [low, high] of figures [draws] of weights [draws, dialogues].

    By the percentile method: Efron and Tibshirani 1993, "An Introduction to the Bootstrap",
    chapter 13.
    """
    if not dialogues:
        return {}
    drawn = _joined(map(statistic, resampled(with_replacement, dialogues, RESAMPLES)))
    return {name: _middle(values) for name, values in drawn.items()}


def bounded_interval(total: Floats, number: Floats, low: float, high: float) -> list[float]:
    """A 95 % interval of a mean of values in [low, high] that holds for few dialogues too.

    Each end is a quantile of the mean under random weights of the dialogues (Dirichlet, all ones),
    to which one dialogue of average length is added that has the least value throughout, or the
    greatest. Of values 0 and 1 it is the exact interval of Clopper and Pearson. Sources: Gaffke
    2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable" (Mathematical Methods of Statistics 14, 451-467); Learned-Miller and
    Thomas 2019, "A New Confidence Interval for the Mean of a Bounded Random Variable" (arXiv
    1905.06208). That each end is wrong in at most 2.5 % of samples is conjectured there for any
    values; `tests/sgdx_metric/test_bounded_interval.py` shows it for differences of scores.

    Args:
        total: The sum of each dialogue's values [dialogues], at least one.
        number: How many values each dialogue has [dialogues].
        low, high: The least and the greatest value that there can be.
    """
    # Dialogues that are equal share a weight, which is gamma distributed with their number.
    pairs, counts = np.unique(np.stack([total.round(12), number]), axis=1, return_counts=True)
    random = np.random.default_rng(SEED)
    average = number.mean()
    means: list[Floats] = []
    for _ in range(_WEIGHTINGS // _SOME):
        weights = random.standard_gamma([*counts, 1.0], (_SOME, len(counts) + 1))
        sums = weights[:, :-1] @ pairs[0] + weights[:, -1] * average * np.array([[low], [high]])
        means.append(sums / (weights[:, :-1] @ pairs[1] + weights[:, -1] * average))
    least, greatest = np.concatenate(means, axis=1)
    return [float(np.quantile(least, 0.025)), float(np.quantile(greatest, 0.975))]


def exact_at_edge(ends: Interval, dialogues: int, most: float = 1.0) -> Interval:
    """The interval of Clopper and Pearson where all of some dialogues score 0, or all the most.

    Resamples of equal scores are equal, as if ten right answers of ten proved that all are right.
    Other intervals stay as they are.
    """
    if ends is None or ends[0] != ends[1] or ends[0] not in (0.0, most):
        return ends
    share = 0.025 ** (1 / dialogues)
    return [most * share, most] if ends[0] else [0.0, most * (1 - share)]


def randomisation(
    first: Sums,
    second: Sums,
    statistic: Statistic,
    observed: Statistics,
    trials: int = TRIALS,
) -> dict[str, float | None]:
    """Two-sided p-values of paired approximate randomisation, in which whole dialogues are swapped.

    In each trial, each dialogue's two results change sides with probability 1/2. If the
    difference is at least as large as the observed one [1] in n trials, p is (n + 1) / (trials +
    1). Source: Noreen 1989, "Computer-Intensive Methods for Testing Hypotheses".
    """
    as_large = dict.fromkeys(observed, 0)
    total, number = second.total - first.total, second.number - first.number
    for swap in resampled(one_in_two, len(total), trials):
        # What the swapped dialogues bring to the first side is what they take from the second.
        moved, count = swap @ total, swap @ number
        left, right = (
            statistic(
                safe_divide(own.total.sum(0) + sign * moved, own.number.sum(0) + sign * count)
            )
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
    first: Sequence[Sums],
    second: Sequence[Sums],
    statistic: Statistic,
    trials: int = TRIALS,
) -> dict[str, dict[str, Any]]:
    """Compare two sides by the sums of their runs over the same dialogues, one at least.

    A side's figure is the mean over its runs. In each resample the dialogues are drawn, the same
    for all runs of both sides, and apart from them each side's runs. Of r runs r - 1 are drawn with
    replacement: with r, the spread of the mean of few runs would be underestimated (Rao and Wu
    1988, Journal of the American Statistical Association 83, 231-241). A single run stays as it is.

    For each figure `first`, `second`, `difference` (second - first), its 95 % `interval` and `p`;
    None where undefined. The p of single runs is that of `randomisation`. That of several is of the
    bootstrap test with shifted resamples (Efron and Tibshirani 1993, chapter 16): the share of
    resamples that lie as far from the difference as the difference does from 0. Of several runs
    there are also the sample standard deviations over runs.
    """
    whole = np.ones((1, len(first[0].total)))
    left, right = (
        _stacked([statistic(run.means(whole)) for run in runs]) for runs in (first, second)
    )  # Each is figures [runs, 1].
    observed = {name: right[name].mean(axis=0) - left[name].mean(axis=0) for name in left}
    random = np.random.default_rng((SEED, 1))  # The dialogues are drawn as for single runs.

    def difference(weights: Floats) -> Statistics:
        ours = _mean_of_drawn(first, weights, statistic, random)
        theirs = _mean_of_drawn(second, weights, statistic, random)
        return {name: theirs[name] - ours[name] for name in ours}

    drawn = _joined(map(difference, resampled(with_replacement, whole.shape[1], RESAMPLES)))
    several = len(first) > 1 or len(second) > 1
    if several:
        p = {name: _shifted_p(values, observed[name]) for name, values in drawn.items()}
    else:
        p = randomisation(first[0], second[0], statistic, observed, trials)
    comparisons: dict[str, dict[str, Any]] = {}
    for name, values in drawn.items():
        comparisons[name] = {
            "first": _number(left[name].mean(axis=0)),
            "second": _number(right[name].mean(axis=0)),
            "difference": _number(observed[name]),
            "interval": _middle(values),
            "p": p[name],
        }
        if several:
            comparisons[name]["first_sd"] = _deviation(left[name])
            comparisons[name]["second_sd"] = _deviation(right[name])
    return comparisons


def _joined(drawn: Iterable[Statistics]) -> Statistics:
    """The figures of chunks of draws as figures [draws] of all of them."""
    chunks = list(drawn)
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def _stacked(runs: Sequence[Statistics]) -> Statistics:
    """The figures [draws] of several runs as figures [runs, draws]."""
    return {name: np.stack([run[name] for run in runs]) for name in runs[0]}


def _mean_of_drawn(
    runs: Sequence[Sums],
    weights: Floats,
    statistic: Statistic,
    random: np.random.Generator,
) -> Statistics:
    """The mean figures [draws] of runs that are drawn anew for each weighting of the dialogues."""
    number = max(len(runs) - 1, 1)
    counts = random.multinomial(number, np.full(len(runs), 1 / len(runs)), len(weights))
    statistics = _stacked([statistic(run.means(weights)) for run in runs])
    return {name: (figure * counts.T).sum(axis=0) / number for name, figure in statistics.items()}


def _shifted_p(differences: Floats, observed: Floats) -> float | None:
    """The share of differences [draws] as far from the observed one [1] as that is from 0."""
    defined = differences[~np.isnan(differences)]
    if np.isnan(observed[0]) or not len(defined):
        return None
    far = np.abs(defined - observed[0]) >= np.abs(observed[0]) - 1e-12
    return (int(far.sum()) + 1) / (len(defined) + 1)


def _deviation(runs: Floats) -> float | None:
    """The sample standard deviation over runs [runs, 1]; None for a single run."""
    return None if len(runs) < 2 else _number(runs.std(axis=0, ddof=1))


def _number(value: Floats) -> float | None:
    return None if np.isnan(value[0]) else float(value[0])


def _middle(values: Floats) -> Interval:
    defined = values[~np.isnan(values)]
    return np.quantile(defined, (0.025, 0.975)).tolist() if len(defined) else None
