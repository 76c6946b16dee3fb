"""The statistics behind the report's tables and plots, as fractions; those format and draw them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sgdx_metric.bootstrap import bootstrap
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.core import Figure, Means, Sample, Scores, means_under, pooled
from sgdx_metric.report import JGA, joined, state_figures
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .run_files import LogLine
from .systems import TrackerSystem


class Estimate(NamedTuple):
    """A number and its 95 % interval over dialogues, None where it has none."""

    value: float
    interval: tuple[float, float] | None


def system_sample(
    system: TrackerSystem, frames: Ints | None = None, also: Sequence[Figure] = ()
) -> Sample:
    """All of a system's runs as one sample, whose means are means over the runs.

    Args:
        system: The system.
        frames: Positions of the frames; None for all.
        also: Figures beside those of ``state_figures``.
    """
    if frames is None:
        frames = np.arange(len(system.first.results.frame_ids))
    return pooled(
        [Sample(scores, [*state_figures(scores), *also]) for scores in _scores(system, frames)]
    )


def _scores(system: TrackerSystem, frames: Ints) -> list[Scores]:
    """The joint goal accuracy of some frames in each run."""
    return [
        joined(replace(r.raw, metrics={JGA: r.raw.metrics[JGA]}).only(frames), r.rules)
        for r in (run.results for run in system.runs)
    ]


def headline_scores(system: TrackerSystem, frames: Ints) -> dict[str, float]:
    """JGA_orig, JGA_v1-5, Diff_rel, SS_JGA, JGA_worst and flips of some frames, as means over runs.

    Those that the variants do not give are left out.

    Args:
        system: The system.
        frames: Positions of the frames.
    """
    scores = _numbers(system_sample(system, frames).values())
    if {"jga_orig", "jga_v1-5"} <= scores.keys() and scores["jga_orig"]:
        scores["relative_difference"] = scores["jga_v1-5"] / scores["jga_orig"] - 1
    return scores


def _numbers(values: Mapping[str, float | None]) -> dict[str, float]:
    return {key: np.nan if value is None else value for key, value in values.items()}


def frames_by_service(system: TrackerSystem) -> dict[str, Ints]:
    """Positions of the frames of each service, by its original name."""
    index = system.first.results.frame_index
    return {name: np.flatnonzero(index.service == name) for name in index.services()}


def paired_differences(first: TrackerSystem, second: TrackerSystem) -> dict[str, Estimate]:
    """The second system's headline scores less the first's, each with its paired interval."""
    left, right = system_sample(first), system_sample(second)

    def difference(weights: Floats) -> dict[str, Floats]:
        ours, theirs = left.resampled(weights), right.resampled(weights)
        return {name: theirs[name] - ours[name] for name in ours}

    return _estimates(difference, len(left.sums.total))


def headline_estimates(system: TrackerSystem) -> dict[str, Estimate]:
    """A system's headline scores and `drop`, JGA_orig less JGA_v1-5; those the variants give.

    They are means over the runs, with intervals that are paired within the system.
    """
    loss = Figure("drop", JGA, lambda m: m.under(ORIGINAL) - m.over(PAPER_VARIANTS))
    return _sample_estimates(system_sample(system, also=[loss]))


def changes_by_variant(system: TrackerSystem) -> dict[str, Estimate]:
    """A system's joint goal accuracy under each rewording less that under the original."""

    def change(name: str) -> Callable[[Means], Floats]:
        return lambda means: means.under(name) - means.under(ORIGINAL)

    reworded = [name for name in system.first.results.variants if name != ORIGINAL]
    return _variant_estimates(system, [Figure(name, JGA, change(name)) for name in reworded])


def means_by_variant(system: TrackerSystem) -> dict[str, Estimate]:
    """A system's joint goal accuracy under each variant, a mean over the runs."""
    return _variant_estimates(system, means_under(JGA, system.first.results.variants))


def _variant_estimates(system: TrackerSystem, figures: Sequence[Figure]) -> dict[str, Estimate]:
    """Figures of all frames under each variant, as means over the runs."""
    every = np.arange(len(system.first.results.frame_ids))
    samples = [Sample(scores, figures) for scores in _scores(system, every)]
    return _sample_estimates(pooled(samples))


def _sample_estimates(sample: Sample) -> dict[str, Estimate]:
    return _estimates(sample.resampled, len(sample.sums.total))


def _estimates(
    statistic: Callable[[Floats], dict[str, Floats]], dialogues: int
) -> dict[str, Estimate]:
    """A statistic of all dialogues, with bootstrap intervals, as in ``bootstrap``."""
    intervals = bootstrap(statistic, dialogues)
    estimates = {}
    for name, values in statistic(np.ones((1, dialogues))).items():
        ends = intervals.get(name)
        estimates[name] = Estimate(float(values[0]), (ends[0], ends[1]) if ends else None)
    return estimates


def flip_shares(system: TrackerSystem, variants: Sequence[str]) -> Floats:
    """The share of frames right under one variant and wrong under another [row, column].

    A mean over the runs; right under the variant of the row, wrong under that of the column.
    """
    shares = [_flip_shares(run.results.joint["jga"], variants) for run in system.runs]
    return np.asarray(np.mean(shares, axis=0))


def _flip_shares(jga: Mapping[str, Floats], variants: Sequence[str]) -> Floats:
    right = np.array([jga[name] == 1 for name in variants], dtype=np.float64)
    wrong = np.array([jga[name] < 1 for name in variants], dtype=np.float64)
    shares: Floats = right @ wrong.T / max(right.shape[1], 1)
    return shares


Logs = Mapping[str, Sequence[LogLine]]  # by sub-model, as in RunRecord


@dataclass(frozen=True)
class TrainingCurve:
    """The loss and the score on dev over the training of a model or of one of its sub-models.

    Attributes:
        sub_model: The sub-model; "" for a model that has none, and for all sub-models together.
        loss_x, dev_x: Minutes of training where the logs have times, else steps.
        losses: The training loss at ``loss_x``.
        dev_scores: The score on dev at ``dev_x``, a fraction.
    """

    sub_model: str
    loss_x: Floats
    losses: Floats
    dev_x: Floats
    dev_scores: Floats


def has_times(logs: Logs) -> bool:
    """Whether every loss in the logs has the seconds that its steps took."""
    return all("seconds" in line for log in logs.values() for line in log if "loss" in line)


def training_curves(logs: Logs) -> Iterator[TrainingCurve]:
    """The curves of a training, one for each log."""
    timed = has_times(logs)
    seconds = {name: [line.get("seconds", 0.0) for line in log] for name, log in logs.items()}
    for name, log in logs.items():
        losses = [i for i, line in enumerate(log) if "loss" in line]
        dev = {i: v for i, line in enumerate(log) for k, v in line.items() if k[:4] == "dev_"}
        if not timed:
            x = np.array([line["step"] for line in log], dtype=np.float64)
        elif losses or name:
            x = np.cumsum(seconds[name]) / 60
        else:  # the score of all sub-models together, which is known after the last
            x = np.full(len(log), sum(map(sum, seconds.values())) / 60)
        yield TrainingCurve(
            sub_model=name,
            loss_x=x[losses],
            losses=np.array([log[i]["loss"] for i in losses]),
            dev_x=x[list(dev)],
            dev_scores=np.array(list(dev.values())),
        )
