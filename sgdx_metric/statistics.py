"""Figures of items, their intervals, and whether chance explains a difference.

An item is what is answered under several variants: a frame, a call, a case of tools, or what a
dialogue spends on a service. A figure is made of sums over items; most are one sum divided by
another. What is drawn is dialogues, since the items of a dialogue are not independent. So each
dialogue's sums are taken once, and a resample is a weight for each: how often it was drawn.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .columns import Floats, Ints, safe_divide

RESAMPLES = 1000
TRIALS = 10_000
SEED = 0
# An item with this score or more is right, and with a lesser one wrong.
RIGHT = 0.5
# How many resamples are drawn at a time, so that memory does not grow with their number.
_CHUNK = 100
_SWAPS = 500  # and how many swaps of a pair
# Of `bounded_interval`, and how many of them at a time.
_WEIGHTINGS, _SOME = 20_000, 2_000

Interval = list[float] | None


class Figure(NamedTuple):
    """A figure of some items, and what readers are told of it."""

    key: str  # what scores.json calls it
    # What is added up over the items [columns, items], and the figure [...] of the sums
    # [columns, ...].
    columns: Floats
    of: Callable[[Floats], Floats]
    title: str = ""
    # What the words of the title mean, a sentence each.
    legend: Sequence[str] = ()
    lower_is_better: bool = False
    # What it is multiplied by to be shown.
    scale: float = 100
    # The least and the greatest value that there can be; None where that is not known.
    bounds: tuple[float, float] | None = (0.0, 1.0)


def mean(key: str, rows: Floats, **told: Any) -> Figure:
    """The mean over items, and then over variants, of scores [variants, items] or [items].

    Scores are NaN where undefined. `told` are the last fields of `Figure`.
    """
    rows = np.atleast_2d(rows)
    # What there is of each item, 0 where undefined, and then where it is not undefined.
    columns = np.concatenate([np.nan_to_num(rows), ~np.isnan(rows)])
    return Figure(key, columns, mean_of_ratios, **told)


def drop(key: str, reworded: Floats, original: Floats, **told: Any) -> Figure:
    """The mean over variants [variants, items] less the mean under the original [items]."""
    figure = mean(key, np.vstack([reworded, original]), **{"bounds": (-1.0, 1.0), **told})
    return figure._replace(of=drop_of_ratios)


def relative_drop(key: str, reworded: Floats, original: Floats, **told: Any) -> Figure:
    """The drop as a part of the mean under the original."""
    figure = drop(key, reworded, original, **{"bounds": None, **told})
    return figure._replace(of=lambda sums: safe_divide(drop_of_ratios(sums), ratios(sums)[-1]))


def ratios(sums: Floats) -> Floats:
    """The first half of some sums [2 * rows, ...], each divided by one of the second half."""
    parts, wholes = np.split(sums, 2)
    return safe_divide(parts, wholes)


def mean_of_ratios(sums: Floats) -> Floats:
    """The mean of such ratios."""
    return np.asarray(ratios(sums).mean(axis=0))


def drop_of_ratios(sums: Floats) -> Floats:
    """The mean of such ratios but the last, less the last."""
    *reworded, original = ratios(sums)
    return np.asarray(np.mean(reworded, axis=0) - original)


class Sample:
    """Figures of some items, whose columns are summed by dialogue."""

    def __init__(self, figures: Sequence[Figure], dialogue: Ints) -> None:
        """Take the sums; `dialogue` has a number for the dialogue of each item [items]."""
        self.figures, self.dialogue = list(figures), dialogue
        dialogues, position = np.unique(dialogue, return_inverse=True)
        self.dialogues = len(dialogues)
        # Many figures share columns, such as the scores under the original. Each is summed once.
        places, totals = dict[bytes, int](), list[Floats]()
        self._places = np.array(
            [
                places.setdefault(column.tobytes(), len(places))
                for figure in figures
                for column in figure.columns
            ],
            np.int64,
        )
        for column in places:
            of_items = np.frombuffer(column)
            totals.append(np.bincount(position, of_items, self.dialogues).astype(np.float64))
        shape = (self.dialogues, len(totals))
        self._totals = np.stack(totals, axis=1) if totals else np.zeros(shape)

    @property
    def sums(self) -> Floats:
        """The sums of the figures' columns [dialogues, columns]."""
        return np.asarray(self._totals[:, self._places])

    def of_sums(self, sums: Floats) -> Floats:
        """The figures of sums of the columns [draws, columns] -> [figures, draws]."""
        made, start = np.empty((len(self.figures), len(sums))), 0
        for place, figure in enumerate(self.figures):
            end = start + len(figure.columns)
            made[place] = figure.of(sums[:, start:end].T)
            start = end
        return made

    def resampled(self, weights: Floats) -> Floats:
        """The figures under weights of the dialogues [draws, dialogues] -> [figures, draws]."""
        return self.of_sums((weights @ self._totals)[:, self._places])

    def values(self) -> dict[str, float | None]:
        """The figures of the items as they are; None for one that is undefined."""
        values = self.resampled(np.ones((1, self.dialogues)))[:, 0]
        return {f.key: _number(value) for f, value in zip(self.figures, values)}

    def intervals(self) -> dict[str, Interval]:
        """The 95 % intervals over dialogues, as of `intervals`."""
        return intervals([self])


