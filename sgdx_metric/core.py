"""From the scores of items under variants to figures: values, intervals, differences, p-values.

An item is what is answered under several variants: a frame, a call, a case of tools. All tasks
share what is here. A figure is a function of means over items, said once; its value, its interval
and its difference between two systems follow from it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .bootstrap import (
    RESAMPLES,
    TRIALS,
    Interval,
    Statistics,
    bootstrap,
    compared,
    sums_by_dialogue,
)
from .columns import Floats, Ints, safe_divide
from .units import Items
from .variants import ORIGINAL

# A metric, what is taken of it, and the variants of which it is taken.
_Row = tuple[str, str, tuple[str, ...]]
_SUMS = ("sum", "shared")
# A frame with this score or more is right, and with a lesser one wrong.
RIGHT = 0.5


@dataclass(frozen=True)
class Scores:
    """The scores of items under every variant: what statistics, comparisons and pages read."""

    variants: Sequence[str]
    items: Items
    # More being better, NaN where undefined; the first decides. Or counts, for figures that are
    # ratios of sums [variants, items].
    metrics: Mapping[str, Floats]
    # What the sensitivity makes of an item that scores 0 throughout, as in `Rules`.
    zero_mean: str = "0"
    # What variants together make of each item, to be added up [items].
    shared: Mapping[str, Floats] = field(default_factory=dict)

    def only(self, members: Ints) -> "Scores":
        """The scores of the items at some positions."""
        metrics = {name: rows[:, members] for name, rows in self.metrics.items()}
        shared = {name: row[members] for name, row in self.shared.items()}
        return replace(self, items=self.items.only(members), metrics=metrics, shared=shared)


class Means:
    """The means of one metric over the items of each resample, for figures to be made of [draws].

    A KeyError says that a figure needs a variant that is not there.
    """

    def __init__(self, row: Callable[[_Row], Floats], metric: str, variants: Sequence[str]) -> None:
        self._row, self._metric, self.variants = row, metric, variants

    def under(self, variant: str) -> Floats:
        """The mean under a variant."""
        return self._across("mean", [variant])

    def over(
        self, variants: Sequence[str], of: Callable[["Means", str], Floats] | None = None
    ) -> Floats:
        """The mean over variants, all of which must be there, of what there is under each."""
        if not variants:
            raise KeyError(*variants)
        values = [(of or Means.under)(self, variant) for variant in variants]
        return np.asarray(np.mean(values, axis=0))

    def sensitivity(self, variants: Sequence[str]) -> Floats:
        """The mean of each item's coefficient of variation over two variants or more."""
        return self._of_several("variation", variants)

    def sensitivity_nonzero(self, variants: Sequence[str]) -> Floats:
        """The same without the items that score 0 under all variants, which cannot vary."""
        return self._of_several("variation_nonzero", variants)

    def worst(self, variants: Sequence[str]) -> Floats:
        """The mean of each item's least score."""
        return self._of_several("worst", variants)

    def flips(self, variants: Sequence[str]) -> Floats:
        """The share of items that are right under one variant and wrong under another."""
        return self._of_several("flips", variants)

    def sum(self, count: str, variant: str) -> Floats:
        """The sum of a count, whatever the metric, under a variant."""
        return Means(self._row, count, self.variants)._across("sum", [variant])

    def shared(self, name: str) -> Floats:
        """The sum of what variants together make of each item."""
        return self._row((name, "shared", ()))

    def _of_several(self, statistic: str, variants: Sequence[str]) -> Floats:
        if len(variants) < 2:
            raise KeyError(variants)
        return self._across(statistic, variants)

    def _across(self, statistic: str, variants: Sequence[str]) -> Floats:
        if missing := [variant for variant in variants if variant not in self.variants]:
            raise KeyError(*missing)
        return self._row((self._metric, statistic, tuple(variants)))


class Figure(NamedTuple):
    """A figure, said once: what scores.json calls it, its formula, and what readers are told."""

    key: str
    # The metric of whose means it is a function.
    metric: str
    # A KeyError says that a variant it needs is lacking.
    of: Callable[[Means], Floats]
    title: str = ""
    # What the words of the title mean, a sentence each.
    legend: Sequence[str] = ()
    lower_is_better: bool = False
    # What it is multiplied by to be shown.
    scale: float = 100


@dataclass(frozen=True)
class Over:
    """The formula of a mean over variants of what there is under each."""

    variants: Sequence[str]
    under: Callable[[Means, str], Floats] = Means.under

    def __call__(self, means: Means) -> Floats:
        return means.over(self.variants, self.under)

    def each(self, metric: str) -> list[Figure]:
        """The figure under each of the variants, by the name of the variant."""
        return [Figure(name, metric, partial(self._of, name)) for name in self.variants]

    def _of(self, variant: str, means: Means) -> Floats:
        return self.under(means, variant)


def under_each(figure: Figure, variants: Sequence[str] = ()) -> list[Figure]:
    """A figure, which is an `Over`, under each of its variants or of others."""
    if not isinstance(figure.of, Over):
        raise TypeError(f"{figure.key} is no mean over variants")
    return replace(figure.of, variants=variants or figure.of.variants).each(figure.metric)


