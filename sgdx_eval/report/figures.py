"""What figures of systems are: of each run, as means over runs, and of one system against another.

All of it follows from the scores of items; what is here is fractions, but for BLEU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from sgdx_eval.tables import NO_VALUE, Cell, format_over_runs, interval, number, one_decimal
from sgdx_metric.bootstrap import RESAMPLES, TRIALS, Statistics, bootstrap
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.core import Figure, Sample, against_original, compare, under_each
from sgdx_metric.figures import ALL as ALL_SERVICES
from sgdx_metric.variants import ORIGINAL

from .runs import System


class Estimate(NamedTuple):
    """A figure, and its 95 % interval over dialogues, None where it has none."""

    value: float
    interval: Sequence[float] | None
    p: float | None = None

    def ends(self, text: Callable[[float], str] = one_decimal) -> str:
        """The interval as a text; empty where there is none."""
        return interval(self.interval, text)


class Figures:
    """Figures of some items of a system, or of all."""

    def __init__(
        self, system: System, members: Ints | None = None, chosen: Sequence[Figure] = ()
    ) -> None:
        task = system.first.results.task
        scores = [run.results.scores(members) for run in system.runs]
        self.samples = [Sample(s, chosen or task.own_figures(s)) for s in scores]
        self.keys = task.keys(scores[0])
        self.by_key = {figure.key: figure for s in self.samples for figure in s.figures}

    def cells(self, has_intervals: bool = True) -> dict[str, Cell]:
        """The figures of one run with their intervals, or of several as mean and deviation."""
        values = [sample.values() for sample in self.samples]
        is_one = len(self.samples) == 1
        ends = self.samples[0].intervals() if has_intervals and is_one else {}
        return {
            key: format_over_runs(
                [of_run.get(key) for of_run in values], ends.get(key), partial(shown, figure)
            )
            for key, figure in self.by_key.items()
        }

    def values(self) -> dict[str, float]:
        """The figures as means over the runs; NaN where undefined."""
        ones = np.ones((1, self.dialogues))
        return {key: float(value[0]) for key, value in self.resampled(ones).items()}

    def estimates(self) -> dict[str, Estimate]:
        """The figures as means over the runs, with intervals."""
        return estimated(self.resampled, self.dialogues)

    @property
    def dialogues(self) -> int:
        """How many dialogues the items are of."""
        return len(self.samples[0].sums.total)

    def resampled(self, weights: Floats) -> Statistics:
        """The figures [draws] of the dialogues under weights [draws, dialogues].

        `loss` is what rewording costs, paired within the systems.
        """
        runs = [sample.resampled(weights) for sample in self.samples]
        known = [key for key in runs[0] if all(key in run for run in runs)]
        means = {key: np.asarray(np.mean([run[key] for run in runs], axis=0)) for key in known}
        if {self.keys.original, self.keys.reworded} <= means.keys():
            sign = -1 if self.by_key[self.keys.reworded].lower_is_better else 1
            means["loss"] = sign * (means[self.keys.original] - means[self.keys.reworded])
        return means


def shown(figure: Figure, value: float) -> str:
    """A figure as a text; a difference has its sign."""
    if figure.key.endswith("drop"):
        return signed(figure, value)
    return number(figure.scale * value, _decimals(figure))


def signed(figure: Figure, difference: float) -> str:
    """A difference of a figure with its sign."""
    if isnan(difference):
        return NO_VALUE
    return f"{figure.scale * difference + 0.0:+.{_decimals(figure)}f}"


def _decimals(figure: Figure) -> int:
    return 2 if figure.key.startswith("ser") else 1  # slot error rates are small


def change_cell(figure: Figure, change: Estimate | None) -> Cell:
    """A difference in points with its interval; a dash where there is none."""
    if change is None:
        return Cell(NO_VALUE)
    return Cell(signed(figure, change.value), change.ends(partial(signed, figure)))


def estimated(statistic: Callable[[Floats], Statistics], dialogues: int) -> dict[str, Estimate]:
    """A statistic of all dialogues with its bootstrap interval."""
    intervals = bootstrap(statistic, dialogues)
    values = statistic(np.ones((1, dialogues))) if dialogues else {}
    return {key: Estimate(float(value[0]), intervals.get(key)) for key, value in values.items()}


def system_differences(
    first: System, second: System, members: Ints | None = None
) -> dict[str, Estimate]:
    """The second system's figures less the first's, means over runs, with paired intervals."""
    left, right = Figures(first, members), Figures(second, members)

    def difference(weights: Floats) -> Statistics:
        ours, theirs = left.resampled(weights), right.resampled(weights)
        return {key: theirs[key] - ours[key] for key in ours if key in theirs}

    return estimated(difference, left.dialogues)


def under_variants(
    system: System, figure: Figure, members: Ints | None = None
) -> dict[str, Estimate]:
    """A mean over variants as it is under each."""
    return Figures(system, members, under_each(figure, system.first.results.variants)).estimates()


def changes_under_variants(
    system: System, figure: Figure, members: Ints | None = None
) -> dict[str, Estimate]:
    """By how much a mean differs under each variant from that under the original, with its p.

    {} without the original or another variant.
    """
    of_runs = (against_original(run.results.scores(members)) for run in system.runs)
    sides = [of_run for of_run in of_runs if of_run]
    if not sides:
        return {}
    each = under_each(figure, sides[0][0].variants)
    original, reworded = ([Sample(of_run[i], each) for of_run in sides] for i in (0, 1))
    # Of one run as scores.json has them.
    compared = compare(original, reworded, trials=RESAMPLES if len(sides) == 1 else TRIALS)
    return {
        name: Estimate(of_name["difference"], of_name["interval"], of_name["p"])
        for name, of_name in compared.items()
        if of_name["difference"] is not None
    }


def flip_shares(system: System, variants: Sequence[str]) -> Floats:
    """The share of items right under one variant and wrong under another [row, column].

    Right under the variant of the row, wrong under that of the column, as a mean over the runs.
    """
    shares = []
    for results in (run.results for run in system.runs):
        scores = results.raw.metrics[results.task.main_of(results.raw.metrics)]
        rows = scores[[results.variants.index(name) for name in variants]]
        right, wrong = (rows == 1).astype(np.float64), (rows < 1).astype(np.float64)
        shares.append(right @ wrong.T / max(rows.shape[1], 1))
    return np.asarray(np.mean(shares, axis=0))


def official(stored: Mapping[str, Any], metric: str) -> Sequence[float | None]:
    """A metric of states under the original, over v1 to v5, and its sensitivity, as stored."""
    original = stored.get("variants", {}).get(ORIGINAL, {}).get(ALL_SERVICES, {})
    sgdx = stored.get("sgdx", {})
    over = (sgdx.get(part, {}).get(metric) for part in ("mean_v1-5", "sensitivity"))
    return original.get(metric), *over
