"""From the scores of items under wordings to figures: values, intervals, differences, p-values.

An item is what is answered under several wordings: a frame, a call, a case of tools. All tasks
share what is here. A figure is a function of means over items, said once; its value, its interval
and its difference between two systems follow from it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

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
from .units import Items
from .variants import ORIGINAL

# A metric, what is taken of it, and the wordings of which it is taken.
_Row = tuple[str, str, tuple[str, ...]]
_SUMS = ("sum", "shared")


@dataclass(frozen=True)
class Scores:
    """The scores of items under every wording: what statistics, comparisons and pages read."""

    wordings: Sequence[str]
    items: Items
    # More being better, NaN where undefined; the first decides. Or counts, for figures that are
    # ratios of sums [wordings, items].
    metrics: Mapping[str, Floats]
    # What the sensitivity makes of an item that scores 0 throughout, as in `Rules`.
    zero_mean: str = "0"
    # What wordings together make of each item, to be added up [items].
    shared: Mapping[str, Floats] = field(default_factory=dict)

    def only(self, members: Ints) -> "Scores":
        """The scores of the items at some positions."""
        metrics = {name: rows[:, members] for name, rows in self.metrics.items()}
        shared = {name: row[members] for name, row in self.shared.items()}
        return replace(self, items=self.items.only(members), metrics=metrics, shared=shared)


class Means:
    """The means of one metric over the items of each resample, for figures to be made of [draws].

    A KeyError says that a figure needs a wording that is not there.
    """

    def __init__(self, row: Callable[[_Row], Floats], metric: str, wordings: Sequence[str]) -> None:
        self._row, self._metric, self.wordings = row, metric, wordings

    def under(self, wording: str) -> Floats:
        """The mean under a wording."""
        return self._across("mean", [wording])

    def over(
        self, wordings: Sequence[str], of: Callable[["Means", str], Floats] | None = None
    ) -> Floats:
        """The mean over wordings, all of which must be there, of what there is under each."""
        values = [(of or Means.under)(self, wording) for wording in wordings]
        if not values:
            raise KeyError
        return np.asarray(np.mean(values, axis=0))

    def sensitivity(self, wordings: Sequence[str]) -> Floats:
        """The mean of each item's coefficient of variation over two wordings or more."""
        return self._of_several("variation", wordings)

    def worst(self, wordings: Sequence[str]) -> Floats:
        """The mean of each item's least score."""
        return self._of_several("worst", wordings)

    def flips(self, wordings: Sequence[str]) -> Floats:
        """The share of items that are right under one wording and wrong under another."""
        return self._of_several("flips", wordings)

    def sum(self, count: str, wording: str) -> Floats:
        """The sum of a count, whatever the metric, under a wording."""
        return Means(self._row, count, self.wordings)._across("sum", [wording])

    def shared(self, name: str) -> Floats:
        """The sum of what wordings together make of each item."""
        return self._row((name, "shared", ()))

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

    def over(
        self, wordings: Sequence[str], of: Callable[[Means, str], Floats] | None = None
    ) -> Floats:
        if sorted(wordings) != sorted(self._drawn):
            raise KeyError(*wordings)
        values = np.stack([(of or Means.under)(self, name) for name in self._drawn], axis=1)
        return np.asarray((values * self._shares).sum(axis=1))

    def _of_several(self, statistic: str, wordings: Sequence[str]) -> Floats:
        raise KeyError(statistic)


class Figure(NamedTuple):
    """A figure, said once: what scores.json calls it, its formula, and what readers are told."""

    key: str
    # The metric of whose means it is a function.
    metric: str
    # A KeyError says that a wording it needs is lacking.
    of: Callable[[Means], Floats]
    title: str = ""
    # What the words of the title mean, a sentence each.
    legend: Sequence[str] = ()
    lower_is_better: bool = False
    # What it is multiplied by to be shown.
    scale: float = 100


@dataclass(frozen=True)
class Over:
    """The formula of a mean over wordings of what there is under each."""

    wordings: Sequence[str]
    under: Callable[[Means, str], Floats] = Means.under

    def __call__(self, means: Means) -> Floats:
        return means.over(self.wordings, self.under)

    def each(self, metric: str) -> list[Figure]:
        """The figure under each of the wordings, by the name of the wording."""
        return [_under(metric, name, self.under) for name in self.wordings]


def _under(metric: str, wording: str, under: Callable[[Means, str], Floats]) -> Figure:
    return Figure(wording, metric, lambda means: under(means, wording))


