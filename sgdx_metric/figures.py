"""The figures of scores under variants: means, the drop, sensitivity, the worst case, flips.

Those of dialogue states have names of their own. Those of calls, of whole dialogues and of the
cases of any other API are of one kind, under keys such as `call_accuracy.drop`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .columns import Bools, Floats, Ints
from .signature import Rules
from .statistics import (
    RESAMPLES,
    RIGHT,
    Figure,
    Interval,
    Sample,
    bounded_interval,
    compare,
    drop,
    flipped,
    mean,
    mean_defined,
    paired_p,
    relative_drop,
    variation,
    worst_case,
)
from .units import Scores, unit_scores
from .variants import ORIGINAL, PAPER_VARIANTS, wider_set, worst_sets

# The joint accuracies of states, by what their figures are called; the first decides.
JOINT = {
    "jga": "joint_goal_accuracy",
    "change": "joint_change_accuracy",
    "canonical": "joint_canonical_accuracy",
}
JGA = JOINT["jga"]
BESIDE = ("change", "canonical")
_LEGENDS = {
    "jga": "JGA: joint goal accuracy; a frame is right if every slot of its state is.",
    "orig": "JGA_orig: under the original schemas.",
    "v1-5": "JGA_v1-5: the mean over the five rewordings.",
    "drop": "drop: JGA_v1-5 less JGA_orig.",
    "relative": "Diff_rel: (JGA_v1-5 - JGA_orig) / JGA_orig.",
    "ss": "SS: schema sensitivity, the standard deviation of a frame's score over the rewordings "
    "in % of its mean; 0 where nothing varies, and it may exceed 100.",
    "nonzero": "SS_nonzero: SS_JGA of the frames that do not score 0 under all five rewordings.",
    "worst": "JGA_worst: each frame under the variant that is worst for it.",
    "flips": "flips: frames right under one variant and wrong under another.",
    "change": "Change: JGA of what changes since the turn before; an early mistake counts once.",
    "canonical": "Canonical: JGA that also takes a value as the API writes it, such as 2019-03-01.",
}
# The figures of a metric over any variants.
FIGURES = ("original", "reworded", "v1-5", "drop", "sensitivity", "worst", "flips")
_CASE_LEGENDS = {
    "original": "original: under the original words.",
    "reworded": "reworded: the mean over all variants but the original.",
    "v1-5": "v1-5: the mean over v1 to v5.",
    "drop": "drop: reworded less original.",
    "sensitivity": "SS, sensitivity: how far a score varies over variants, in % of its mean.",
    "worst": "worst: each under the variant that is worst for it.",
    "flips": "flips: right under one variant and wrong under another.",
}


def state_figures(scores: Scores) -> list[Figure]:
    """The figures of states, under keys such as `jga_v1-5` and `jga_worst(v1..v5+mine)`.

    One that lacks a variant is left out.
    """
    figures = list[Figure]()
    told: dict[str, Any]
    original, reworded = scores.under(JGA, [ORIGINAL]), scores.under(JGA, PAPER_VARIANTS)
    if original is not None:
        told = {"title": "JGA_orig", "legend": (_LEGENDS["jga"], _LEGENDS["orig"])}
        figures.append(mean("jga_orig", original, **told))
    if reworded is not None:
        told = {"title": "JGA_v1-5", "legend": (_LEGENDS["jga"], _LEGENDS["v1-5"])}
        figures.append(mean("jga_v1-5", reworded, **told))
    if original is not None and reworded is not None:
        told = {"title": "drop", "legend": (_LEGENDS["drop"],)}
        figures.append(drop("drop", reworded, original[0], **told))
        told = {"title": "Diff_rel", "legend": (_LEGENDS["relative"],)}
        figures.append(relative_drop("relative_difference", reworded, original[0], **told))

    sensitive = {"": [name for name in PAPER_VARIANTS if name in scores.variants]}
    if wider := wider_set(scores.variants):
        sensitive[f"({wider})"] = [name for name in scores.variants if name != ORIGINAL]
    for mark, of in sensitive.items():
        if len(of) > 1:
            named = mark or f"({'+'.join(of)})"
            title = "SS_JGA" if tuple(of) == PAPER_VARIANTS else f"SS{named}"
            told = {"title": title, "legend": (_LEGENDS["ss"],), "lower_is_better": True}
            figures.append(_sensitivity(f"ss_jga{mark}", scores, JGA, of, scores.zero_mean, told))
    if reworded is not None:
        told = {"title": "SS_nonzero", "legend": (_LEGENDS["nonzero"],), "lower_is_better": True}
        figures.append(_sensitivity("ss_jga_nonzero", scores, JGA, PAPER_VARIANTS, "drop", told))

    for name, of in worst_sets(scores.variants).items():
        mark, rows = f"({name})" if name else "", scores.under(JGA, of)
        if rows is not None:
            told = {"title": f"JGA_worst{mark}", "legend": (_LEGENDS["worst"],)}
            figures.append(mean(f"jga_worst{mark}", worst_case(rows), **told))
            told = {"title": f"flips{mark}", "legend": (_LEGENDS["flips"],)}
            figures.append(mean(f"flips{mark}", flipped(rows), lower_is_better=True, **told))

    for name in BESIDE:
        ends: dict[str, Sequence[str]] = {"orig": [ORIGINAL], "v1-5": PAPER_VARIANTS}
        for end, variants in ends.items():
            known = JOINT[name] in scores.metrics
            rows = scores.under(JOINT[name], variants) if known else None
            if rows is not None:
                title = f"{name.capitalize()}_{end}"
                key = f"{name}_{end}"
                figures.append(mean(key, rows, title=title, legend=(_LEGENDS[name],)))
    return figures


def _sensitivity(
    key: str,
    scores: Scores,
    metric: str,
    variants: Sequence[str],
    zero_mean: str,
    told: Mapping[str, Any],
) -> Figure:
    """The mean of each item's coefficient of variation over two variants or more."""
    places = [scores.variants.index(name) for name in variants]
    values = variation(scores.metrics[metric][places], zero_mean)
    return mean(key, values, bounds=(0.0, len(variants) ** 0.5), **told)


