"""The figures of SGD-X: scores under the original and the reworded schemas, and sensitivity."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .bootstrap import (
    FIGURES,
    ORIGINAL,
    PAPER_VARIANTS,
    Interval,
    bootstrap,
    dialogue_sums,
    figures,
)
from .columns import Floats, Ints
from .rules import Rules
from .scoring import METRICS, FrameScores
from .sensitivity import mean_defined, variation
from .units import ALL, SEEN, UNSEEN, Places, unit_scores

HEADLINE = ("jga_orig", "jga_v1-5", "relative_difference", "ss_jga")
_JGA = "joint_goal_accuracy"


def robustness(variants: Mapping[str, FrameScores], place: Places, rules: Rules) -> dict[str, Any]:
    """The figures for all frames, the seen, the unseen and each service (original names).

    Args:
        variants: scores of the same frames, by variant.
        place: of those frames.
    """
    jga = {name: frames.scores[_JGA] for name, frames in variants.items()}
    groups = place.groups()
    means = {name: _group(variants, place, these, rules) for name, these in groups.items()}
    for name in (ALL, SEEN, UNSEEN):
        means[name]["confidence"] = _confidence(jga, place, groups.pop(name), rules)
    by_variant = {
        name: mean_defined(unit_scores(_JGA, scores, place.turn, rules))
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
    """The four headline figures over some frames, and every metric's mean and sensitivity."""
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
    original = None if row is None else mean_defined(scores[_JGA][row])
    jga = average[_JGA]
    difference = (jga - original) / original if original and jga is not None else None
    return {
        **dict(zip(HEADLINE, (original, jga, difference, sensitivity[_JGA]))),
        "mean_v1-5": average,
        "sensitivity": sensitivity,
    }


def _confidence(
    jga: Mapping[str, Floats], place: Places, these: Ints, rules: Rules
) -> dict[str, Interval]:
    """95 % intervals of FIGURES, None where undefined."""
    sums = dialogue_sums(jga, place, these, rules)
    found = bootstrap(lambda weights: figures(sums.means(weights), list(jga)), len(sums.total))
    return {figure: found.get(figure) for figure in FIGURES}


def _average(variants: list[str], scores: Floats) -> float | None:
    """The mean over v1 to v5 of their means [variants, units]; None if one is missing."""
    rows = [scores[variants.index(name)] for name in PAPER_VARIANTS if name in variants]
    means = [mean for row in rows if (mean := mean_defined(row)) is not None]
    return sum(means) / len(means) if len(means) == len(PAPER_VARIANTS) else None
