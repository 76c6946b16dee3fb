"""Sum up per-frame scores of dialogue states into the structure of scores.json.

Two accuracies stand beside joint goal accuracy: change accuracy, which counts an early mistake once
and not again in every later turn (`change` says where it is from), and canonical accuracy, which
also takes what a value is to the API.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import methodcaller
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .bootstrap import DIALOGUES, Interval
from .columns import Bools, Floats, Ints
from .core import Figures, Means, Sample, Scores, differences
from .robustness import mean_defined, variation
from .rows import ScoreError
from .scoring import METRICS, FrameScores
from .signature import OFFICIAL, Rules, Setup, signature
from .units import ALL as EVERY
from .units import SEEN as IN_TRAIN
from .units import UNSEEN as NOT_IN_TRAIN
from .units import FrameIndex, ScoredFrames, index_frames, turn_starts, unit_scores
from .variants import ORIGINAL, PAPER_VARIANTS, wider_set, worst_sets

ALL, SEEN, UNSEEN = "#ALL_SERVICES", "#SEEN_SERVICES", "#UNSEEN_SERVICES"
# The joint accuracies, by what their figures are called; the first decides.
JOINT = {
    "jga": "joint_goal_accuracy",
    "change": "joint_change_accuracy",
    "canonical": "joint_canonical_accuracy",
}
BESIDE = ("change", "canonical")
_BESIDE = tuple(f"{name}_{mean}" for name in BESIDE for mean in ("orig", "v1-5"))
HEADLINE = ("jga_orig", "jga_v1-5", "relative_difference", "ss_jga", "jga_worst", "flips", *_BESIDE)
WITH_INTERVALS = ("jga_orig", "jga_v1-5", "drop", "ss_jga", "jga_worst", "flips", *_BESIDE)
# Scores of all frames by the names of JOINT, and by variant [frames].
Tables = Mapping[str, Mapping[str, Floats]]
# The metrics of dialogue states that `compare` pairs.
PAIRED = tuple(JOINT.values())
_UNSTATED = Setup()


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
    variants = {name: variants[name] for name in sorted(variants, key=_original_first)}
    check_same_frames(variants)
    first = next(iter(variants.values()))
    frame_index = index_frames(first.frame_id, first.seen)
    seen, count = int(first.seen.sum()), len(first.seen)
    dialogues = len(np.unique(frame_index.dialogue))
    has_canonical = is_known(v.scores[JOINT["canonical"]] for v in variants.values())
    setup = replace(setup, canonical=has_canonical)
    return {
        "variants": {
            name: group_means(scores, setup.rules, frame_index.turn)
            for name, scores in variants.items()
        },
        "sgdx": robustness(variants, frame_index, setup.rules, setup.over),
        "signature": signature(variants, count, dialogues, setup),
        "frames": {"all": count, "seen": seen, "unseen": count - seen},
        "ignored_slots": {name: scores.ignored_slots for name, scores in variants.items()},
        "predicted_slots": {name: scores.predicted_slots for name, scores in variants.items()},
    }


def state_figures(names: Iterable[str], wordings: Sequence[str]) -> Figures:
    """The figures of dialogue states that are means, under their keys in scores.json.

    Where there are wordings beside the paper's, a key such as `ss_jga(v1..v5+mine)` is of the
    sensitivity over all of them, and `jga_worst(original+v1..v5+mine)` of the worst case.

    Args:
        names: Those of JOINT that are known.
        wordings: The wordings.
    """
    sensitive = {"": [name for name in PAPER_VARIANTS if name in wordings]}
    if wider := wider_set(wordings):
        sensitive[f"({wider})"] = [name for name in wordings if name != ORIGINAL]
    figures: dict[str, tuple[str, Callable[[Means], Floats]]] = {
        "jga_orig": ("jga", lambda means: means.under(ORIGINAL)),
        "jga_v1-5": ("jga", lambda means: means.over(PAPER_VARIANTS)),
        **{
            f"ss_jga{mark}": ("jga", methodcaller("sensitivity", of))
            for mark, of in sensitive.items()
        },
    }
    for name, of in worst_sets(wordings).items():
        mark = f"({name})" if name else ""
        figures[f"jga_worst{mark}"] = "jga", methodcaller("worst", of)
        figures[f"flips{mark}"] = "jga", methodcaller("flips", of)
    for name in BESIDE:
        if name in names:
            figures[f"{name}_orig"] = name, lambda means: means.under(ORIGINAL)
            figures[f"{name}_v1-5"] = name, lambda means: means.over(PAPER_VARIANTS)
    return figures


# Paired within a system, so that `compare` has it only as the difference of its two means.
DROP: Figures = {"drop": ("jga", lambda m: m.over(PAPER_VARIANTS) - m.under(ORIGINAL))}


def state_scores(tables: Tables, frame_index: FrameIndex, members: Ints, rules: Rules) -> Scores:
    """The scores of some frames, or by the rules of their turns.

    Args:
        tables: The scores of all frames.
        frame_index: Where all frames belong.
        members: Positions of the frames [some frames].
        rules: How the frames were scored.
    """
    wordings = list(tables["jga"])
    turn, dialogue = frame_index.turn[members], frame_index.dialogue[members]
    if rules.joint_acc_across_turn:
        dialogue = dialogue[turn_starts(turn)]
    metrics = {
        # Those beside joint goal accuracy, too, are of turns where that is.
        name: unit_scores(JOINT["jga"], np.stack([t[w][members] for w in wordings]), turn, rules)
        for name, t in tables.items()
    }
    return Scores(wordings, dialogue, metrics, rules.zero_mean)


def state_sample(scores: Scores, also: Figures = DROP) -> Sample:
    """Frames or turns, summed up for `state_figures` and others."""
    return Sample(scores, {**state_figures(scores.metrics, scores.wordings), **also})


def headline(sample: Sample) -> dict[str, float | None]:
    """The headline figures of `state_sample` and their relative difference; None if undefined."""
    values = {**dict.fromkeys((*HEADLINE, "drop", *sample.figures)), **sample.values()}
    original, drop = values["jga_orig"], values["drop"]
    values["relative_difference"] = drop / original if original and drop is not None else None
    return values


def confidence(sample: Sample, over: str = DIALOGUES) -> dict[str, Interval]:
    """The 95 % intervals of the figures of `state_sample`; None where undefined.

    Over wordings v1 to v5 are drawn; the original is not, as it is what was trained on.
    """
    intervals = sample.intervals(over, PAPER_VARIANTS)
    return {key: intervals.get(key) for key in dict.fromkeys((*WITH_INTERVALS, *sample.figures))}


def robustness(
    variants: Mapping[str, FrameScores], frame_index: FrameIndex, rules: Rules, over: str
) -> dict[str, Any]:
    """The part `sgdx` of scores.json: figures for all frames, seen, unseen and each service.

    Accuracies are in [0, 1], `relative_difference` is in [-1, inf), `drop` is in [-1, 1],
    sensitivities are in [0, sqrt K]; None where undefined, or where wordings are lacking.

    Args:
        variants: Scores of the same frames, by variant.
        frame_index: Where those frames belong.
        rules: How the frames were scored.
        over: What the intervals of the groups are over.
    """
    tables = {
        name: {variant: frames.scores[metric] for variant, frames in variants.items()}
        for name, metric in JOINT.items()
        if name == "jga" or is_known(frames.scores[metric] for frames in variants.values())
    }
    groups: dict[str, dict[str, Any]] = {}
    for name, members in frame_index.groups().items():
        sample = state_sample(state_scores(tables, frame_index, members, rules))
        groups[name] = headline(sample) | _of_metrics(variants, frame_index, members, rules)
        if name in (EVERY, IN_TRAIN, NOT_IN_TRAIN):
            groups[name]["confidence"] = confidence(sample, over)
        else:
            groups[name]["frames"] = len(members)
        if name == EVERY:
            jga = sample.scores
    by_variant = {
        name: mean_defined(row) for name, row in zip(jga.wordings, jga.metrics["jga"], strict=True)
    }
    return {
        **groups.pop(EVERY),
        "by_variant": by_variant,
        "differences": {
            name: {"jga": by_variant[name], **difference}
            for name, difference in differences(jga, "jga").items()
        },
        "seen": groups.pop(IN_TRAIN),
        "unseen": groups.pop(NOT_IN_TRAIN),
        "by_service": groups,
    }


def is_known(scores: Iterable[Floats]) -> bool:
    """Whether any of some scores is defined, [frames] each."""
    return not all(np.isnan(of_variant).all() for of_variant in scores)


def _of_metrics(
    variants: Mapping[str, FrameScores], frame_index: FrameIndex, members: Ints, rules: Rules
) -> dict[str, dict[str, float | None]]:
    """Every metric's mean over v1 to v5, None if one is missing, and its sensitivity over them."""
    paper = [variants[name] for name in PAPER_VARIANTS if name in variants]
    means: dict[str, float | None] = {}
    sensitivity: dict[str, float | None] = {}
    for metric in METRICS:
        rows = np.empty((len(paper), len(members)))
        for row, of_variant in zip(rows, paper, strict=True):
            row[:] = of_variant.scores[metric][members]
        rows = unit_scores(metric, rows, frame_index.turn[members], rules)
        of_rows = [mean for row in rows if (mean := mean_defined(row)) is not None]
        complete = len(of_rows) == len(PAPER_VARIANTS)
        means[metric] = sum(of_rows) / len(of_rows) if complete else None
        sensitivity[metric] = mean_defined(variation(rows, rules.zero_mean))
    return {"mean_v1-5": means, "sensitivity": sensitivity}


