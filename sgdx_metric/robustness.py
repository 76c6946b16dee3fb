"""The figures of SGD-X: scores under the original and the reworded schemas, and sensitivity.

Schema sensitivity (SS) says how much a frame's score moves when only the words of the schema
change. Lee et al. 2022, "SGD-X: A Benchmark for Robust Generalization in Schema-Guided Dialogue
Systems" (arXiv 2110.06800), define it as the mean over all frames of the coefficient of variation
(sample standard deviation / mean) of the frame's scores under the K schema variants.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bootstrap import Figures, Interval, bootstrap
from .columns import Floats, Ints, over
from .scoring import METRICS, FrameScores
from .signature import Rules
from .units import ALL, SEEN, UNSEEN, Places, turn_starts, unit_scores

ORIGINAL = "original"
PAPER_VARIANTS = ("v1", "v2", "v3", "v4", "v5")
HEADLINE = ("jga_orig", "jga_v1-5", "relative_difference", "ss_jga")
# The headline figures that get confidence intervals.
FIGURES = ("jga_orig", "jga_v1-5", "ss_jga")


def variation(scores: Floats, zero_mean: str = "0") -> Floats:
    """Coefficient of variation of each frame's, or turn's, scores under the variants.

    Args:
        scores: Scores of any metric, one row a variant, NaN where undefined [variants, frames].
        zero_mean: "0" or "drop", as in `Rules`.

    Returns:
        Values in [0, sqrt K] [frames]. NaN where the score is undefined under any variant, and
        everywhere with fewer than two variants. Where the score is 0 under all variants, the value
        is 0, or NaN with "drop".
    """
    if len(scores) < 2:
        return np.full(scores.shape[1:], np.nan)
    mean = scores.mean(axis=0)
    spread = scores.std(axis=0, ddof=1)
    values = over(spread, mean, otherwise=np.nan if zero_mean == "drop" else 0.0)
    return np.where(np.isnan(mean), np.nan, values)


def mean_defined(values: Floats) -> float | None:
    """Mean of the values that are not NaN; None where all of them are."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else None


def robustness(variants: Mapping[str, FrameScores], place: Places, rules: Rules) -> dict[str, Any]:
    """The figures for all frames, the seen, the unseen and each service (by its original name).

    Args:
        variants: Scores of the same frames, by variant.
        place: Where those frames belong.
        rules: How the frames were scored.

    Returns:
        The part `sgdx` of scores.json. Accuracies are in [0, 1], `relative_difference` is in
        [-1, inf), sensitivities are in [0, sqrt K]; None where undefined.
    """
    jga = {name: frames.scores["joint_goal_accuracy"] for name, frames in variants.items()}
    groups = place.groups()
    means = {name: _group(variants, place, these, rules) for name, these in groups.items()}
    for name in (ALL, SEEN, UNSEEN):
        means[name]["confidence"] = _confidence(jga, place, groups.pop(name), rules)
    by_variant = {
        name: mean_defined(unit_scores("joint_goal_accuracy", scores, place.turn, rules))
        for name, scores in jga.items()
    }
    return {
        **means[ALL],
        "by_variant": by_variant,
        "seen": means[SEEN],
        "unseen": means[UNSEEN],
        "by_service": {
            name: means[name] | {"frames": len(these)} for name, these in groups.items()
        },
    }


def _group(
    variants: Mapping[str, FrameScores], place: Places, these: Ints, rules: Rules
) -> dict[str, Any]:
    """The four headline figures of some frames, and every metric's mean and sensitivity."""
    turn = place.turn[these]
    scores = {
        metric: unit_scores(
            metric, np.stack([v.scores[metric][these] for v in variants.values()]), turn, rules
        )
        for metric in METRICS
    }
    reworded = [name != ORIGINAL for name in variants]
    average = {metric: _average(list(variants), scores[metric]) for metric in METRICS}
    sensitivity = {
        metric: mean_defined(variation(scores[metric][reworded], rules.zero_mean))
        for metric in METRICS
    }
    row = list(variants).index(ORIGINAL) if ORIGINAL in variants else None
    original = None if row is None else mean_defined(scores["joint_goal_accuracy"][row])
    jga = average["joint_goal_accuracy"]
    return {
        "jga_orig": original,
        "jga_v1-5": jga,
        "relative_difference": (
            (jga - original) / original if original and jga is not None else None
        ),
        "ss_jga": sensitivity["joint_goal_accuracy"],
        "mean_v1-5": average,
        "sensitivity": sensitivity,
    }


def _average(variants: list[str], scores: Floats) -> float | None:
    """The mean over v1 to v5 of their means [variants, units]; None if one is missing."""
    rows = [scores[variants.index(name)] for name in PAPER_VARIANTS if name in variants]
    means = [mean for row in rows if (mean := mean_defined(row)) is not None]
    return sum(means) / len(means) if len(means) == len(PAPER_VARIANTS) else None


def _confidence(
    jga: Mapping[str, Floats], place: Places, these: Ints, rules: Rules
) -> dict[str, Interval]:
    """95 % intervals of FIGURES over some frames; None where undefined."""
    sums = dialogue_sums(jga, place, these, rules)
    found = bootstrap(lambda weights: figures(sums.means(weights), list(jga)), len(sums.total))
    return {figure: found.get(figure) for figure in FIGURES}


@dataclass(frozen=True)
class Sums:
    """Sums of joint goal accuracy by dialogue, from which figures of any resample follow.

    Each row is a variant; the last row is the variation over all variants but the original.

    Attributes:
        total: The sum of each dialogue's defined scores [dialogues, rows].
        number: How many scores that sum has [dialogues, rows].
    """

    total: Floats
    number: Floats

    def means(self, weights: Floats) -> Floats:
        """Mean scores [draws, rows] of the dialogues under weights [draws, dialogues]."""
        return over(weights @ self.total, weights @ self.number)


def dialogue_sums(jga: Mapping[str, Floats], place: Places, these: Ints, rules: Rules) -> Sums:
    """Sum up the joint goal accuracy of some frames over each of their dialogues.

    Args:
        jga: Joint goal accuracy of all frames, by variant [frames].
        place: Where all frames belong.
        these: Positions of the group's frames [some frames].
        rules: How the frames were scored.
    """
    turn, dialogue = place.turn[these], place.dialogue[these]
    by_variant = np.stack(list(jga.values()))[:, these]
    scores = unit_scores("joint_goal_accuracy", by_variant, turn, rules)
    if rules.joint_acc_across_turn:
        dialogue = dialogue[turn_starts(turn)]
    varies = variation(scores[[name != ORIGINAL for name in jga]], rules.zero_mean)
    rows = np.vstack([scores, varies])
    found, dialogue = np.unique(dialogue, return_inverse=True)
    totals = [np.bincount(dialogue, row, len(found)) for row in np.nan_to_num(rows)]
    numbers = [np.bincount(dialogue, row, len(found)) for row in 1.0 - np.isnan(rows)]
    return Sums(np.stack(totals, axis=1), np.stack(numbers, axis=1))


def figures(means: Floats, variants: list[str]) -> Figures:
    """Those of FIGURES that the variants give [...], from mean scores as of `Sums` [..., rows]."""
    row = {name: means[..., i] for i, name in enumerate(variants)}
    found = {"jga_orig": row[ORIGINAL]} if ORIGINAL in row else {}
    if all(name in row for name in PAPER_VARIANTS):
        found["jga_v1-5"] = np.mean([row[name] for name in PAPER_VARIANTS], axis=0)
    if len(row.keys() - {ORIGINAL}) > 1:
        found["ss_jga"] = means[..., -1]
    return found
