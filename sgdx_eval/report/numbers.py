"""The statistics behind the report's tables and plots, as fractions; those format and draw them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from sgdx_dataset.schema import Slot
from sgdx_metric.bootstrap import bootstrap
from sgdx_metric.columns import Floats, Ints
from sgdx_metric.core import Figure, Means, Sample, Scores, means_under, pooled
from sgdx_metric.report import JGA, joined, state_figures
from sgdx_metric.robustness import mean_defined, variation
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .analysis import Analysis
from .breakage import ActiveIntent, Rewording, SchemaElement
from .run_files import LogLine
from .slot_scores import VariantScores
from .systems import TrackerSystem

# A slot's change is shown where so many frames give it a value, as that of fewer says little.
FEWEST_FRAMES = 5


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


def net_intervals(
    system: TrackerSystem, analysis: Analysis, rewordings: Sequence[Rewording]
) -> list[Rewording]:
    """The same rewordings, with the intervals of the frames that they lose less those they win."""
    dialogue = system.first.results.frame_index.dialogue
    count = 1 + int(dialogue.max(initial=-1))
    if not rewordings:
        return []
    by_dialogue = [
        np.bincount(dialogue[frames], net, count)
        for frames, net in (_net_losses(analysis, rewording.element) for rewording in rewordings)
    ]
    nets = np.stack(by_dialogue, axis=1)  # [dialogues, rewordings]
    names = list(map(str, range(len(rewordings))))
    intervals = bootstrap(lambda weights: dict(zip(names, (weights @ nets).T)), count)
    return [
        r._replace(interval=(ends[0], ends[1])) if (ends := intervals.get(name)) else r
        for name, r in zip(names, rewordings, strict=True)
    ]


def _net_losses(analysis: Analysis, element: SchemaElement) -> tuple[Ints, Floats]:
    """The frames of a slot or intent, and what its rewording loses in each.

    That is 1 for a frame lost, -1 for one won, and the mean over the runs of a system.
    """
    layout = analysis.layout
    if element.is_intent:
        active = ActiveIntent(element.service, element.position)
        members = frames = np.flatnonzero([intent == active for intent in analysis.intents])
    else:
        code = layout.services.index(element.service)
        is_slot = (layout.service == code) & (layout.position == element.position)
        members = np.flatnonzero(is_slot)
        frames = layout.frame[members]

    def is_right(scores: VariantScores) -> Floats:
        of_all = scores.intents if element.is_intent else scores.slots == 1
        return of_all[members].astype(np.float64)

    nets = [is_right(run[ORIGINAL]) - is_right(run[element.variant]) for run in analysis.scores]
    return frames, np.asarray(np.mean(nets, axis=0))


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


@dataclass(frozen=True)
class SlotAccuracies:
    """The mean score of some slots in each run [runs].

    Attributes:
        original: Under the original; empty where it was not scored.
        reworded: The mean under v1 to v5; empty where not all were scored.
        sensitivity: The schema sensitivity over v1 to v5; empty where not all were scored.
    """

    original: Sequence[float]
    reworded: Sequence[float]
    sensitivity: Sequence[float | None]


def slot_accuracies(system: TrackerSystem, analysis: Analysis, slots: Ints) -> SlotAccuracies:
    """The mean score of some slots of all frames, and its schema sensitivity.

    Args:
        system: The system.
        analysis: What it does slot by slot.
        slots: Positions among the slots of all frames.
    """
    variants = set(system.first.variants)
    original: Sequence[float] = []
    reworded: Sequence[float] = []
    sensitivity: list[float | None] = []
    if ORIGINAL in variants:
        original = _slot_means(analysis, slots, ORIGINAL).tolist()
    if set(PAPER_VARIANTS) <= variants:
        means = [_slot_means(analysis, slots, variant) for variant in PAPER_VARIANTS]
        reworded = np.mean(means, axis=0).tolist()
        zero_mean = system.first.results.rules.zero_mean
        for run in analysis.scores:
            scores = np.stack([run[v].slots[slots] for v in PAPER_VARIANTS]).astype(np.float64)
            sensitivity.append(mean_defined(variation(scores, zero_mean)))
    return SlotAccuracies(original, reworded, sensitivity)


def _slot_means(analysis: Analysis, slots: Ints, variant: str) -> Floats:
    """The mean score of some slots under a variant in each run [runs]; NaN for no slots."""
    if not len(slots):
        return np.full(len(analysis.scores), np.nan)
    return np.array([float(run[variant].slots[slots].mean()) for run in analysis.scores])


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


@dataclass(frozen=True)
class SlotChange:
    """What a slot loses under a variant.

    Attributes:
        words: How many words of its name and description are inserted, deleted or replaced.
        loss: Its accuracy under the original less that under the variant, in [-1, 1], over the
            frames that give it a value; a mean over the runs.
        frames: How many frames these are.
    """

    words: int
    loss: float
    frames: int


def slot_changes(analysis: Analysis) -> Iterator[SlotChange]:
    """What each slot loses under each of v1 to v5, where enough frames give it a value."""
    layout = analysis.layout
    width = 1 + int(layout.position.max(initial=0))
    active = np.flatnonzero(layout.active)
    key = (layout.service * width + layout.position)[active]  # a number for each slot of a schema
    frames = np.bincount(key)
    for variant in PAPER_VARIANTS:
        if not all({ORIGINAL, variant} <= run.keys() for run in analysis.scores):
            continue
        loss = np.mean(
            [run[ORIGINAL].slots[active] - run[variant].slots[active] for run in analysis.scores],
            axis=0,
        )
        total = np.bincount(key, loss)
        for slot in np.flatnonzero(frames >= FEWEST_FRAMES).tolist():
            service, position = layout.services[slot // width], slot % width
            before, after = (
                analysis.schemas[name][service].slots[position] for name in (ORIGINAL, variant)
            )
            count = int(frames[slot])
            yield SlotChange(changed_words(before, after), float(total[slot]) / count, count)


def changed_words(before: Slot, after: Slot) -> int:
    """How many words of a name and description are inserted, deleted or replaced.

    The words of a name are those between its underscores; capitals do not count.
    """
    return int(Levenshtein.distance(_words(before), _words(after)))


def _words(slot: Slot) -> list[str]:
    return re.findall(r"[^\W_]+", f"{slot.name} {slot.description}".lower())


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
