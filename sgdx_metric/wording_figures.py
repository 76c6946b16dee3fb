"""Figures of the same cases under any wordings: the drop, the worst case, flips, sensitivity.

They serve the calls of SGD, whole dialogues, and the cases of any other API alike.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .bootstrap import (
    DIALOGUES,
    RESAMPLES,
    Interval,
    Statistics,
    Sums,
    bootstrap,
    compared,
    compared_over_wordings,
    crossed_intervals,
    sums_by_dialogue,
)
from .columns import Floats, Ints
from .robustness import flipped, mean_defined, variation, worst_case
from .variants import ORIGINAL, PAPER_VARIANTS

# The figures of a metric over wordings, which have 95 % intervals.
FIGURES = ("original", "reworded", "v1-5", "drop", "sensitivity", "worst", "flips")


def over_wordings(
    scores: Mapping[str, Floats], dialogue: Ints, zero_mean: str = "0", over: str = DIALOGUES
) -> dict[str, Any]:
    """Sum up the scores of the same cases under any wordings.

    Args:
        scores: Scores in [0, 1] by wording, NaN where undefined [cases].
        dialogue: The number of each case's dialogue; what is drawn for intervals are dialogues.
            Cases on their own are each a dialogue [cases].
        zero_mean: What the sensitivity makes of a case that scores 0 throughout, as in `Rules`.
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
    names = list(scores)
    sums = wording_sums(scores, dialogue, zero_mean)
    count = len(sums.total)
    intervals = (
        bootstrap(lambda weights: wording_statistics(sums.means(weights), names), count)
        if over == DIALOGUES
        else _crossed(sums, names, over)
    )
    return {
        **wording_figures(scores, dialogue, zero_mean),
        "p": _p_of_drop(sums, names, over),
        "confidence": {key: intervals.get(key) for key in FIGURES},
    }


def wording_figures(
    scores: Mapping[str, Floats], dialogue: Ints, zero_mean: str = "0"
) -> dict[str, Any]:
    """What `over_wordings` returns, without what takes resamples: `by_variant` and FIGURES.

    Args:
        scores, dialogue, zero_mean: As for `over_wordings` [cases].
    """
    sums = wording_sums(scores, dialogue, zero_mean)
    count = len(sums.total)
    whole = wording_statistics(sums.means(np.ones((1, count))), list(scores)) if count else {}
    return {
        "by_variant": {name: mean_defined(of_variant) for name, of_variant in scores.items()},
        **{key: _number(whole.get(key)) for key in FIGURES},
    }


def _crossed(sums: Sums, names: list[str], over: str) -> dict[str, Interval]:
    """The intervals of the means over wordings, where wordings are drawn.

    Args:
        sums: What `wording_sums` returned.
        names: The wordings, in the order of the first rows.
        over: "wordings" or "both".
    """
    reworded = [i for i, name in enumerate(names) if name != ORIGINAL]
    are_papers = sorted(names[i] for i in reworded) == sorted(PAPER_VARIANTS)

    def statistic(weights: Floats, shares: Floats) -> Statistics:
        means = sums.means(weights)
        statistics = {"reworded": (means[:, reworded] * shares).sum(axis=1)}
        if are_papers:
            statistics["v1-5"] = statistics["reworded"]
        if ORIGINAL in names:
            statistics["original"] = means[:, names.index(ORIGINAL)]
            statistics["drop"] = statistics["reworded"] - statistics["original"]
        return statistics

    return crossed_intervals(statistic, len(sums.total), len(reworded), over)


def differences(scores: Mapping[str, Floats], dialogue: Ints) -> dict[str, dict[str, float | None]]:
    """How far the scores under each wording are from those under the original.

    Args:
        scores, dialogue: As for `over_wordings` [cases].

    Returns:
        For each wording but the original `difference`, its 95 % interval from `low` to `high`, and
        `p` of paired approximate randomisation; None without the original.
    """
    names = list(scores)
    others = [name for name in names if name != ORIGINAL]
    comparisons: dict[str, Any] = {}
    if ORIGINAL in names and others and len(dialogue):
        sums = wording_sums(scores, dialogue, "0")
        original = sums.only([names.index(ORIGINAL)] * len(others))
        comparisons = compared(
            original,
            sums.only([names.index(name) for name in others]),
            lambda means: {name: means[..., i] for i, name in enumerate(others)},
            RESAMPLES,
        )
    undefined = {"difference": None, "interval": None, "p": None}
    of_wordings = {}
    for name in others:
        against = comparisons.get(name, undefined)
        low, high = against["interval"] or (None, None)
        of_wordings[name] = {
            "difference": against["difference"],
            "low": low,
            "high": high,
            "p": against["p"],
        }
    return of_wordings


def wording_sums(scores: Mapping[str, Floats], dialogue: Ints, zero_mean: str) -> Sums:
    """Sums over each dialogue, of the scores by wording and then of what they say together.

    The rows are the wordings in their order, and then variation, worst case and flips.

    Args:
        scores, dialogue, zero_mean: As for `over_wordings` [cases].
    """
    by_variant = np.stack(list(scores.values()))
    reworded = [name != ORIGINAL for name in scores]
    rows = np.vstack(
        [
            by_variant,
            variation(by_variant[reworded], zero_mean),
            worst_case(by_variant),
            flipped(by_variant),
        ]
    )
    return sums_by_dialogue(rows, dialogue)


def wording_statistics(means: Floats, names: list[str]) -> Statistics:
    """Those of FIGURES that the wordings give [...].

    Args:
        means: Means of the rows of `wording_sums` [..., rows].
        names: The wordings, in the order of the first rows.
    """
    reworded = [i for i, name in enumerate(names) if name != ORIGINAL]
    paper = [i for i, name in enumerate(names) if name in PAPER_VARIANTS]
    statistics = {}
    if ORIGINAL in names:
        statistics["original"] = means[..., names.index(ORIGINAL)]
    if reworded:
        statistics["reworded"] = means[..., reworded].mean(axis=-1)
    if len(paper) == len(PAPER_VARIANTS):
        statistics["v1-5"] = means[..., paper].mean(axis=-1)
    if len(statistics) > 1 and ORIGINAL in names:
        statistics["drop"] = statistics["reworded"] - statistics["original"]
    if len(reworded) > 1:
        statistics["sensitivity"] = means[..., len(names)]
    if len(names) > 1:
        statistics["worst"] = means[..., len(names) + 1]
        statistics["flips"] = means[..., len(names) + 2]
    return statistics


def _p_of_drop(sums: Sums, names: list[str], over: str) -> float | None:
    """The p-value of the drop, over what its interval is over.

    Over dialogues it is of `randomisation`, where a dialogue's two sides change places as a whole;
    over wordings, or both, of the resamples of `compared_over_wordings`.
    """
    others = [i for i, name in enumerate(names) if name != ORIGINAL]
    if ORIGINAL not in names or not others or not len(sums.total):
        return None
    original, reworded = sums.only([names.index(ORIGINAL)] * len(others)), sums.only(others)
    if over != DIALOGUES:
        p: float | None = compared_over_wordings([original], [reworded], over)["p"]
        return p
    drop = compared(original, reworded, lambda means: {"drop": means.mean(axis=-1)}, RESAMPLES)
    p = drop["drop"]["p"]
    return p


def _number(values: Floats | None) -> float | None:
    return None if values is None or np.isnan(values[0]) else float(values[0])
