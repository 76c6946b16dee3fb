"""Sum up per-frame scores of dialogue states into the structure of scores.json.

Two accuracies stand beside joint goal accuracy: change accuracy, which counts an early mistake once
and not again in every later turn (`changed_slots` has its source), and canonical accuracy, which
also takes what a value is to the API.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import methodcaller
from typing import Any

import numpy as np

from .columns import Bools, Floats, Ints, absent, safe_divide
from .core import Figure, Means, Over, Sample, Scores, differences, mean_defined
from .errors import ScoreError
from .scoring import METRICS, FrameScores
from .signature import OFFICIAL, Rules, Setup, signature
from .units import ALL as EVERY
from .units import SEEN as IN_TRAIN
from .units import UNSEEN as NOT_IN_TRAIN
from .units import ScoredFrames, index_frames, unit_scores
from .variants import ORIGINAL, PAPER_VARIANTS, wider_set, worst_sets

ALL, SEEN, UNSEEN = "#ALL_SERVICES", "#SEEN_SERVICES", "#UNSEEN_SERVICES"
# The joint accuracies, by what their figures are called; the first decides.
JOINT = {
    "jga": "joint_goal_accuracy",
    "change": "joint_change_accuracy",
    "canonical": "joint_canonical_accuracy",
}
JGA = JOINT["jga"]
BESIDE = ("change", "canonical")
_BESIDE = tuple(f"{name}_{mean}" for name in BESIDE for mean in ("orig", "v1-5"))
_SS = ("ss_jga", "ss_jga_nonzero")
HEADLINE = ("jga_orig", "jga_v1-5", "relative_difference", *_SS, "jga_worst", "flips", *_BESIDE)
WITH_INTERVALS = ("jga_orig", "jga_v1-5", "drop", *_SS, "jga_worst", "flips", *_BESIDE)
# The metrics of dialogue states that `compare` pairs.
PAIRED = tuple(JOINT.values())
_UNSTATED = Setup()
_RIGHT = "JGA: joint goal accuracy; a frame is right if every slot of its state is."
_LEGENDS = {
    "change": "Change: JGA of what changes since the turn before; an early mistake counts once.",
    "canonical": "Canonical: JGA that also takes a value as the API writes it, such as 2019-03-01.",
}


def state_figures(scores: Scores) -> list[Figure]:
    """The figures of states, under keys such as `jga_v1-5` and `jga_worst(v1..v5+mine)`."""
    variants = scores.variants
    sensitive = {"": [name for name in PAPER_VARIANTS if name in variants]}
    if wider := wider_set(variants):
        sensitive[f"({wider})"] = [name for name in variants if name != ORIGINAL]
    figures = [
        Figure("jga_orig", JGA, methodcaller("under", ORIGINAL), "JGA_orig",
            (_RIGHT, "JGA_orig: under the original schemas.")),
        Figure("jga_v1-5", JGA, Over(PAPER_VARIANTS), "JGA_v1-5",
            (_RIGHT, "JGA_v1-5: the mean over the five rewordings.")),
    ]  # fmt: skip
    for mark, of in sensitive.items():
        legend = (
            "SS: schema sensitivity, the standard deviation of a frame's score over the rewordings "
            "in % of its mean; 0 where nothing varies, and it may exceed 100."
        )
        named = mark or f"({'+'.join(of)})"
        title = "SS_JGA" if tuple(of) == PAPER_VARIANTS else f"SS{named}"
        sensitivity = methodcaller("sensitivity", of)
        figures.append(Figure(f"ss_jga{mark}", JGA, sensitivity, title, (legend,), True))
    legend = "SS_nonzero: SS_JGA of the frames that do not score 0 under all five rewordings."
    nonzero = methodcaller("sensitivity_nonzero", PAPER_VARIANTS)
    figures.append(Figure("ss_jga_nonzero", JGA, nonzero, "SS_nonzero", (legend,), True))
    for name, of in worst_sets(variants).items():
        mark = f"({name})" if name else ""
        legend = "JGA_worst: each frame under the variant that is worst for it."
        worst = methodcaller("worst", of)
        figures.append(Figure(f"jga_worst{mark}", JGA, worst, f"JGA_worst{mark}", (legend,)))
        legend = "flips: frames right under one variant and wrong under another."
        flips = methodcaller("flips", of)
        figures.append(Figure(f"flips{mark}", JGA, flips, f"flips{mark}", (legend,), True))
    for name in BESIDE:
        if (metric := JOINT[name]) in scores.metrics:
            title, legends = name.capitalize(), (_LEGENDS[name],)
            original = methodcaller("under", ORIGINAL)
            figures.append(Figure(f"{name}_orig", metric, original, f"{title}_orig", legends))
            reworded = Over(PAPER_VARIANTS)
            figures.append(Figure(f"{name}_v1-5", metric, reworded, f"{title}_v1-5", legends))
    return figures


def _drop(means: Means) -> Floats:
    return means.over(PAPER_VARIANTS) - means.under(ORIGINAL)


# Paired within a system, so that `compare` has it only as the difference of its two means.
DROP = Figure("drop", JGA, _drop, "drop", ("drop: JGA_v1-5 less JGA_orig.",))
RELATIVE = Figure(
    "relative_difference",
    JGA,
    lambda means: safe_divide(_drop(means), means.under(ORIGINAL)),
    "Diff_rel",
    ("Diff_rel: (JGA_v1-5 - JGA_orig) / JGA_orig.",),
)


def frame_scores(
    variants: Mapping[str, ScoredFrames], metrics: Sequence[str], rules: Rules = OFFICIAL
) -> Scores:
    """The scores of the same frames by those metrics, the first always, that are defined."""
    names = sorted(variants, key=lambda name: (name != ORIGINAL, name))
    check_same_frames({name: variants[name] for name in names})
    first = variants[names[0]]
    items = index_frames(first.frame_id, first.seen)
    stacked = {m: np.stack([variants[name].scores[m] for name in names]) for m in metrics}
    known = {m: rows for m, rows in stacked.items() if m == metrics[0] or not np.isnan(rows).all()}
    return Scores(names, items, known, rules.zero_mean)


def joined(scores: Scores, rules: Rules) -> Scores:
    """The scores whose means are taken: joint accuracies of turns, where the rules say so."""
    turn = scores.items.turn
    metrics = {name: unit_scores(name, rows, turn, rules) for name, rows in scores.metrics.items()}
    return replace(scores, metrics=metrics)


def report(variants: Mapping[str, FrameScores], setup: Setup = _UNSTATED) -> dict[str, Any]:
    """Sum up the scores of one system under one or more schema variants.

    Args:
        variants: Per-frame scores by variant, with or without `original`.
        setup: Which data was scored and how.

    Returns:
        `variants`, `sgdx`, `signature`, `frames`, `ignored_slots`, `predicted_slots`. Scores
        are in [0, 1], `relative_difference` in [-1, inf), `ss_jga` in [0, sqrt K]; a figure that is
        undefined, or needs a variant which is not there, is None.

    Raises:
        ScoreError: The variants have different frames, or a frame is seen under one of them and
            not under another.
    """
    scores = frame_scores(variants, (JGA, *(m for m in METRICS if m != JGA)), setup.rules)
    variants = {name: variants[name] for name in scores.variants}
    setup = replace(setup, canonical=JOINT["canonical"] in scores.metrics)
    turn, seen = scores.items.turn, scores.items.sets[IN_TRAIN]
    count, dialogues = len(seen), len(np.unique(scores.items.dialogue))
    return {
        "variants": {
            name: group_means(frames, setup.rules, turn) for name, frames in variants.items()
        },
        "sgdx": robustness(scores, setup.rules),
        "signature": signature(variants, count, dialogues, setup),
        "frames": {"all": count, "seen": int(seen.sum()), "unseen": int((~seen).sum())},
        "ignored_slots": {name: frames.ignored_slots for name, frames in variants.items()},
        "predicted_slots": {name: frames.predicted_slots for name, frames in variants.items()},
    }


def robustness(scores: Scores, rules: Rules) -> dict[str, Any]:
    """The part `sgdx` of scores.json: figures for all frames, seen, unseen and each service."""
    groups: dict[str, dict[str, Any]] = {}
    for name, members in scores.items.groups().items():
        of_group = joined(scores.only(members), rules)
        figures = [*state_figures(of_group), DROP, RELATIVE]
        keys = dict.fromkeys((*HEADLINE, "drop", *(figure.key for figure in figures)))
        sample = Sample(of_group, figures)
        groups[name] = {**keys, **sample.values(), **_of_metrics(of_group)}
        if name in (EVERY, IN_TRAIN, NOT_IN_TRAIN):
            intervals = sample.intervals()
            keys = dict.fromkeys((*WITH_INTERVALS, *keys))
            of_keys = {key: intervals.get(key) for key in keys if key != RELATIVE.key}
            groups[name]["confidence"] = of_keys
        else:
            groups[name]["frames"] = len(members)
    every = joined(scores, rules)
    by_variant = {name: mean_defined(row) for name, row in zip(every.variants, every.metrics[JGA])}
    return {
        **groups.pop(EVERY),
        "by_variant": by_variant,
        "differences": {
            name: {"jga": by_variant[name], **difference}
            for name, difference in variant_differences(every, JGA).items()
        },
        "seen": groups.pop(IN_TRAIN),
        "unseen": groups.pop(NOT_IN_TRAIN),
        "by_service": groups,
    }


def variant_differences(scores: Scores, metric: str) -> dict[str, dict[str, float | None]]:
    """By how much a metric under each variant differs from that under the original, with its p."""
    compared = differences(scores, Figure(metric, metric, Over(scores.variants)))
    of_variants = {}
    for name in [name for name in scores.variants if name != ORIGINAL]:
        against = compared.get(name, {})
        low, high = against.get("interval") or (None, None)
        keys = {"difference": against.get("difference"), "low": low, "high": high}
        of_variants[name] = {**keys, "p": against.get("p")}
    return of_variants


def _of_metrics(scores: Scores) -> dict[str, dict[str, float | None]]:
    """Every metric's mean over v1 to v5, None if one is missing, and its sensitivity over them."""
    paper = [name for name in PAPER_VARIANTS if name in scores.variants]
    known = [metric for metric in METRICS if metric in scores.metrics]
    sensitivity = methodcaller("sensitivity", paper)
    kinds = {
        "mean_v1-5": [Figure(metric, metric, Over(PAPER_VARIANTS)) for metric in known],
        "sensitivity": [Figure(metric, metric, sensitivity) for metric in known],
    }
    return {
        kind: {**dict.fromkeys(METRICS), **Sample(scores, figures).values()}
        for kind, figures in kinds.items()
    }


