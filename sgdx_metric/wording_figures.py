"""Figures of the same cases under any wordings: the drop, the worst case, flips, sensitivity.

They serve the calls of SGD, whole dialogues, and the cases of any other API alike.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .bootstrap import DIALOGUES, RESAMPLES, compared, compared_over_wordings
from .columns import Floats, Ints
from .core import Figures, Sample, Scores, differences
from .robustness import mean_defined
from .variants import ORIGINAL, PAPER_VARIANTS

# The figures of a metric over wordings, which have 95 % intervals.
FIGURES = ("original", "reworded", "v1-5", "drop", "sensitivity", "worst", "flips")
_METRIC = "score"


def case_scores(scores: Mapping[str, Floats], dialogue: Ints, zero_mean: str = "0") -> Scores:
    """One metric's scores in [0, 1] by wording, NaN where undefined [cases], as `Scores`."""
    return Scores(list(scores), dialogue, {_METRIC: np.stack(list(scores.values()))}, zero_mean)


def case_figures(scores: Scores, metric: str = _METRIC, prefix: str = "") -> Figures:
    """FIGURES of a metric, under their names behind a prefix."""
    wordings = scores.wordings
    reworded = [name for name in wordings if name != ORIGINAL]
    figures: Figures = {
        "original": (metric, lambda means: means.under(ORIGINAL)),
        "reworded": (metric, lambda means: means.over(reworded)),
        "v1-5": (metric, lambda means: means.over(PAPER_VARIANTS)),
        "drop": (metric, lambda means: means.over(reworded) - means.under(ORIGINAL)),
        "sensitivity": (metric, lambda means: means.sensitivity(reworded)),
        "worst": (metric, lambda means: means.worst(wordings)),
        "flips": (metric, lambda means: means.flips(wordings)),
    }
    return {f"{prefix}{key}": figure for key, figure in figures.items()}


def over_wordings(scores: Scores, over: str = DIALOGUES) -> dict[str, Any]:
    """Sum up the scores of the same cases under any wordings.

    Args:
        scores: What `case_scores` returned. Cases on their own are each a dialogue.
        over: What the intervals are over: "dialogues", "wordings" or "both". Over wordings all but
            the original are drawn, and figures that are no means over wordings have no interval.

    Returns:
        `by_variant`, the mean under each wording; `original`; `reworded`, the mean over all other
        wordings of their means; `v1-5`, the same over v1 to v5, where all five are given; `drop`,
        `reworded` less `original`, and its `p`, over what the intervals are over; `sensitivity`
        over the wordings but the original; `worst`, the mean of each case's least score, and
        `flips`, the share of cases that are right under one wording and wrong under another, both
        over all wordings; and in `confidence` the 95 % interval of each of FIGURES. What is
        undefined, or needs a wording that is not there, is None: `sensitivity`, `worst` and
        `flips` need two.
    """
    sample = Sample(scores, case_figures(scores))
    intervals = sample.intervals(over, [name for name in scores.wordings if name != ORIGINAL])
    return {
        **_figures(sample),
        "p": _p_of_drop(sample, over),
        "confidence": {key: intervals.get(key) for key in FIGURES},
    }


def case_differences(scores: Scores) -> dict[str, dict[str, float | None]]:
    """How far the scores under each wording are from the original's, as `differences` has it."""
    return differences(scores, _METRIC)


def wording_figures(scores: Scores) -> dict[str, Any]:
    """What `over_wordings` returns, without what takes resamples: `by_variant` and FIGURES."""
    return _figures(Sample(scores, case_figures(scores)))


def _figures(sample: Sample) -> dict[str, Any]:
    rows = zip(sample.scores.wordings, sample.scores.metrics[_METRIC], strict=True)
    return {
        "by_variant": {name: mean_defined(row) for name, row in rows},
        **dict.fromkeys(FIGURES),
        **sample.values(),
    }


def _p_of_drop(sample: Sample, over: str) -> float | None:
    """The p-value of the drop, over what its interval is over.

    Over dialogues it is of `randomisation`, where a dialogue's two sides change places as a whole;
    over wordings, or both, of the resamples of `compared_over_wordings`.
    """
    wordings = sample.scores.wordings
    others = [name for name in wordings if name != ORIGINAL]
    if ORIGINAL not in wordings or not others or not len(sample.sums.total):
        return None
    original = sample.under(_METRIC, [ORIGINAL] * len(others))
    reworded = sample.under(_METRIC, others)
    if over != DIALOGUES:
        p: float | None = compared_over_wordings([original], [reworded], over)["p"]
        return p
    drop = compared(original, reworded, lambda means: {"drop": means.mean(axis=-1)}, RESAMPLES)
    p = drop["drop"]["p"]
    return p
