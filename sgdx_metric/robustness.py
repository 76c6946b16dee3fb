"""The figures of SGD-X: scores under the original and the reworded schemas, and sensitivity.

Schema sensitivity (SS) says how much a frame's score moves when only the words of the schema
change. Lee et al. 2022, "SGD-X: A Benchmark for Robust Generalization in Schema-Guided Dialogue
Systems" (arXiv 2110.06800), define it as the mean over all frames of the coefficient of variation
(sample standard deviation / mean) of the frame's scores under the K schema variants.

The worst case says what a user can rely on: a frame's score under the wording that is worst for it.
Liang et al. 2022, "Holistic Evaluation of Language Models" (arXiv 2211.09110), measure robustness
so, as the mean of each instance's worst score over its perturbations, the unperturbed one included.

Two accuracies stand beside joint goal accuracy: change accuracy, which counts an early mistake once
and not again in every later turn (`change` says where it is from), and canonical accuracy, which
also takes what a value is to the API.
"""

from collections.abc import Iterable, Mapping, Sequence
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
    crossed_intervals,
    sums_by_dialogue,
)
from .columns import Floats, Ints, safe_divide
from .scoring import METRICS, FrameScores
from .signature import OFFICIAL, Rules
from .units import ALL, SEEN, UNSEEN, FrameIndex, turn_starts, unit_scores
from .variants import ORIGINAL, PAPER_VARIANTS, wider_set, worst_sets

# The accuracies that stand beside the joint goal accuracy, by what their figures are called.
BESIDE = {"change": "joint_change_accuracy", "canonical": "joint_canonical_accuracy"}
_BESIDE = tuple(f"{name}_{mean}" for name in BESIDE for mean in ("orig", "v1-5"))
HEADLINE = ("jga_orig", "jga_v1-5", "relative_difference", "ss_jga", "jga_worst", "flips", *_BESIDE)
# The scores that get confidence intervals.
WITH_INTERVALS = ("jga_orig", "jga_v1-5", "drop", "ss_jga", "jga_worst", "flips", *_BESIDE)
# Scores of all frames under each variant, by the names of BESIDE.
Beside = Mapping[str, Mapping[str, Floats]]
_NOTHING: Beside = {}
# A frame with this score or more is right, and with a lesser one wrong.
RIGHT = 0.5


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


def worst_case(scores: Floats) -> Floats:
    """The least of each frame's, or turn's, scores under some wordings.

    Args:
        scores: Scores of any metric of which more is better, one row a wording, NaN where undefined
            [wordings, frames]; one wording at least.

    Returns:
        Scores [frames]; NaN where the score is undefined under any of the wordings.
    """
    return np.asarray(scores.min(axis=0))


def flipped(scores: Floats) -> Floats:
    """1 for a frame, or turn, that is right under one wording and wrong under another, else 0.

    A score of at least 0.5 is right and a lesser one is wrong.

    Args:
        scores: As for `worst_case` [wordings, frames].

    Returns:
        0 or 1 [frames]; NaN where the score is undefined under any of the wordings.
    """
    least, most = scores.min(axis=0), scores.max(axis=0)
    flips = ((least < RIGHT) & (most >= RIGHT)).astype(np.float64)
    return np.where(np.isnan(least), np.nan, flips)


def mean_defined(values: Floats) -> float | None:
    """Mean of the values that are not NaN; None where all of them are."""
    defined = values[~np.isnan(values)]
    # `mean` takes three times as long for the few values that most groups have.
    return float(defined.sum() / len(defined)) if len(defined) else None