def paired(variants: Mapping[str, ScoredFrames], metrics: Sequence[str] = PAIRED) -> dict[str, Any]:
    """Every frame's scores, which `compare` pairs with another system's."""
    return paired_scores(frame_scores(variants, metrics), "frame_id")


def paired_scores(scores: Scores, item: str) -> dict[str, Any]:
    """The part `paired` of scores.json: the ids of the items, their sets, and their scores."""
    return {
        item: scores.items.ids.to_pylist(),
        **{
            name: sorted(set(scores.items.service[member]))
            for name, member in scores.items.sets.items()
        },
        **{
            metric: {
                name: _json_numbers(row) for name, row in zip(scores.variants, rows, strict=True)
            }
            for metric, rows in scores.metrics.items()
        },
        **{name: {"": _json_numbers(row)} for name, row in scores.shared.items()},
    }


def _json_numbers(scores: Floats) -> list[float | None]:
    """Scores as JSON numbers; whole ones are written without a decimal point."""
    numbers = scores.astype(object)
    is_whole = scores == np.floor(scores)
    numbers[is_whole] = scores[is_whole].astype(np.int64)
    numbers[np.isnan(scores)] = None
    listed: list[float | None] = numbers.tolist()
    return listed


def empty_state_jga(variants: Mapping[str, FrameScores]) -> float | None:
    """The joint goal accuracy of no slot at all: the share of frames that have none."""
    scores = next(iter(variants.values())).scores["average_goal_accuracy"]
    return mean_defined(np.isnan(scores).astype(np.float64))