class Sample:
    """Items of a system, summed by dialogue; figures that lack a variant are left out."""

    def __init__(self, scores: Scores, figures: Sequence[Figure]) -> None:
        self.scores, self.figures = scores, figures
        self._places: dict[_Row, int] = {}
        # Computing the figures once shows which rows they need.
        self._computed(self._note)
        rows = [self._item_scores(*row) for row in self._places]
        stacked = np.stack(rows) if rows else np.empty((0, len(scores.items.ids)))
        # A row for everything that the figures take means of [dialogues, rows].
        self.sums = sums_by_dialogue(stacked, scores.items.dialogue)
        # The mean of a sum over as many dialogues as there are is the sum itself.
        is_sum = [statistic in _SUMS for _, statistic, _ in self._places]
        self.sums.number[:, is_sum] = 1 / max(len(self.sums.number), 1)

    def statistics(self, means: Floats) -> Statistics:
        """The figures [...] of means of rows [..., rows]."""
        return self._computed(lambda row: means[..., self._places[row]])

    def resampled(self, weights: Floats) -> Statistics:
        """The figures [draws] of the dialogues under weights [draws, dialogues]."""
        return self.statistics(self.sums.means(weights))

    def values(self) -> dict[str, float | None]:
        """The figures of the items as they are; None for one that is undefined."""
        if not len(self.sums.total):
            return {}
        statistics = self.resampled(np.ones((1, len(self.sums.total))))
        return {
            key: None if np.isnan(value[0]) else float(value[0])
            for key, value in statistics.items()
        }

    def intervals(self) -> dict[str, Interval]:
        """The 95 % intervals over dialogues."""
        return bootstrap(self.resampled, len(self.sums.total))

    def _note(self, row: _Row) -> Floats:
        self._places.setdefault(row, len(self._places))
        return np.ones(1)

    def _computed(self, row: Callable[[_Row], Floats]) -> Statistics:
        """The figures whose variants are there."""
        statistics = {}
        for figure in self.figures:
            with suppress(KeyError):
                means = Means(row, figure.metric, self.scores.variants)
                statistics[figure.key] = figure.of(means)
        return statistics

    def _item_scores(self, metric: str, statistic: str, variants: Sequence[str]) -> Floats:
        """What a row is of each item [items]."""
        if statistic == "shared":
            return self.scores.shared[metric]
        places = [self.scores.variants.index(variant) for variant in variants]
        scores = self.scores.metrics[metric][places]
        match statistic:
            case "variation":
                return variation(scores, self.scores.zero_mean)
            case "variation_nonzero":
                return variation(scores, "drop")
            case "worst":
                return worst_case(scores)
            case "flips":
                return flipped(scores)
            case _:
                return np.asarray(scores[0])


def variation(scores: Floats, zero_mean: str = "0") -> Floats:
    """Coefficient of variation of scores [variants, items], in [0, sqrt K] or NaN [items].

    Its mean over frames is the schema sensitivity of Lee et al. 2022, "SGD-X: A Benchmark for
    Robust Generalization in Schema-Guided Dialogue Systems" (arXiv 2110.06800).
    """
    if len(scores) < 2:
        return np.full(scores.shape[1:], np.nan)
    mean = scores.mean(axis=0)
    spread = scores.std(axis=0, ddof=1)
    values = safe_divide(spread, mean, otherwise=np.nan if zero_mean == "drop" else 0.0)
    return np.where(np.isnan(mean), np.nan, values)


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


def compare(
    first: Sequence[Sample], second: Sequence[Sample], *, trials: int = TRIALS
) -> dict[str, dict[str, Any]]:
    """Compare all figures of two systems, by one sample a run of each, as `compared` does."""
    if not len(first[0].sums.total):
        return {}
    sides = [run.sums for run in first], [run.sums for run in second]
    return compared(*sides, first[0].statistics, trials)


def against_original(scores: Scores) -> tuple[Scores, Scores] | None:
    """The scores under the original, repeated for every other variant, and those under these."""
    others = [name for name in scores.variants if name != ORIGINAL]
    if ORIGINAL not in scores.variants or not others:
        return None
    first = scores.variants.index(ORIGINAL)
    places = [scores.variants.index(name) for name in others]

    def only(rows: Sequence[int]) -> Scores:
        metrics = {name: of_all[rows] for name, of_all in scores.metrics.items()}
        return replace(scores, variants=others, metrics=metrics)

    return only([first] * len(others)), only(places)


def differences(scores: Scores, figure: Figure) -> dict[str, dict[str, Any]]:
    """By how much a figure, an `Over`, differs under each variant from that under the original."""
    sides = against_original(scores)
    if sides is None:
        return {}
    each = under_each(figure, sides[0].variants)
    original, reworded = (Sample(side, each) for side in sides)
    # As few trials as resamples: more would take longer than all of the scoring.
    return compare([original], [reworded], trials=RESAMPLES)