def case_figures(scores: Scores, metric: str, title: str = "", legend: str = "") -> list[Figure]:
    """FIGURES of a metric whose variants are there, with keys such as `call_accuracy.drop`."""
    others = [name for name in scores.variants if name != ORIGINAL]
    # Of several runs the scores are means, by which fewer cases flip than in a single run.
    single = one_run(metric) if one_run(metric) in scores.metrics else metric

    def told(key: str) -> dict[str, Any]:
        name = "SS" if key == "sensitivity" else key
        return {"title": f"{title} {name}", "legend": (legend, _CASE_LEGENDS[key])}

    figures = []
    rows = {
        "original": scores.under(metric, [ORIGINAL]),
        "reworded": scores.under(metric, others),
        "v1-5": scores.under(metric, PAPER_VARIANTS),
    }
    for key, of in rows.items():
        if of is not None:
            figures.append(mean(f"{metric}.{key}", of, **told(key)))
    original, reworded = rows["original"], rows["reworded"]
    if original is not None and reworded is not None:
        figures.append(drop(f"{metric}.drop", reworded, original[0], **told("drop")))
    if len(others) > 1:
        of_others = {**told("sensitivity"), "lower_is_better": True}
        key = f"{metric}.sensitivity"
        figures.append(_sensitivity(key, scores, single, others, scores.zero_mean, of_others))
    if len(scores.variants) > 1:
        every = scores.metrics[single]
        figures.append(mean(f"{metric}.worst", worst_case(every), **told("worst")))
        flips = {**told("flips"), "lower_is_better": True}
        figures.append(mean(f"{metric}.flips", flipped(every), **flips))
    return figures


def one_run(metric: str) -> str:
    """The metric of the first run alone, where there are several under one variant."""
    return f"{metric} of one run"


def under_each(scores: Scores, metric: str, title: str = "") -> list[Figure]:
    """The mean of a metric under each variant, whose keys are the names of the variants."""
    rows = zip(scores.variants, scores.metrics[metric], strict=True)
    return [mean(name, row, title=title) for name, row in rows]


def changes_to_original(
    runs: Sequence[Sequence[Figure]], dialogue: Ints, trials: int = RESAMPLES
) -> dict[str, dict[str, Any]]:
    """By how much a mean differs under each variant from that under the original, as `compare`.

    Each run has the mean under each variant, by the variant's name; as few trials as resamples,
    since more would take longer than all of the scoring. {} without the original or another.
    """
    sides: tuple[list[Sample], list[Sample]] = [], []
    for figures in runs:
        others = [figure for figure in figures if figure.key != ORIGINAL]
        before = next((figure for figure in figures if figure.key == ORIGINAL), None)
        if before is None or not others:
            return {}
        sides[0].append(Sample([before._replace(key=figure.key) for figure in others], dialogue))
        sides[1].append(Sample(others, dialogue))
    return compare(*sides, trials)


