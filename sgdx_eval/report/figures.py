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
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.figures import changes_to_original
from sgdx_metric.robustness import ALL as ALL_SERVICES
from sgdx_metric.statistics import RESAMPLES, TRIALS, Figure, Sample, compare, intervals
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
        self, system: System, members: Ints | None = None, headline: str | None = None
    ) -> None:
        self.task = system.first.results.task
        scores = [run.results.scores(members) for run in system.runs]
        self.samples = [
            Sample(
                self.task.headlines(of)[headline] if headline else self.task.figures(of),
                of.items.dialogue,
            )
            for of in scores
        ]
        self.keys = self.task.keys(scores[0])
        self.by_key = {figure.key: figure for figure in self.samples[0].figures}

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
        """The figures as means over the runs, NaN where undefined, and the `loss`."""
        of_runs = [sample.values() for sample in self.samples]
        values = {
            key: float(np.mean([np.nan if run[key] is None else run[key] for run in of_runs]))
            for key in self.by_key
        }
        drop = self.by_key.get(self.task.drop_key(self.keys))
        if drop:
            values["loss"] = values[drop.key] * (1 if drop.lower_is_better else -1)
        return values

    def estimates(self) -> dict[str, Estimate]:
        """The figures as means over the runs, with intervals, and the `loss`."""
        ends, values = intervals(self.samples), self.values()
        made = {key: Estimate(values[key], ends[key]) for key in self.by_key}
        drop = self.by_key.get(self.task.drop_key(self.keys))
        if drop:
            low, high = ends[drop.key] or (np.nan, np.nan)
            turned = [low, high] if drop.lower_is_better else [-high, -low]
            made["loss"] = Estimate(values["loss"], turned if ends[drop.key] else None)
        return made


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


def system_differences(
    first: System, second: System, members: Ints | None = None
) -> dict[str, Estimate]:
    """The second system's figures less the first's, with paired intervals."""
    left, right = Figures(first, members), Figures(second, members)
    known = left.by_key.keys() & right.by_key.keys()
    ours, theirs = (
        [Sample([f for f in s.figures if f.key in known], s.dialogue) for s in of.samples]
        for of in (left, right)
    )
    return {
        key: Estimate(of["difference"], of["interval"])
        for key, of in compare(ours, theirs, trials=1).items()
        if of["difference"] is not None
    }


def under_variants(
    system: System, headline: str, members: Ints | None = None
) -> dict[str, Estimate]:
    """A mean as it is under each variant."""
    return Figures(system, members, headline).estimates()


def changes_under_variants(
    system: System, headline: str, members: Ints | None = None
) -> dict[str, Estimate]:
    """By how much a mean differs under each variant from that under the original, with its p.

    {} without the original or another variant.
    """
    samples = Figures(system, members, headline).samples
    trials = RESAMPLES if len(samples) == 1 else TRIALS  # Of one run as scores.json has them.
    changes = changes_to_original([s.figures for s in samples], samples[0].dialogue, trials)
    return {
        name: Estimate(of_name["difference"], of_name["interval"], of_name["p"])
        for name, of_name in changes.items()
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