def intervals(runs: Sequence[Sample]) -> dict[str, Interval]:
    """The 95 % intervals over dialogues of the figures' means over runs with the same items.

    By the percentile method: Efron and Tibshirani 1993, "An Introduction to the Bootstrap",
    chapter 13. Where all resamples are equal, as if ten right answers of ten proved that all are
    right, it is that of `bounded_interval`, which is exact there.
    """
    first = runs[0]
    if not first.dialogues:
        return {figure.key: None for figure in first.figures}
    values = np.concatenate(
        [
            np.mean([run.resampled(weights) for run in runs], axis=0)
            for weights in resamples(first.dialogues)
        ],
        axis=1,
    )  # [figures, draws]
    made, start, sums = dict[str, Interval](), 0, first.sums
    for figure, of_figure in zip(first.figures, values):
        end = start + len(figure.columns)
        ends = middle(of_figure)
        if ends and figure.bounds and ends[1] - ends[0] < 1e-12:
            # A dialogue counts that has an item of which the figure is.
            count = int(sums[:, start:end].any(axis=1).sum())
            share, (low, high) = 1 - 0.025 ** (1 / max(count, 1)), figure.bounds
            ends = [ends[0] + share * (low - ends[0]), ends[1] + share * (high - ends[1])]
        made[figure.key], start = ends, end
    return made


def compare(
    first: Sequence[Sample], second: Sequence[Sample], trials: int = TRIALS
) -> dict[str, dict[str, Any]]:
    """Compare two sides, each of one run or several, by samples of the same items and figures.

    A side's figure is the mean over its runs. In each resample the dialogues are drawn, the same
    for all runs of both sides, and apart from them each side's runs. Of r runs r - 1 are drawn with
    replacement: with r, the spread of the mean of few runs would be underestimated (Rao and Wu
    1988, Journal of the American Statistical Association 83, 231-241). A single run stays as it is.

    For each figure `first`, `second`, `difference` (second - first), its 95 % `interval` and `p`;
    None where undefined. The p of single runs is that of paired approximate randomisation. That of
    several is of the bootstrap test with shifted resamples (Efron and Tibshirani 1993, chapter 16):
    the share of resamples that lie as far from the difference as the difference does from 0. Of
    several runs there are also the sample standard deviations over runs, `first_sd`, `second_sd`.
    """
    dialogues = first[0].dialogues
    if not dialogues:
        return {}
    whole = np.ones((1, dialogues))
    left, right = (
        np.stack([run.resampled(whole)[:, 0] for run in runs]) for runs in (first, second)
    )  # [runs, figures]
    observed = right.mean(axis=0) - left.mean(axis=0)
    random = np.random.default_rng((SEED, 1))  # The dialogues are drawn as for single runs.
    draws = list[Floats]()  # [figures, draws] each
    for weights in resamples(dialogues):
        means = list[Floats]()
        for side in (first, second):
            number = max(len(side) - 1, 1)
            counts = random.multinomial(number, np.full(len(side), 1 / len(side)), len(weights))
            figures = np.stack([run.resampled(weights) for run in side])
            means.append((figures * counts.T[:, None]).sum(axis=0) / number)
        draws.append(means[1] - means[0])
    differences = np.concatenate(draws, axis=1)
    several = len(first) > 1 or len(second) > 1
    if several:
        p = [_shifted_p(values, value) for values, value in zip(differences, observed)]
    else:
        p = paired_p(first[0], second[0], trials)
    comparisons: dict[str, dict[str, Any]] = {}
    for place, figure in enumerate(first[0].figures):
        comparisons[figure.key] = {
            "first": _number(left[:, place].mean()),
            "second": _number(right[:, place].mean()),
            "difference": _number(observed[place]),
            "interval": middle(differences[place]),
            "p": p[place],
        }
        if several:
            for key, of_runs in (("first_sd", left), ("second_sd", right)):
                spread = of_runs[:, place].std(ddof=1) if len(of_runs) > 1 else np.nan
                comparisons[figure.key][key] = _number(spread)
    return comparisons


