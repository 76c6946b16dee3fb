"""The figures of SGD-X: scores under the original and the reworded schemas, and sensitivity.

Schema sensitivity (SS) says how much a frame's score moves when only the words of the schema
change. Lee et al. 2022, "SGD-X: A Benchmark for Robust Generalization in Schema-Guided Dialogue
Systems" (arXiv 2110.06800), define it as the mean over all frames of the coefficient of variation
(sample standard deviation / mean) of the frame's scores under the K schema variants.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .bootstrap import RESAMPLES, Interval, Statistics, Sums, bootstrap, compared
from .columns import Floats, Ints, safe_divide
from .scoring import METRICS, FrameScores
from .signature import Rules
from .units import ALL, SEEN, UNSEEN, FrameIndex, turn_starts, unit_scores
from .variants import ORIGINAL, PAPER_VARIANTS, own_wordings, wider_set

HEADLINE = ("jga_orig", "jga_v1-5", "relative_difference", "ss_jga")
# The scores that get confidence intervals.
WITH_INTERVALS = ("jga_orig", "jga_v1-5", "drop", "ss_jga")


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
    values = safe_divide(spread, mean, otherwise=np.nan if zero_mean == "drop" else 0.0)
    return np.where(np.isnan(mean), np.nan, values)


def mean_defined(values: Floats) -> float | None:
    """Mean of the values that are not NaN; None where all of them are."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else None


def robustness(
    variants: Mapping[str, FrameScores], frame_index: FrameIndex, rules: Rules
) -> dict[str, Any]:
    """The figures for all frames, the seen, the unseen and each service (by its original name).

    Args:
        variants: Scores of the same frames, by variant.
        frame_index: Where those frames belong.
        rules: How the frames were scored.

    Returns:
        The part `sgdx` of scores.json. Accuracies are in [0, 1], `relative_difference` is in
        [-1, inf), `drop` (jga_v1-5 - jga_orig) is in [-1, 1], sensitivities are in [0, sqrt K];
        None where undefined. Where there are variants beside the paper's, a key such as
        `ss_jga(v1..v5+mine)` has the sensitivity over all of them, and `ss_jga` stays that of the
        paper's.
    """
    jga = {name: frames.scores["joint_goal_accuracy"] for name, frames in variants.items()}
    groups = frame_index.groups()
    means = {
        name: _group(variants, frame_index, members, rules) for name, members in groups.items()
    }
    for name in (ALL, SEEN, UNSEEN):
        means[name]["confidence"] = _confidence(jga, frame_index, groups.pop(name), rules)
    by_variant = {
        name: mean_defined(unit_scores("joint_goal_accuracy", scores, frame_index.turn, rules))
        for name, scores in jga.items()
    }
    return {
        **means[ALL],
        "by_variant": by_variant,
        "differences": _differences(jga, by_variant, frame_index, rules),
        "seen": means[SEEN],
        "unseen": means[UNSEEN],
        "by_service": {
            name: means[name] | {"frames": len(members)} for name, members in groups.items()
        },
    }


def _group(
    variants: Mapping[str, FrameScores], frame_index: FrameIndex, members: Ints, rules: Rules
) -> dict[str, Any]:
    """The four headline figures of some frames, and every metric's mean and sensitivity."""
    turn = frame_index.turn[members]
    scores = {
        metric: unit_scores(
            metric, np.stack([v.scores[metric][members] for v in variants.values()]), turn, rules
        )
        for metric in METRICS
    }
    paper = [name in PAPER_VARIANTS for name in variants]
    average = {metric: _average(list(variants), scores[metric]) for metric in METRICS}
    sensitivity = {
        metric: mean_defined(variation(scores[metric][paper], rules.zero_mean))
        for metric in METRICS
    }
    row = list(variants).index(ORIGINAL) if ORIGINAL in variants else None
    original = None if row is None else mean_defined(scores["joint_goal_accuracy"][row])
    jga = average["joint_goal_accuracy"]
    scores_of_group = {
        "jga_orig": original,
        "jga_v1-5": jga,
        "relative_difference": (
            (jga - original) / original if original and jga is not None else None
        ),
        "drop": None if jga is None or original is None else jga - original,
        "ss_jga": sensitivity["joint_goal_accuracy"],
        "mean_v1-5": average,
        "sensitivity": sensitivity,
    }
    if wider := wider_set(list(variants)):
        reworded = scores["joint_goal_accuracy"][[name != ORIGINAL for name in variants]]
        scores_of_group[f"ss_jga({wider})"] = mean_defined(variation(reworded, rules.zero_mean))
    return scores_of_group


def _average(variants: list[str], scores: Floats) -> float | None:
    """The mean over v1 to v5 of their means [variants, units]; None if one is missing."""
    rows = [scores[variants.index(name)] for name in PAPER_VARIANTS if name in variants]
    means = [mean for row in rows if (mean := mean_defined(row)) is not None]
    return sum(means) / len(means) if len(means) == len(PAPER_VARIANTS) else None


