"""Intervals and p-values from resampled dialogues, since a dialogue's frames are not independent.

Every statistic here is a function of sums over dialogues. So each dialogue's sums are taken once,
and a resample is only a weight for each dialogue: how often it was drawn.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .columns import Floats, Ints, safe_divide

RESAMPLES = 1000
TRIALS = 10_000
SEED = 0
# How many resamples are drawn at a time, so that memory does not grow with their number.
_CHUNK = 100

# What the intervals are over: what is drawn anew in each resample.
DIALOGUES, WORDINGS, BOTH = OVER = ("dialogues", "wordings", "both")

Draw = Callable[[np.random.Generator, int, int], Floats]
Statistics = dict[str, Floats]
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
        return safe_divide(weights @ self.total, weights @ self.number)

    def only(self, rows: list[int]) -> "Sums":
        """Some of the rows, in the order given; a row may be taken more than once."""
        return Sums(self.total[:, rows], self.number[:, rows])


def sums_by_dialogue(rows: Floats, dialogue: Ints) -> Sums:
    """Add up scores by dialogue.

    Args:
        rows: Scores, NaN where undefined, one row a kind of score [rows, units].
        dialogue: The dialogue of each unit, as any numbers [units].
    """
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
    draws = [statistic(weights) for weights in resampled(with_replacement, dialogues, RESAMPLES)]
    return {name: _middle(np.concatenate([draw[name] for draw in draws])) for name in draws[0]}


def crossed_draws(dialogues: int, wordings: int, over: str) -> Iterator[tuple[Floats, Floats]]:
    """Draw dialogues and wordings apart from each other, always the same.

    This is the pigeonhole bootstrap of Owen 2007 (Annals of Applied Statistics 1(2), 386-411) for a
    table in which every dialogue is scored under every wording: rows and columns are drawn with
    replacement, independently. No bootstrap of such a table is exact (McCullagh 2000, Bernoulli
    6(2), 285-301); this one errs on the wide side. Of r wordings r - 1 are drawn, as in
    `compared_runs`, since with r the spread of a mean of few would be underestimated.

    Args:
        dialogues, wordings: How many there are; one of each at least.
        over: "wordings", for which each dialogue counts once in every draw, or "both".

    Yields:
        In chunks, how often each dialogue is drawn [draws, dialogues], and the share of each
        wording among those that are drawn [draws, wordings].
    """
    # The dialogues are drawn as for them alone, and the wordings by a generator of their own.
    random = np.random.default_rng((SEED, 3))
    number = max(wordings - 1, 1)
    for weights in resampled(with_replacement, dialogues, RESAMPLES):
        drawn = random.multinomial(number, np.full(wordings, 1 / wordings), len(weights)) / number
        yield np.ones_like(weights) if over == WORDINGS else weights, drawn


def crossed_intervals(
    statistic: Callable[[Floats, Floats], Statistics], dialogues: int, wordings: int, over: str
) -> dict[str, Interval]:
    """95 % intervals of figures over wordings, or over dialogues and wordings.

    Args:
        statistic: Computes the figures [draws] from what `crossed_draws` yields.
        dialogues, wordings, over: As for `crossed_draws`.

    Returns:
        [low, high] of each figure, by the percentile method; None for one that is undefined.
        Without dialogues or wordings the result is empty.
    """
    if not (dialogues and wordings):
        return {}
    draws = [statistic(*drawn) for drawn in crossed_draws(dialogues, wordings, over)]
    return {name: _middle(np.concatenate([draw[name] for draw in draws])) for name in draws[0]}


def compared_over_wordings(
    first: Sequence[Sums],
    second: Sequence[Sums],
    by_wording: Callable[[Floats], Floats],
    over: str,
) -> dict[str, Any]:
    """Compare two sides' means over the same wordings, which are a sample of wordings.

    Args:
        first, second: The sums of both sides' runs over the same dialogues, of which there must be
            at least one. Of several runs of a side some are drawn in each resample, as in
            `compared_runs`.
        by_wording: Computes a figure under each wording [draws, wordings] from means [draws, rows].
        over: "wordings" or "both".

    Returns:
        `first`, `second` (means over runs), `difference` (second - first), its 95 % `interval`, `p`
        as `compared_runs` has it, and `same_order`: the share of resamples in which the difference
        has the sign of the observed one; with several runs `first_sd` and `second_sd`, too, as in
        `compared_runs`. None where undefined.
    """
    dialogues = len(first[0].total)
    whole = np.ones((1, dialogues))
    wordings = by_wording(first[0].means(whole)).shape[1]
    left, right = (
        np.stack([by_wording(run.means(whole)).mean(axis=1) for run in runs])
        for runs in (first, second)
    )  # Each is [runs, 1].
    observed = right.mean(axis=0) - left.mean(axis=0)
    random = np.random.default_rng((SEED, 1))
    drawn = []
    for weights, shares in crossed_draws(dialogues, wordings, over):

        def mean(means: Floats, shares: Floats = shares) -> Statistics:
            return {"mean": (by_wording(means) * shares).sum(axis=1)}

        drawn_first, drawn_second = (
            _mean_of_drawn(runs, weights, mean, random)["mean"] for runs in (first, second)
        )
        drawn.append(drawn_second - drawn_first)
    differences = np.concatenate(drawn)
    same = np.sign(differences) == np.sign(observed)
    several = {"first_sd": _deviation(left), "second_sd": _deviation(right)}
    return {
        "first": _number(left.mean(axis=0)),
        "second": _number(right.mean(axis=0)),
        "difference": _number(observed),
        "interval": _middle(differences),
        "p": _shifted_p(differences, observed),
        "same_order": None if np.isnan(observed[0]) else float(same.mean()),
        **(several if max(len(first), len(second)) > 1 else {}),
    }


def randomisation(
    first: Sums,
    second: Sums,
    statistic: Callable[[Floats], Statistics],
    observed: Statistics,
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
    first: Sums, second: Sums, statistic: Callable[[Floats], Statistics], trials: int = TRIALS
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

    def difference(weights: Floats) -> Statistics:
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


def compared_runs(
    first: Sequence[Sums], second: Sequence[Sums], statistic: Callable[[Floats], Statistics]
) -> dict[str, dict[str, Any]]:
    """Compare two systems of which there are several runs, such as those of several seeds.

    A system's figure is the mean over its runs. What it would be with other dialogues and with
    other seeds is estimated by the pigeonhole bootstrap (Owen 2007, Annals of Applied Statistics
    1(2), 386-411), which errs on the side of wide intervals: in each resample the dialogues are
    drawn, the same for all runs of both systems, and apart from them each system's runs. Of r runs,
    r - 1 are drawn with replacement: with r, the spread of the mean of few runs would be
    underestimated (Rao and Wu 1988, Journal of the American Statistical Association 83, 231-241). A
    single run stays as it is.

    Args:
        first, second: The sums of both systems' runs over the same dialogues; there must be at
            least one dialogue and one run of each.
        statistic: Computes the figures [draws] of one run from mean scores [draws, rows].

    Returns:
        For each figure `first` and `second` (means over runs), `difference` (second - first), its
        95 % `interval` ([low, high]), `p`, and `first_sd` and `second_sd`, the sample standard
        deviations over runs; None where undefined. The two-sided p is that of the bootstrap test
        with shifted resamples (Efron and Tibshirani 1993, chapter 16): the share of resamples that
        lie as far from the difference as the difference does from 0.
    """
    whole = np.ones((1, len(first[0].total)))
    sides = [
        _stacked([statistic(run.means(whole)) for run in runs]) for runs in (first, second)
    ]  # Each is figures [runs, 1].
    random = np.random.default_rng((SEED, 1))  # The dialogues are drawn as for single runs.
    drawn: list[Statistics] = []
    for weights in resampled(with_replacement, len(first[0].total), RESAMPLES):
        left, right = (_mean_of_drawn(runs, weights, statistic, random) for runs in (first, second))
        drawn.append({name: right[name] - left[name] for name in left})
    comparisons = {}
    for name, first_runs in sides[0].items():
        second_runs = sides[1][name]
        difference = second_runs.mean(axis=0) - first_runs.mean(axis=0)
        differences = np.concatenate([draw[name] for draw in drawn])
        comparisons[name] = {
            "first": _number(first_runs.mean(axis=0)),
            "second": _number(second_runs.mean(axis=0)),
            "difference": _number(difference),
            "interval": _middle(differences),
            "p": _shifted_p(differences, difference),
            "first_sd": _deviation(first_runs),
            "second_sd": _deviation(second_runs),
        }
    return comparisons


def _stacked(runs: Sequence[Statistics]) -> Statistics:
    """The figures [draws] of several runs as figures [runs, draws]."""
    return {name: np.stack([run[name] for run in runs]) for name in runs[0]}


def _mean_of_drawn(
    runs: Sequence[Sums],
    weights: Floats,
    statistic: Callable[[Floats], Statistics],
    random: np.random.Generator,
) -> Statistics:
    """The mean figures [draws] of runs that are drawn anew for each weighting of the dialogues."""
    number = max(len(runs) - 1, 1)
    counts = random.multinomial(number, np.full(len(runs), 1 / len(runs)), len(weights))
    statistics = _stacked([statistic(run.means(weights)) for run in runs])
    return {name: (figure * counts.T).sum(axis=0) / number for name, figure in statistics.items()}


def _shifted_p(differences: Floats, observed: Floats) -> float | None:
    """The share of resampled differences [draws] as far from the observed one [1] as that from 0.

    The observed difference itself counts as one of them.
    """
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
