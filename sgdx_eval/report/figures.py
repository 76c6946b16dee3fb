"""What figures of systems are: of each run, as means over runs, and of one system against another.

All of it follows from the scores of items; what is here is fractions, but for BLEU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from sgdx_eval.tables import NO_VALUE, Cell, format_over_runs, interval, number, one_decimal
from sgdx_metric.bootstrap import Statistics, bootstrap
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.core import Figure, Over, Sample, against_original, compare, differences
from sgdx_metric.report import ALL as ALL_SERVICES
from sgdx_metric.units import ALL
from sgdx_metric.variants import ORIGINAL

from .runs import Group, Run, System


class Estimate(NamedTuple):
    """A figure, and its 95 % interval over dialogues, None where it has none."""

    value: float
    interval: tuple[float, float] | None
    p: float | None = None

    def ends(self, text: Callable[[float], str] = one_decimal) -> str:
        """The interval as a text; empty where there is none."""
        return interval(self.interval, text)


class Figures:
    """Figures of some items of a system, or of all."""

    def __init__(
        self, system: System, members: Ints | None = None, chosen: Sequence[Figure] = ()
    ) -> None:
        self.samples = [_sample(run, members, chosen) for run in system.runs]
        self.keys = system.first.view.keys(self.samples[0].scores)
        self.by_key = {figure.key: figure for s in self.samples for figure in s.figures}

    def cells(self, has_intervals: bool = True) -> dict[str, Cell]:
        """The figures of one run with their intervals, or of several as mean and deviation."""
        values = [sample.values() for sample in self.samples]
        is_one = len(self.samples) == 1
        ends = self.samples[0].intervals() if has_intervals and is_one else {}
        return {
            key: format_over_runs(
                [of_run.get(key) for of_run in values], _pair(ends.get(key)), partial(shown, figure)
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


def _sample(run: Run, members: Ints | None, chosen: Sequence[Figure]) -> Sample:
    scores = run.results.scores(members)
    return Sample(scores, chosen or run.view.figures(run.results, scores))


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


def estimated(statistic: Callable[[Floats], Statistics], dialogues: int) -> dict[str, Estimate]:
    """A statistic of all dialogues with its bootstrap interval."""
    intervals = bootstrap(statistic, dialogues)
    values = statistic(np.ones((1, dialogues))) if dialogues else {}
    return {
        key: Estimate(float(value[0]), _pair(intervals.get(key))) for key, value in values.items()
    }


def _pair(ends: Sequence[float] | None) -> tuple[float, float] | None:
    return (ends[0], ends[1]) if ends else None


def system_differences(
    first: System, second: System, members: Ints | None = None
) -> dict[str, Estimate]:
    """The second system's figures less the first's, means over runs, with paired intervals."""
    left, right = Figures(first, members), Figures(second, members)

    def difference(weights: Floats) -> Statistics:
        ours, theirs = left.resampled(weights), right.resampled(weights)
        return {key: theirs[key] - ours[key] for key in ours if key in theirs}

    return estimated(difference, left.dialogues)


def under_wordings(
    system: System, figure: Figure, members: Ints | None = None
) -> dict[str, Estimate]:
    """A mean over wordings as it is under each."""
    of_each = Figures(system, members, _each(figure, system.first.results.variants))
    return estimated(of_each.resampled, of_each.dialogues)


def changes_under_wordings(
    system: System, figure: Figure, members: Ints | None = None
) -> dict[str, Estimate]:
    """By how much a mean differs under each wording from that under the original, with its p.

    {} without the original or another wording.
    """
    scores = [run.results.scores(members) for run in system.runs]
    sides = [side for of_run in scores if (side := against_original(of_run))]
    if not sides:
        return {}
    if len(scores) == 1:
        compared = differences(scores[0], figure)
    else:
        each = _each(figure, sides[0][0].wordings)
        samples = [[Sample(side[i], each) for side in sides] for i in (0, 1)]
        compared = compare(samples[0], samples[1])
    return {
        name: Estimate(of_name["difference"], _pair(of_name["interval"]), of_name["p"])
        for name, of_name in compared.items()
        if of_name["difference"] is not None
    }


def _each(figure: Figure, wordings: Sequence[str]) -> list[Figure]:
    if not isinstance(figure.of, Over):
        raise TypeError(f"{figure.key} is no mean over wordings")
    return replace(figure.of, wordings=wordings).each(figure.metric)


def flip_shares(system: System, wordings: Sequence[str]) -> Floats:
    """The share of items right under one wording and wrong under another [row, column].

    Right under the wording of the row, wrong under that of the column, as a mean over the runs.
    """
    shares = []
    for results in (run.results for run in system.runs):
        scores = results.raw.metrics[results.task.main]
        rows = scores[[results.variants.index(name) for name in wordings]]
        right, wrong = (rows == 1).astype(np.float64), (rows < 1).astype(np.float64)
        shares.append(right @ wrong.T / max(rows.shape[1], 1))
    return np.asarray(np.mean(shares, axis=0))


def sets_of(group: Group) -> dict[str, Ints]:
    """The positions of all items, and of those in and outside each set, where there are any."""
    services = {*group.results.raw.items.services()}
    groups = group.results.raw.items.groups()
    return {
        name.replace("_", " "): members
        for name, members in groups.items()
        if name not in services and (len(members) or name == ALL)
    }


def services_of(group: Group) -> dict[str, Ints]:
    """The positions of the items of each service, by its name."""
    items = group.results.raw.items
    return {name: members for name, members in items.groups().items() if name in items.services()}


def domains_of(group: Group) -> dict[str, Ints]:
    """The positions of the items of each domain, a service's name up to its first underscore."""
    domain = np.array([name.split("_")[0] for name in group.results.raw.items.service])
    return {name: np.flatnonzero(domain == name) for name in sorted({*domain.tolist()} - {""})}


def official(stored: Mapping[str, Any], metric: str) -> Sequence[float | None]:
    """A metric of states under the original, over v1 to v5, and its sensitivity, as stored."""
    original = stored.get("variants", {}).get(ORIGINAL, {}).get(ALL_SERVICES, {})
    sgdx = stored.get("sgdx", {})
    over = (sgdx.get(part, {}).get(metric) for part in ("mean_v1-5", "sensitivity"))
    return original.get(metric), *over


Logs = Mapping[str, Sequence[Mapping[str, float]]]


def has_times(logs: Logs) -> bool:
    """Whether every loss in the logs has the seconds that its steps took."""
    return all("seconds" in line for log in logs.values() for line in log if "loss" in line)


def training_curves(logs: Logs) -> Iterator[tuple[str, Floats, Floats]]:
    """The sub-model of each log, and over its training the losses and the scores on dev [2, lines].

    Both have minutes of training in the first row where the logs have times, else steps. Scores are
    fractions. The sub-model is "" for a model that has none, and for all of them together.
    """
    seconds = {name: [line.get("seconds", 0.0) for line in log] for name, log in logs.items()}
    for name, log in logs.items():
        losses = {i: line["loss"] for i, line in enumerate(log) if "loss" in line}
        dev = {i: v for i, line in enumerate(log) for k, v in line.items() if k[:4] == "dev_"}
        if not has_times(logs):
            x = np.array([line["step"] for line in log], dtype=np.float64)
        elif losses or name:
            x = np.cumsum(seconds[name]) / 60
        else:  # the score of all sub-models together, which is known after the last
            x = np.full(len(log), sum(map(sum, seconds.values())) / 60)
        of_loss, of_dev = (np.array([x[list(y)], list(y.values())]) for y in (losses, dev))
        yield name, of_loss, of_dev
