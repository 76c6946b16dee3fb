"""Sum up per-frame scores into the structure of scores.json."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import Bools, Floats, Ints
from .robustness import BESIDE, is_known, mean_defined, robustness
from .rows import ScoreError
from .scoring import METRICS, FrameScores
from .signature import OFFICIAL, Rules, Setup, signature
from .units import ScoredFrames, index_frames, unit_scores
from .variants import ORIGINAL

ALL, SEEN, UNSEEN = "#ALL_SERVICES", "#SEEN_SERVICES", "#UNSEEN_SERVICES"
# The metrics of dialogue states that `compare` pairs.
PAIRED = ("joint_goal_accuracy", *BESIDE.values())
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
    has_canonical = is_known([v.scores["joint_canonical_accuracy"] for v in variants.values()])
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
            if metric == metrics[0] or is_known([v.scores[metric] for v in variants.values()])
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