def robustness(
    variants: Mapping[str, FrameScores],
    frame_index: FrameIndex,
    rules: Rules,
    over: str = DIALOGUES,
) -> dict[str, Any]:
    """The figures for all frames, the seen, the unseen and each service (by its original name).

    Args:
        variants: Scores of the same frames, by variant.
        frame_index: Where those frames belong.
        rules: How the frames were scored.
        over: What the intervals of the groups are over.

    Returns:
        The part `sgdx` of scores.json. Accuracies are in [0, 1], `relative_difference` is in
        [-1, inf), `drop` (jga_v1-5 - jga_orig) is in [-1, 1], sensitivities are in [0, sqrt K];
        None where undefined. `jga_worst` is the mean of `worst_case` and `flips` that of `flipped`,
        over the original and v1 to v5, None unless all six are given. `change_orig` and
        `change_v1-5` are the joint change accuracy under the original and its mean over v1 to v5,
        `canonical_orig` and `canonical_v1-5` the same of the joint canonical accuracy, None where
        the references have no canonical values. Where there are variants
        beside the paper's, a key such as `ss_jga(v1..v5+mine)` has the sensitivity over all of
        them, and `ss_jga` stays that of the paper's; where others than these six are given, keys
        such as `jga_worst(original+v1..v5+mine)` and `flips(...)` have the same over all that are.
    """
    jga = {name: frames.scores["joint_goal_accuracy"] for name, frames in variants.items()}
    beside = {
        name: {variant: frames.scores[metric] for variant, frames in variants.items()}
        for name, metric in BESIDE.items()
        if is_known([frames.scores[metric] for frames in variants.values()])
    }
    groups = frame_index.groups()
    means = {
        name: _group(variants, frame_index, members, rules) for name, members in groups.items()
    }
    for name in (ALL, SEEN, UNSEEN):
        members = groups.pop(name)
        means[name]["confidence"] = confidence(jga, frame_index, members, rules, over, beside)
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
    """The headline figures of some frames, and every metric's mean and sensitivity."""
    turn = frame_index.turn[members]
    scores = {
        metric: unit_scores(
            metric, np.stack([v.scores[metric][members] for v in variants.values()]), turn, rules
        )
        for metric in METRICS
    }
    paper = [name in PAPER_VARIANTS for name in variants]
    names = list(variants)
    beside = {name: scores[metric] for name, metric in BESIDE.items()}
    return headline(scores["joint_goal_accuracy"], names, rules, beside) | {
        "mean_v1-5": {metric: _average(names, scores[metric]) for metric in METRICS},
        "sensitivity": {
            metric: mean_defined(variation(scores[metric][paper], rules.zero_mean))
            for metric in METRICS
        },
    }


def is_known(scores: Iterable[Floats]) -> bool:
    """Whether any of some scores is defined, [frames] each."""
    return not all(np.isnan(of_variant).all() for of_variant in scores)


def headline(
    scores: Floats, variants: Sequence[str], rules: Rules, beside: Mapping[str, Floats]
) -> dict[str, float | None]:
    """The headline figures of some frames, or turns; None where undefined.

    Args:
        scores: Their joint goal accuracy under each variant [variants, frames].
        variants: The variants, in the order of the rows.
        rules: How the frames were scored.
        beside: The accuracies beside it likewise, those that are known, by the names of BESIDE.

    Returns:
        HEADLINE, `drop`, and the means of all statistics of `across_wordings`.
    """
    original, jga = _original(variants, scores), _average(variants, scores)
    figures = {
        "jga_orig": original,
        "jga_v1-5": jga,
        "relative_difference": (
            (jga - original) / original if original and jga is not None else None
        ),
        "drop": None if jga is None or original is None else jga - original,
        "ss_jga": None,
        "jga_worst": None,
        "flips": None,
        **dict.fromkeys(_BESIDE),
    }
    for name, of_name in beside.items():
        figures[f"{name}_orig"] = _original(variants, of_name)
        figures[f"{name}_v1-5"] = _average(variants, of_name)
    across = across_wordings(scores, variants, rules)
    return figures | {name: mean_defined(values) for name, values in across.items()}


def _original(variants: Sequence[str], scores: Floats) -> float | None:
    """The mean under the original schemas [variants, units]; None where they are not there."""
    rows = [row for name, row in zip(variants, scores, strict=True) if name == ORIGINAL]
    return mean_defined(rows[0]) if rows else None