def means_under(metric: str, wordings: Sequence[str]) -> list[Figure]:
    """The mean under each wording as a figure, by the name of the wording."""
    return Over(wordings).each(metric)


class Sample:
    """Items of a system, summed by dialogue into the rows that some figures need.

    Figures that lack a wording are left out of all results.
    """

    def __init__(self, scores: Scores, figures: Sequence[Figure]) -> None:
        self.scores, self.figures = scores, figures
        self._places: dict[_Row, int] = {}
        # Computing the figures once shows which rows they need.
        _computed(figures, self._means(self._note))
        rows = [self._item_scores(*row) for row in self._places]
        stacked = np.stack(rows) if rows else np.empty((0, len(scores.items.ids)))
        # A row for everything that the figures take means of [dialogues, rows].
        self.sums = sums_by_dialogue(stacked, scores.items.dialogue)
        # The mean of a sum over as many dialogues as there are is the sum itself.
        is_sum = [statistic in _SUMS for _, statistic, _ in self._places]
        self.sums.number[:, is_sum] = 1 / max(len(self.sums.number), 1)

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
        """The 95 % intervals of the figures over "dialogues", "wordings" or "both".

        In the latter two the wordings of `drawn` are drawn anew; without all of them there is no
        interval. Figures other than means over all of them, or under one, have none.
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
        if statistic == "shared":
            return self.scores.shared[metric]
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


def _computed(figures: Sequence[Figure], means: Callable[[str], Means]) -> Statistics:
    """The figures whose wordings are there."""
    statistics = {}
    for figure in figures:
        with suppress(KeyError):
            statistics[figure.key] = figure.of(means(figure.metric))
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

    The result is that of `compared` for single runs, and of `compared_runs` for several of a side.
    """
    if not len(first[0].sums.total):
        return {}
    sums = [run.sums for run in first], [run.sums for run in second]
    if len(first) == len(second) == 1:
        return compared(sums[0][0], sums[1][0], first[0].statistics)
    return compared_runs(*sums, first[0].statistics)


def compare_over_wordings(
    first: Sequence[Scores], second: Sequence[Scores], figures: Sequence[Figure], over: str
) -> dict[str, dict[str, Any]]:
    """Compare means over wordings that are a sample, too, by the scores of each run.

    Each figure is an `Over`, and its result that of `compared_over_wordings`.
    """
    if not len(first[0].items.ids):
        return {}
    comparisons = {}
    for figure in figures:
        each = _each(figure)
        ours, theirs = ([Sample(run, each) for run in side] for side in (first, second))
        comparisons[figure.key] = compared_over_wordings(
            [run.sums for run in ours], [run.sums for run in theirs], _by_wording(ours[0]), over
        )
    return comparisons


def _each(figure: Figure, wordings: Sequence[str] = ()) -> list[Figure]:
    """The figure, a mean over wordings, under each of these or of others."""
    if not isinstance(figure.of, Over):
        raise TypeError(f"{figure.key} is no mean over wordings")
    return replace(figure.of, wordings=wordings or figure.of.wordings).each(figure.metric)


def _by_wording(sample: Sample) -> Callable[[Floats], Floats]:
    """What makes the figures under each wording [draws, wordings] of means [draws, rows]."""
    return lambda means: np.stack(list(sample.statistics(means).values()), axis=-1)


def against_original(scores: Scores) -> tuple[Scores, Scores] | None:
    """What is under the original, in the place of every other wording, and what is under these.

    So the two can be compared as two systems can. None without the original or another wording.
    """
    others = [name for name in scores.wordings if name != ORIGINAL]
    if ORIGINAL not in scores.wordings or not others:
        return None
    first = scores.wordings.index(ORIGINAL)
    places = [scores.wordings.index(name) for name in others]

    def only(rows: Sequence[int]) -> Scores:
        metrics = {name: of_all[rows] for name, of_all in scores.metrics.items()}
        return replace(scores, wordings=others, metrics=metrics)

    return only([first] * len(others)), only(places)


def differences(scores: Scores, figure: Figure) -> dict[str, dict[str, Any]]:
    """By how much a figure, an `Over`, differs under each wording from that under the original.

    For each wording but the original the comparison of `compared`; {} without the original.
    """
    sides = against_original(scores)
    if sides is None or not len(scores.items.ids):
        return {}
    each = _each(figure, sides[0].wordings)
    original, reworded = (Sample(side, each) for side in sides)
    # As few trials as resamples: more would take longer than all of the scoring.
    return compared(original.sums, reworded.sums, reworded.statistics, RESAMPLES)
