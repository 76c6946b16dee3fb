"""From the scores of items under wordings to figures: values, intervals, differences, p-values.

An item is what is answered under several wordings: a frame, a call, a case of tools. All tasks
share what is here. A figure is a function of means over items, said once; its value, its interval
and its difference between two systems follow from it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import numpy as np

from .bootstrap import (
    DIALOGUES,
    RESAMPLES,
    Interval,
    Statistics,
    Sums,
    bootstrap,
    compared,
    compared_over_wordings,
    compared_runs,
    crossed_intervals,
    sums_by_dialogue,
)
from .columns import Floats, Ints
from .robustness import flipped, variation, worst_case
from .variants import ORIGINAL

# A metric, what is taken of it, and the wordings of which it is taken.
_Row = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True)
class Scores:
    """The scores of some items under every wording.

    Attributes:
        wordings: The wordings.
        cluster: The number of the dialogue of each item: intervals are over dialogues [items].
        metrics: Scores in [0, 1], more being better, NaN where undefined [wordings, items].
        zero_mean: What the sensitivity makes of an item that scores 0 throughout, as in `Rules`.
    """

    wordings: list[str]
    cluster: Ints
    metrics: Mapping[str, Floats]
    zero_mean: str = "0"


class Means:
    """The means of one metric over the items of each resample, for figures to be made of [draws].

    A KeyError says that a figure needs a wording that is not there.
    """

    def __init__(self, row: Callable[[_Row], Floats], metric: str, wordings: Sequence[str]) -> None:
        self._row, self._metric, self.wordings = row, metric, wordings

    def under(self, wording: str) -> Floats:
        """The mean under a wording."""
        return self._across("mean", [wording])

    def over(self, wordings: Sequence[str]) -> Floats:
        """The mean over wordings, all of which must be there, of the means under each."""
        means = [self.under(wording) for wording in wordings]
        if not means:
            raise KeyError
        return np.asarray(np.mean(means, axis=0))

    def sensitivity(self, wordings: Sequence[str]) -> Floats:
        """The mean of each item's coefficient of variation over two wordings or more."""
        return self._of_several("variation", wordings)

    def worst(self, wordings: Sequence[str]) -> Floats:
        """The mean of each item's least score."""
        return self._of_several("worst", wordings)

    def flips(self, wordings: Sequence[str]) -> Floats:
        """The share of items that are right under one wording and wrong under another."""
        return self._of_several("flips", wordings)

    def _of_several(self, statistic: str, wordings: Sequence[str]) -> Floats:
        if len(wordings) < 2:
            raise KeyError(wordings)
        return self._across(statistic, wordings)

    def _across(self, statistic: str, wordings: Sequence[str]) -> Floats:
        if missing := [wording for wording in wordings if wording not in self.wordings]:
            raise KeyError(*missing)
        return self._row((self._metric, statistic, tuple(wordings)))


class _DrawnMeans(Means):
    """Means where wordings are drawn, too: only a mean over those that are drawn is defined.

    The least of wordings that are drawn twice is of fewer wordings, and so is their deviation.
    """

    def __init__(
        self,
        row: Callable[[_Row], Floats],
        metric: str,
        wordings: Sequence[str],
        drawn: Sequence[str],
        shares: Floats,  # of each wording of `drawn` in each resample [draws, wordings]
    ) -> None:
        super().__init__(row, metric, wordings)
        self._drawn, self._shares = drawn, shares

    def over(self, wordings: Sequence[str]) -> Floats:
        if sorted(wordings) != sorted(self._drawn):
            raise KeyError(*wordings)
        means = np.stack([self.under(wording) for wording in self._drawn], axis=1)
        return np.asarray((means * self._shares).sum(axis=1))

    def _of_several(self, statistic: str, wordings: Sequence[str]) -> Floats:
        raise KeyError(statistic)


# By the key of each figure its metric, and what it is of that metric's means.
Figures = Mapping[str, tuple[str, Callable[[Means], Floats]]]


def means_under(metric: str, wordings: Sequence[str]) -> Figures:
    """The mean under each wording as a figure, by the name of the wording."""
    return {name: (metric, methodcaller("under", name)) for name in wordings}