def across_wordings(scores: Floats, variants: Sequence[str], rules: Rules) -> Statistics:
    """What each frame's, or turn's, scores under all wordings say together.

    Args:
        scores: Scores under each variant [variants, frames].
        variants: The variants, in the order of the rows.
        rules: How the frames were scored.

    Returns:
        By name [frames]: `ss_jga`, the variation over those of v1 to v5 that are given, and where
        there are others, under a name with the set, that over all variants but the original; then
        `jga_worst` and `flips` for each of `worst_sets`, all but the first with the set's name.
    """

    def rows(names: Sequence[str]) -> Floats:
        return scores[[i for i, name in enumerate(variants) if name in names]]

    statistics = {"ss_jga": variation(rows(PAPER_VARIANTS), rules.zero_mean)}
    if wider := wider_set(variants):
        reworded = [name for name in variants if name != ORIGINAL]
        statistics[f"ss_jga({wider})"] = variation(rows(reworded), rules.zero_mean)
    for name, wordings in worst_sets(variants).items():
        mark = f"({name})" if name else ""
        statistics[f"jga_worst{mark}"] = worst_case(rows(wordings))
        statistics[f"flips{mark}"] = flipped(rows(wordings))
    return statistics


def across_names(variants: Sequence[str]) -> list[str]:
    """The names of the statistics that `across_wordings` returns, in their order."""
    return list(across_wordings(np.empty((len(variants), 0)), variants, OFFICIAL))


def _average(variants: Sequence[str], scores: Floats) -> float | None:
    """The mean over v1 to v5 of their means [variants, units]; None if one is missing."""
    rows = [scores[variants.index(name)] for name in PAPER_VARIANTS if name in variants]
    means = [mean for row in rows if (mean := mean_defined(row)) is not None]
    return sum(means) / len(means) if len(means) == len(PAPER_VARIANTS) else None


def confidence(
    jga: Mapping[str, Floats],
    frame_index: FrameIndex,
    members: Ints,
    rules: Rules,
    over: str = DIALOGUES,
    beside: Beside = _NOTHING,
) -> dict[str, Interval]:
    """The 95 % intervals of the headline scores of some frames; None where undefined.

    Over wordings the original is none of those that are drawn, as it is what was trained on; the
    means over v1 to v5 have an interval, and figures that are no means over wordings have none: the
    least of wordings that are drawn twice is of fewer wordings, and so is their deviation.

    Args:
        jga: Joint goal accuracy of all frames, by variant [frames].
        frame_index: Where all frames belong.
        members: Positions of the group's frames [some frames].
        rules: How the frames were scored.
        over: What the intervals are over: "dialogues", "wordings" or "both".
        beside: The accuracies beside it likewise, those that are known, by the names of BESIDE.
    """
    sums = dialogue_sums(jga, frame_index, members, rules, beside)
    if over == DIALOGUES:
        intervals = bootstrap(
            lambda weights: with_drop(
                headline_statistics(sums.means(weights), list(jga), list(beside))
            ),
            len(sums.total),
        )
    else:
        intervals = _confidence_over_wordings(sums, list(jga), list(beside), over)
    names = dict.fromkeys((*WITH_INTERVALS, *across_names(list(jga))))
    return {figure: intervals.get(figure) for figure in names}