def paired_p(first: Sample, second: Sample, trials: int = TRIALS) -> list[float | None]:
    """Two-sided p-values of paired approximate randomisation, in which whole dialogues are swapped.

    In each trial, each dialogue's two results change sides with probability 1/2. If the difference
    of a figure is at least as large as the observed one in n trials, p is (n + 1) / (trials + 1).
    Source: Noreen 1989, "Computer-Intensive Methods for Testing Hypotheses".
    """
    sums = first.sums, second.sums
    apart = sums[1] - sums[0]
    left, right = sums[0].sum(axis=0), sums[1].sum(axis=0)
    observed = (second.of_sums(right[None]) - first.of_sums(left[None]))[:, 0]
    as_large = np.zeros(len(observed))
    random = np.random.default_rng(SEED)
    for start in range(0, trials, _SWAPS):
        shape = (min(_SWAPS, trials - start), len(apart))
        swap = random.integers(2, size=shape, dtype=np.uint8).astype(np.float64)
        # What the swapped dialogues bring to the first side is what they take from the second.
        moved = swap @ apart
        differences = second.of_sums(right - moved) - first.of_sums(left + moved)
        # The margin is smaller than any difference that one item makes, and larger than that of
        # rounding.
        as_large += (np.abs(differences) >= np.abs(observed)[:, None] - 1e-12).sum(axis=1)
    return [
        None if np.isnan(value) else (int(count) + 1) / (trials + 1)
        for value, count in zip(observed, as_large)
    ]


def _shifted_p(differences: Floats, observed: float) -> float | None:
    """The share of differences [draws] as far from the observed one as that is from 0."""
    defined = differences[~np.isnan(differences)]
    if np.isnan(observed) or not len(defined):
        return None
    far = np.abs(defined - observed) >= np.abs(observed) - 1e-12
    return (int(far.sum()) + 1) / (len(defined) + 1)


def resamples(dialogues: int) -> Iterator[Floats]:
    """How often each dialogue is drawn when as many are drawn as there are, always the same.

    RESAMPLES in all, in chunks [draws, dialogues].
    """
    random = np.random.default_rng(SEED)
    for start in range(0, RESAMPLES, _CHUNK):
        draws = min(_CHUNK, RESAMPLES - start)
        chosen = random.integers(dialogues, size=(draws, dialogues))
        # One bincount for all draws: the dialogue d of draw i is counted at i * dialogues + d.
        flat = (chosen + dialogues * np.arange(draws)[:, None]).ravel()
        counts = np.bincount(flat, minlength=draws * dialogues)
        yield counts.reshape(draws, dialogues).astype(np.float64)


def middle(values: Floats) -> Interval:
    """The middle 95 % of the values that are defined; None where none is."""
    defined = values[~np.isnan(values)]
    return np.quantile(defined, (0.025, 0.975)).tolist() if len(defined) else None


def bounded_interval(total: Floats, number: Floats, low: float, high: float) -> list[float]:
    """A 95 % interval of a mean of values in [low, high] that holds for few dialogues too.

    Each end is a quantile of the mean under random weights of the dialogues (Dirichlet, all ones),
    to which one dialogue of average length is added that has the least value throughout, or the
    greatest. Of values 0 and 1 it is the exact interval of Clopper and Pearson. Sources: Gaffke
    2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable" (Mathematical Methods of Statistics 14, 451-467); Learned-Miller and
    Thomas 2019, "A New Confidence Interval for the Mean of a Bounded Random Variable" (arXiv
    1905.06208). That each end is wrong in at most 2.5 % of samples is conjectured there for any
    values; `tests/sgdx_metric/test_statistics.py` shows it for differences of scores.

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


# ---- what variants together make of an item


def variation(scores: Floats, zero_mean: str = "0") -> Floats:
    """Coefficient of variation of scores [variants, items], in [0, sqrt K] or NaN [items].

    Its mean over frames is the schema sensitivity of Lee et al. 2022, "SGD-X: A Benchmark for
    Robust Generalization in Schema-Guided Dialogue Systems" (arXiv 2110.06800). An item that scores
    0 throughout has 0, or NaN if `zero_mean` is "drop".
    """
    if len(scores) < 2:
        return np.full(scores.shape[1:], np.nan)
    average = scores.mean(axis=0)
    spread = scores.std(axis=0, ddof=1)
    values = safe_divide(spread, average, otherwise=np.nan if zero_mean == "drop" else 0.0)
    return np.where(np.isnan(average), np.nan, values)


def worst_case(scores: Floats) -> Floats:
    """The least of each item's scores [variants, items]; NaN where one is undefined [items].

    Its mean is the robustness of Liang et al. 2022, "Holistic Evaluation of Language Models"
    (arXiv 2211.09110). It says what a user can rely on.
    """
    return np.asarray(scores.min(axis=0))


def flipped(scores: Floats) -> Floats:
    """1 for an item right under one variant and wrong under another, else 0; or NaN [items]."""
    least, most = scores.min(axis=0), scores.max(axis=0)
    flips = ((least < RIGHT) & (most >= RIGHT)).astype(np.float64)
    return np.where(np.isnan(least), np.nan, flips)


def mean_defined(values: Floats) -> float | None:
    """Mean of the values that are not NaN; None where all of them are."""
    defined = values[~np.isnan(values)]
    # `mean` takes three times as long for the few values that most groups have.
    return float(defined.sum() / len(defined)) if len(defined) else None


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
