"""Figures of the same cases under any variants: the drop, the worst case, flips, sensitivity.

They serve the calls of SGD, whole dialogues, and the cases of any other API alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import methodcaller
from typing import Any

import numpy as np

from .bootstrap import (
    RESAMPLES,
    Interval,
    bounded_interval,
    exact_at_edge,
    sums_by_dialogue,
)
from .columns import Bools, Floats, Ints
from .core import (
    RIGHT,
    Figure,
    Means,
    Over,
    Sample,
    Scores,
    against_original,
    compare,
    mean_defined,
)
from .variants import ORIGINAL, PAPER_VARIANTS

# The figures of a metric over variants, which have 95 % intervals.
FIGURES = ("original", "reworded", "v1-5", "drop", "sensitivity", "worst", "flips")
_TASK = "task_success"
_LEGENDS = {
    "original": "original: under the original words.",
    "reworded": "reworded: the mean over all variants but the original.",
    "v1-5": "v1-5: the mean over v1 to v5.",
    "drop": "drop: reworded less original.",
    "sensitivity": "SS, sensitivity: how far a score varies over variants, in % of its mean.",
    "worst": "worst: each under the variant that is worst for it.",
    "flips": "flips: right under one variant and wrong under another.",
}
_LOWER_IS_BETTER = ("sensitivity", "flips")


def one_run(metric: str) -> str:
    """The metric of the first run alone, where there are several under one variant."""
    return f"{metric} of one run"


def case_figures(scores: Scores, metric: str, title: str = "", legend: str = "") -> list[Figure]:
    """FIGURES of a metric, with keys such as `call_accuracy.drop`."""
    others = [name for name in scores.variants if name != ORIGINAL]
    # Of several runs the scores are means, by which fewer cases flip than in a single run.
    single = one_run(metric) if one_run(metric) in scores.metrics else metric

    def drop(means: Means) -> Floats:
        return means.over(others) - means.under(ORIGINAL)

    formulas: dict[str, Callable[[Means], Floats]] = {
        "original": methodcaller("under", ORIGINAL),
        "reworded": Over(others),
        "v1-5": Over(PAPER_VARIANTS),
        "drop": drop,
        "sensitivity": methodcaller("sensitivity", others),
        "worst": methodcaller("worst", scores.variants),
        "flips": methodcaller("flips", scores.variants),
    }
    return [
        Figure(
            f"{metric}.{key}",
            single if key in ("sensitivity", "worst", "flips") else metric,
            of,
            f"{title} {'SS' if key == 'sensitivity' else key}",
            (legend, _LEGENDS[key]),
            key in _LOWER_IS_BETTER,
        )
        for key, of in formulas.items()
    ]


def over_variants(scores: Scores, metric: str) -> dict[str, Any]:
    """Sum up a metric under any variants: means, FIGURES, intervals, the drop's p."""
    sample = Sample(scores, case_figures(scores, metric))
    intervals = sample.intervals()
    return {
        **_figures(sample, metric),
        "p": _p_of_drop(scores, metric),
        "confidence": {key: intervals.get(f"{metric}.{key}") for key in FIGURES},
    }


def over_variants_of_few(scores: Scores, metric: str) -> dict[str, Any]:
    """What `over_variants` returns, with intervals that hold for few dialogues too.

    That of the drop is a `change_interval`, and none is a point at 0 or at the most.
    """
    figures = over_variants(scores, metric)
    others = [name for name in scores.variants if name != ORIGINAL]
    defined = ~np.isnan(scores.metrics[metric]).all(axis=0)
    dialogues = len(np.unique(scores.items.dialogue[defined]))
    confidence = figures["confidence"]
    for key, ends in confidence.items():
        most = len(others) ** 0.5 if key == "sensitivity" else 1.0
        confidence[key] = exact_at_edge(ends, dialogues, most)
    confidence["drop"] = change_interval(scores, metric, others) or confidence["drop"]
    return figures


def change_interval(scores: Scores, metric: str, variants: Sequence[str]) -> Interval:
    """The interval of a metric's mean under variants less that under the original.

    It holds for few dialogues too. None where one of them is lacking, or where an item has a score
    under one of them alone.
    """
    names = [ORIGINAL, *variants]
    if not variants or not {*names} <= {*scores.variants}:
        return None
    rows = scores.metrics[metric][[scores.variants.index(name) for name in names]]
    undefined = np.isnan(rows)
    if (undefined.any(axis=0) != undefined.all(axis=0)).any() or undefined.all():
        return None
    change = rows[1:].mean(axis=0) - rows[0]
    sums = sums_by_dialogue(change[None], scores.items.dialogue)
    has_items = sums.number[:, 0] > 0
    return bounded_interval(sums.total[has_items, 0], sums.number[has_items, 0], -1.0, 1.0)


def variant_figures(scores: Scores, metric: str) -> dict[str, Any]:
    """What `over_variants` returns, without what takes resamples: `by_variant` and FIGURES."""
    return _figures(Sample(scores, case_figures(scores, metric)), metric)


def _figures(sample: Sample, metric: str) -> dict[str, Any]:
    values = sample.values()
    rows = zip(sample.scores.variants, sample.scores.metrics[metric], strict=True)
    return {
        "by_variant": {name: mean_defined(row) for name, row in rows},
        **{key: values.get(f"{metric}.{key}") for key in FIGURES},
    }


def _p_of_drop(scores: Scores, metric: str) -> float | None:
    """The p-value of the drop."""
    sides = against_original(scores)
    if sides is None or not len(scores.items.ids):
        return None
    drop = Figure("drop", metric, Over(sides[0].variants))
    original, reworded = (Sample(side, [drop]) for side in sides)
    p: float | None = compare([original], [reworded], trials=RESAMPLES)["drop"]["p"]
    return p


def with_tasks(scores: Scores, metrics: Sequence[str], name: str = _TASK) -> Scores:
    """The same scores, and whether each dialogue succeeds: every case of it is right."""
    right = np.any([scores.metrics[metric] >= RIGHT for metric in metrics], axis=0)
    success = np.stack([task_success(row, scores.items.dialogue) for row in right])
    return replace(scores, metrics={**scores.metrics, name: success})


def task_success(right: Bools, dialogue: Ints) -> Floats:
    """1 for each dialogue all of whose cases are right, else 0, at its first case [cases]."""
    dialogues, first, position = np.unique(dialogue, return_index=True, return_inverse=True)
    wrong = np.bincount(position, ~right, len(dialogues))
    success = np.full(len(dialogue), np.nan)
    success[first] = wrong == 0
    return success