def _confidence(
    jga: Mapping[str, Floats], frame_index: FrameIndex, members: Ints, rules: Rules
) -> dict[str, Interval]:
    """The 95 % intervals of the headline scores of some frames; None where undefined."""
    sums = dialogue_sums(jga, frame_index, members, rules)
    intervals = bootstrap(
        lambda weights: with_drop(headline_statistics(sums.means(weights), list(jga))),
        len(sums.total),
    )
    wider = wider_set(list(jga))
    names = [*WITH_INTERVALS, *([f"ss_jga({wider})"] if wider else [])]
    return {figure: intervals.get(figure) for figure in names}


def with_drop(statistics: Statistics) -> Statistics:
    """The figures and, where they allow it, the drop: the mean over v1 to v5 less the original.

    Both are of the same dialogues, so that the interval of the drop is that of a paired difference.
    """
    if "jga_orig" not in statistics or "jga_v1-5" not in statistics:
        return statistics
    return {**statistics, "drop": statistics["jga_v1-5"] - statistics["jga_orig"]}


def _differences(
    jga: Mapping[str, Floats],
    means: Mapping[str, float | None],
    frame_index: FrameIndex,
    rules: Rules,
) -> dict[str, dict[str, float | None]]:
    """Joint goal accuracy under each reworded variant against that under the original schemas.

    Args:
        jga: Joint goal accuracy of all frames, by variant [frames].
        means: Its mean by variant.
        frame_index: Where all frames belong.
        rules: How the frames were scored.

    Returns:
        For each variant but the original `jga`, `difference` (jga - that of the original), its 95 %
        bootstrap interval from `low` to `high`, and `p`; None without the original.
    """
    names = [name for name in jga if name != ORIGINAL]
    comparisons: dict[str, Any] = {}
    if ORIGINAL in jga and names and len(frame_index.dialogue):
        sums = dialogue_sums(jga, frame_index, np.arange(len(frame_index.dialogue)), rules)
        rows = [list(jga).index(name) for name in names]
        original = sums.only([list(jga).index(ORIGINAL)] * len(names))
        # As few trials as resamples: more would take longer than all of the scoring.
        comparisons = compared(
            original, sums.only(rows), lambda means: _by_name(means, names), RESAMPLES
        )
    differences = {}
    for name in names:
        against = comparisons.get(name, {})
        low, high = against.get("interval") or (None, None)
        differences[name] = {
            "jga": means[name],
            "difference": against.get("difference"),
            "low": low,
            "high": high,
            "p": against.get("p"),
        }
    return differences


def _by_name(means: Floats, names: Sequence[str]) -> Statistics:
    return {name: means[..., i] for i, name in enumerate(names)}


def dialogue_sums(
    jga: Mapping[str, Floats], frame_index: FrameIndex, members: Ints, rules: Rules
) -> Sums:
    """Sum up the joint goal accuracy of some frames over each of their dialogues.

    The rows of the sums are the variants in their order, then the variation over the paper's
    variants, and then, where there are others, the variation over all variants but the original.

    Args:
        jga: Joint goal accuracy of all frames, by variant [frames].
        frame_index: Where all frames belong.
        members: Positions of the group's frames [some frames].
        rules: How the frames were scored.
    """
    turn, dialogue = frame_index.turn[members], frame_index.dialogue[members]
    by_variant = np.stack(list(jga.values()))[:, members]
    scores = unit_scores("joint_goal_accuracy", by_variant, turn, rules)
    if rules.joint_acc_across_turn:
        dialogue = dialogue[turn_starts(turn)]
    # Masks over the variants, one for each set whose sensitivity is a row of the sums.
    sets = [[name in PAPER_VARIANTS for name in jga]]
    if own_wordings(jga):
        sets.append([name != ORIGINAL for name in jga])
    rows = np.vstack([scores, *(variation(scores[mask], rules.zero_mean) for mask in sets)])
    dialogues, dialogue = np.unique(dialogue, return_inverse=True)
    # An undefined score adds 0 to its dialogue's total and 0 to the number that it is divided by.
    totals = [np.bincount(dialogue, row, len(dialogues)) for row in np.nan_to_num(rows)]
    numbers = [np.bincount(dialogue, row, len(dialogues)) for row in 1.0 - np.isnan(rows)]
    return Sums(np.stack(totals, axis=1), np.stack(numbers, axis=1))


def headline_statistics(means: Floats, variants: list[str]) -> Statistics:
    """The headline statistics that the variants allow, from mean scores of `dialogue_sums`.

    Where there are variants beside the paper's, the sensitivity over all reworded variants is one
    of them, under its own name.

    Args:
        means: Mean scores [..., rows].
        variants: The variants, which are the first rows.

    Returns:
        `jga_orig`, `jga_v1-5` and `ss_jga`, where they are defined [...] each.
    """
    row = _by_name(means, variants)
    statistics = {"jga_orig": row[ORIGINAL]} if ORIGINAL in row else {}
    if all(name in row for name in PAPER_VARIANTS):
        statistics["jga_v1-5"] = np.mean([row[name] for name in PAPER_VARIANTS], axis=0)
    if len(row.keys() & {*PAPER_VARIANTS}) > 1:
        statistics["ss_jga"] = means[..., len(variants)]
    if wider := wider_set(variants):
        statistics[f"ss_jga({wider})"] = means[..., len(variants) + 1]
    return statistics