def variant_differences(scores: Scores, metric: str) -> dict[str, dict[str, float | None]]:
    """By how much a metric under each variant differs from that under the original, with its p."""
    changes = changes_to_original([under_each(scores, metric)], scores.items.dialogue)
    of_variants: dict[str, dict[str, float | None]] = {}
    for name in [name for name in scores.variants if name != ORIGINAL]:
        change = changes.get(name, {})
        low, high = change.get("interval") or (None, None)
        keys = {"difference": change.get("difference"), "low": low, "high": high}
        of_variants[name] = {**keys, "p": change.get("p")}
    return of_variants


def p_of_drop(scores: Scores, metric: str, variants: Sequence[str]) -> float | None:
    """The p-value of the mean under variants less that under the original; None where undefined."""
    original, reworded = scores.under(metric, [ORIGINAL]), scores.under(metric, variants)
    if original is None or reworded is None or not len(scores.items.ids):
        return None
    before = mean("drop", np.repeat(original, len(reworded), axis=0))
    left, right = (Sample([of], scores.items.dialogue) for of in (before, mean("drop", reworded)))
    return paired_p(left, right, RESAMPLES)[0]


def over_variants(scores: Scores, metric: str) -> dict[str, Any]:
    """Sum up a metric under any variants: means, FIGURES, intervals, the drop's p."""
    sample = Sample(case_figures(scores, metric), scores.items.dialogue)
    others = [name for name in scores.variants if name != ORIGINAL]
    intervals = sample.intervals()
    return {
        **_values(sample, scores, metric),
        "p": p_of_drop(scores, metric, others),
        "confidence": {key: intervals.get(f"{metric}.{key}") for key in FIGURES},
    }


def over_variants_of_few(scores: Scores, metric: str) -> dict[str, Any]:
    """What `over_variants` returns, with an interval of the drop that holds for few dialogues."""
    figures = over_variants(scores, metric)
    others = [name for name in scores.variants if name != ORIGINAL]
    if ends := change_interval(scores, metric, others):
        figures["confidence"]["drop"] = ends
    return figures


def variant_figures(scores: Scores, metric: str) -> dict[str, Any]:
    """What `over_variants` returns, without what takes resamples: `by_variant` and FIGURES."""
    return _values(Sample(case_figures(scores, metric), scores.items.dialogue), scores, metric)


def _values(sample: Sample, scores: Scores, metric: str) -> dict[str, Any]:
    values = sample.values()
    rows = zip(scores.variants, scores.metrics[metric], strict=True)
    return {
        "by_variant": {name: mean_defined(row) for name, row in rows},
        **{key: values.get(f"{metric}.{key}") for key in FIGURES},
    }


def change_interval(scores: Scores, metric: str, variants: Sequence[str]) -> Interval:
    """The interval of a metric's mean under variants less that under the original.

    It holds for few dialogues too. None where one of them is lacking, or where an item has a score
    under one of them alone.
    """
    rows = scores.under(metric, [ORIGINAL, *variants]) if variants else None
    if rows is None:
        return None
    undefined = np.isnan(rows).any(axis=0)
    if not np.array_equal(undefined, np.isnan(rows).all(axis=0)) or undefined.all():
        return None
    change = np.where(undefined, 0.0, rows[1:].mean(axis=0) - rows[0])
    position = np.unique(scores.items.dialogue, return_inverse=True)[1]
    number = np.bincount(position, ~undefined).astype(np.float64)
    total = np.bincount(position, change).astype(np.float64)
    return bounded_interval(total[number > 0], number[number > 0], -1.0, 1.0)


def of_units(scores: Scores, rules: Rules) -> Scores:
    """The scores whose means are taken: joint accuracies of turns, where the rules say so."""
    turn = scores.items.turn
    metrics = {name: unit_scores(name, rows, turn, rules) for name, rows in scores.metrics.items()}
    return replace(scores, metrics=metrics)


def with_tasks(scores: Scores, metrics: Sequence[str], name: str = "task_success") -> Scores:
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