def paired(variants: Mapping[str, ScoredFrames], metrics: Sequence[str] = PAIRED) -> dict[str, Any]:
    """Every frame's scores, which `compare` pairs with another system's.

    Args:
        variants: The scores by variant.
        metrics: Which of them.

    Returns:
        `frame_id`; `seen`, the seen services by their original names; and each of the metrics that
        is defined in some frame, by variant, in the order of `frame_id`, None where undefined. The
        first is always there.
    """
    first = next(iter(variants.values()))
    frame_index = index_frames(first.frame_id, first.seen)
    return {
        "frame_id": first.frame_id.to_pylist(),
        "seen": sorted(set(frame_index.service[first.seen])),
        **{
            metric: {
                name: _json_numbers(frames.scores[metric]) for name, frames in variants.items()
            }
            for metric in metrics
            if metric == metrics[0] or is_known(v.scores[metric] for v in variants.values())
        },
    }


def _json_numbers(scores: Floats) -> list[float | None]:
    """Scores as JSON numbers; 0 and 1 are written without a decimal point."""
    numbers = scores.astype(object)
    for number in (0, 1):
        numbers[scores == number] = number
    numbers[np.isnan(scores)] = None
    listed: list[float | None] = numbers.tolist()
    return listed


def empty_state_jga(variants: Mapping[str, FrameScores]) -> float | None:
    """The joint goal accuracy of a system that predicts no slot at all.

    It is the share of frames whose reference has no slot. In those alone, the average goal accuracy
    is undefined.

    Args:
        variants: Per-frame scores by variant.
    """
    scores = next(iter(variants.values())).scores["average_goal_accuracy"]
    return mean_defined(np.isnan(scores).astype(np.float64))