def _confidence_over_wordings(
    sums: Sums, variants: list[str], beside: Sequence[str], over: str
) -> dict[str, Interval]:
    """The intervals of the means over v1 to v5, where all of them are given.

    Args:
        sums: What `dialogue_sums` returned.
        variants: The variants, which are its first rows.
        beside: The names of the accuracies whose rows are its last.
        over: "wordings" or "both".
    """
    if not set(PAPER_VARIANTS) <= set(variants):
        return {}

    def statistic(weights: Floats, shares: Floats) -> Statistics:
        means = sums.means(weights)
        statistics = {}
        for name, of_variant in tables(means, variants, beside).items():
            paper = np.stack([of_variant[variant] for variant in PAPER_VARIANTS], axis=1)
            statistics[f"{name}_v1-5"] = (paper * shares).sum(axis=1)
            if ORIGINAL in variants:
                statistics[f"{name}_orig"] = of_variant[ORIGINAL]
        return with_drop(statistics)

    return crossed_intervals(statistic, len(sums.total), len(PAPER_VARIANTS), over)


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
    jga: Mapping[str, Floats],
    frame_index: FrameIndex,
    members: Ints,
    rules: Rules,
    beside: Beside = _NOTHING,
) -> Sums:
    """Sum up the joint goal accuracy of some frames over each of their dialogues.

    The rows of the sums are the variants in their order, then the statistics of `across_wordings`
    in theirs, and then the accuracies beside it, each under the variants.

    Args:
        jga: Joint goal accuracy of all frames, by variant [frames].
        frame_index: Where all frames belong.
        members: Positions of the group's frames [some frames].
        rules: How the frames were scored.
        beside: The accuracies beside it likewise, those that are known, by the names of BESIDE.
    """
    turn, dialogue = frame_index.turn[members], frame_index.dialogue[members]
    by_variant = np.stack(
        [*jga.values(), *(of_name[variant] for of_name in beside.values() for variant in jga)]
    )
    # Those beside it, too, are of turns where the joint goal accuracy is.
    units = unit_scores("joint_goal_accuracy", by_variant[:, members], turn, rules)
    scores, others = units[: len(jga)], units[len(jga) :]
    if rules.joint_acc_across_turn:
        dialogue = dialogue[turn_starts(turn)]
    rows = np.vstack([scores, *across_wordings(scores, list(jga), rules).values(), others])
    return sums_by_dialogue(rows, dialogue)


def headline_statistics(
    means: Floats, variants: list[str], beside: Sequence[str] = ()
) -> Statistics:
    """The headline statistics that the variants allow, from mean scores of `dialogue_sums`.

    Args:
        means: Mean scores [..., rows].
        variants: The variants, which are the first rows.
        beside: The names of the accuracies whose rows are the last.

    Returns:
        `jga_orig`, `jga_v1-5`, the means of the statistics of `across_wordings`, and `change_orig`,
        `change_v1-5` and so on of those beside it, where they are defined [...] each.
    """
    by_table = tables(means, variants, beside)
    across = {
        name: means[..., i]
        for i, name in enumerate(across_names(variants), len(variants))
        if name != "ss_jga" or len({*variants} & {*PAPER_VARIANTS}) > 1
    }
    figures = {**_original_and_reworded("jga", by_table.pop("jga")), **across}
    for name, by_variant in by_table.items():
        figures |= _original_and_reworded(name, by_variant)
    return figures


def tables(
    means: Floats, variants: Sequence[str], beside: Sequence[str] = ()
) -> dict[str, Statistics]:
    """The means under each variant, from mean scores of `dialogue_sums`.

    Args:
        means: Mean scores [..., rows].
        variants: The variants, which are the first rows.
        beside: The names of the accuracies whose rows are the last.

    Returns:
        By variant [...]: under `jga` those of the joint goal accuracy, and under the name of each
        accuracy beside it those of that.
    """
    by_table = {"jga": _by_name(means, variants)}
    after = len(variants) + len(across_names(variants))
    for i, name in enumerate(beside):
        by_table[name] = _by_name(means[..., after + i * len(variants) :], variants)
    return by_table


def _original_and_reworded(name: str, by_variant: Statistics) -> Statistics:
    """`<name>_orig` and, where all of v1 to v5 are there, their mean `<name>_v1-5`."""
    statistics = {f"{name}_orig": by_variant[ORIGINAL]} if ORIGINAL in by_variant else {}
    if all(variant in by_variant for variant in PAPER_VARIANTS):
        paper = [by_variant[variant] for variant in PAPER_VARIANTS]
        statistics[f"{name}_v1-5"] = np.mean(paper, axis=0)
    return statistics