class Sample:
    """Items of a system, summed by dialogue into the rows that some figures need.

    Attributes:
        scores: The scores of the items.
        figures: The figures; those that lack a wording are left out of all results.
        sums: A row for everything that the figures take means of [dialogues, rows].
    """

    def __init__(self, scores: Scores, figures: Figures) -> None:
        self.scores, self.figures = scores, figures
        self._places: dict[_Row, int] = {}
        # Computing the figures once shows which rows they need.
        _computed(figures, self._means(self._note))
        rows = [self._item_scores(*row) for row in self._places]
        stacked = np.stack(rows) if rows else np.empty((0, len(scores.cluster)))
        self.sums = sums_by_dialogue(stacked, scores.cluster)

    def statistics(self, means: Floats) -> Statistics:
        """The figures [...] of the means of the rows [..., rows]."""
        return _computed(self.figures, self._means(lambda row: means[..., self._places[row]]))

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

    def intervals(self, over: str = DIALOGUES, drawn: Sequence[str] = ()) -> dict[str, Interval]:
        """The 95 % intervals of the figures.

        Args:
            over: What they are over: "dialogues", "wordings" or "both".
            drawn: The wordings that are drawn anew in the latter two; without all of them there is
                no interval. Figures other than means over all of them, or under one, have none.
        """
        count, wordings = len(self.sums.total), self.scores.wordings
        if over == DIALOGUES:
            return bootstrap(self.resampled, count)
        if not set(drawn) <= set(wordings):
            return {}

        def statistic(weights: Floats, shares: Floats) -> Statistics:
            means = self.sums.means(weights)

            def of_metric(metric: str) -> Means:
                def row(name: _Row) -> Floats:
                    return np.asarray(means[..., self._places[name]])

                return _DrawnMeans(row, metric, wordings, drawn, shares)

            return _computed(self.figures, of_metric)

        return crossed_intervals(statistic, count, len(drawn), over)

    def under(self, metric: str, wordings: Sequence[str]) -> Sums:
        """The sums of a metric's scores under some wordings, which the figures are made of."""
        return self.sums.only([self._places[metric, "mean", (wording,)] for wording in wordings])

    def _note(self, row: _Row) -> Floats:
        self._places.setdefault(row, len(self._places))
        return np.ones(1)

    def _means(self, row: Callable[[_Row], Floats]) -> Callable[[str], Means]:
        return lambda metric: Means(row, metric, self.scores.wordings)

    def _item_scores(self, metric: str, statistic: str, wordings: Sequence[str]) -> Floats:
        """What a row is of each item [items]."""
        places = [self.scores.wordings.index(wording) for wording in wordings]
        scores = self.scores.metrics[metric][places]
        match statistic:
            case "variation":
                return variation(scores, self.scores.zero_mean)
            case "worst":
                return worst_case(scores)
            case "flips":
                return flipped(scores)
            case _:
                return np.asarray(scores[0])


def _computed(figures: Figures, means: Callable[[str], Means]) -> Statistics:
    """The figures whose wordings are there."""
    statistics = {}
    for key, (metric, of) in figures.items():
        with suppress(KeyError):
            statistics[key] = of(means(metric))
    return statistics


def pooled(samples: Sequence[Sample]) -> Sample:
    """The runs of a system on the same items as one, whose means are means over the runs."""
    total = np.sum([sample.sums.total for sample in samples], axis=0)
    number = np.sum([sample.sums.number for sample in samples], axis=0)
    together = copy(samples[0])
    together.sums = Sums(total, number)
    return together


def compare(first: Sequence[Sample], second: Sequence[Sample]) -> dict[str, dict[str, Any]]:
    """Compare all figures of two systems, by one sample a run of each, of the same items.

    Returns:
        What `compared` has for single runs, and `compared_runs` for several of a side; {} where
        there are no items.
    """
    if not len(first[0].sums.total):
        return {}
    sums = [run.sums for run in first], [run.sums for run in second]
    if len(first) == len(second) == 1:
        return compared(sums[0][0], sums[1][0], first[0].statistics)
    return compared_runs(*sums, first[0].statistics)


def compare_over_wordings(
    first: Sequence[Sample],
    second: Sequence[Sample],
    means: Mapping[str, tuple[str, Sequence[str]]],
    over: str,
) -> dict[str, dict[str, Any]]:
    """Compare means over wordings that are a sample, too, as `compared_over_wordings` does.

    Args:
        first, second: As for `compare`.
        means: By the key of each figure its metric and the wordings that it is a mean over.
        over: "wordings" or "both".
    """
    if not len(first[0].sums.total):
        return {}
    comparisons = {}
    for key, (metric, names) in means.items():
        ours, theirs = (
            [Sample(run.scores, means_under(metric, names)).sums for run in side]
            for side in (first, second)
        )
        comparisons[key] = compared_over_wordings(ours, theirs, over)
    return comparisons


def differences(scores: Scores, metric: str) -> dict[str, dict[str, float | None]]:
    """By how much the scores under each wording differ from those under the original.

    Returns:
        For each wording but the original `difference`, its 95 % interval from `low` to `high`, and
        `p` of paired approximate randomisation; None without the original.
    """
    others = [name for name in scores.wordings if name != ORIGINAL]
    comparisons: dict[str, Any] = {}
    if ORIGINAL in scores.wordings and others and len(scores.cluster):
        sample = Sample(scores, means_under(metric, scores.wordings))
        comparisons = compared(
            sample.under(metric, [ORIGINAL] * len(others)),
            sample.under(metric, others),
            lambda means: {name: means[..., i] for i, name in enumerate(others)},
            RESAMPLES,  # as few trials: more would take longer than all of the scoring
        )
    of_wordings = {}
    for name in others:
        against = comparisons.get(name, {})
        low, high = against.get("interval") or (None, None)
        of_wordings[name] = {
            "difference": against.get("difference"),
            "low": low,
            "high": high,
            "p": against.get("p"),
        }
    return of_wordings