def group_means(
    frames: FrameScores, rules: Rules = OFFICIAL, turn: Ints | None = None
) -> dict[str, dict[str, float | None]]:
    """Every metric's mean over the frames where it is defined, for each group of services.

    Groups: #ALL_SERVICES, #SEEN_SERVICES, #UNSEEN_SERVICES, each service, each domain (a service's
    name up to its first underscore). A group without frames is left out; a metric defined in none
    of a group's frames is None.

    Args:
        frames: The scores of one variant.
        rules: How the frames were scored.
        turn: The turns of the frames as `FrameIndex` has them [frames]; None to read them off here.
    """
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


def _original_first(variant: str) -> tuple[bool, str]:
    return variant != ORIGINAL, variant


def check_same_frames(variants: Mapping[str, ScoredFrames]) -> None:
    """Refuse variants with different frames, or with a frame that is seen under only some of them.

    Raises:
        ScoreError: The variants differ so; the message names the first frame.
    """
    (name, first), *others = variants.items()
    for other, frames in others:
        if first.frame_id.equals(frames.frame_id) and np.array_equal(first.seen, frames.seen):
            continue
        for left, right, a, b in ((first, frames, name, other), (frames, first, other, name)):
            absent = _absent(left.frame_id, right.frame_id)
            if len(absent):
                raise ScoreError(
                    f"the variants' frames differ: {len(absent)} frames of {a} are not in {b}, "
                    f"the first is {absent[0]}"
                )
        if len(differ := np.flatnonzero(first.seen != frames.seen)):
            frame = first.frame_id[int(differ[0])]
            raise ScoreError(f"frame {frame} is seen in one of {name} and {other}, not in both")


def _absent(frame_id: pa.Array, others: pa.Array) -> pa.Array:
    return frame_id.filter(pc.invert(pc.is_in(frame_id, value_set=others)))