def group_means(
    frames: FrameScores, rules: Rules = OFFICIAL, turn: Ints | None = None
) -> dict[str, dict[str, float | None]]:
    """The means of every metric for each group: all, seen, unseen, service, domain."""
    if turn is None:
        turn = index_frames(frames.frame_id, frames.seen).turn
    means = {}
    for group, member in _groups(frames).items():
        members = np.flatnonzero(member)
        units = {
            m: unit_scores(m, frames.scores[m][members], turn[members], rules) for m in METRICS
        }
        means[group] = {metric: mean_defined(values) for metric, values in units.items()}
    return means


def _groups(frames: FrameScores) -> dict[str, Bools]:
    encoded = frames.service.dictionary_encode()
    code = encoded.indices.to_numpy(zero_copy_only=False)
    groups = {ALL: np.ones(len(code), dtype=bool), SEEN: frames.seen, UNSEEN: ~frames.seen}
    for i, name in enumerate(encoded.dictionary.to_pylist()):
        for group in dict.fromkeys((name, name.split("_")[0])):
            groups[group] = groups.get(group, False) | (code == i)
    return {group: member for group, member in groups.items() if member.any()}


def check_same_frames(variants: Mapping[str, ScoredFrames]) -> None:
    """Refuse variants with different frames, or with a frame that is seen under only some."""
    (name, first), *others = variants.items()
    for other, frames in others:
        if first.frame_id.equals(frames.frame_id) and np.array_equal(first.seen, frames.seen):
            continue
        for left, right, a, b in ((first, frames, name, other), (frames, first, other, name)):
            if missing := absent(left.frame_id, right.frame_id):
                raise ScoreError(
                    f"the variants' frames differ: {len(missing)} frames of {a} are not in {b}, "
                    f"the first is {missing[0]}"
                )
        if len(differ := np.flatnonzero(first.seen != frames.seen)):
            frame = first.frame_id[int(differ[0])]
            raise ScoreError(f"frame {frame} is seen in one of {name} and {other}, not in both")
