"""Per-frame scores summed up: the structure of scores.json, and the signature."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import Bools, Floats
from .rows import ScoreError
from .scoring import METRICS, FrameScores
from .sensitivity import mean_defined, variation
from .version import __version__

ALL, SEEN, UNSEEN = "#ALL_SERVICES", "#SEEN_SERVICES", "#UNSEEN_SERVICES"
ORIGINAL = "original"
PAPER_VARIANTS = ("v1", "v2", "v3", "v4", "v5")
HEADLINE = ("jga_orig", "jga_v1-5", "relative_difference", "ss_jga")
_JGA = "joint_goal_accuracy"


def report(
    variants: Mapping[str, FrameScores], split: str | None = None, system_acts: str = "unknown"
) -> dict[str, Any]:
    """Sum up the scores of one system under one or more schema variants.

    Args:
        variants: per-frame scores by variant, `original` among them or not.
        split: for the signature.
        system_acts: "yes", "no", "mixed" or "unknown", for the signature.

    Returns:
        `variants`, `sgdx`, `signature`, `frames`, `ignored_slots`. Scores are in [0, 1],
        `relative_difference` in [-1, inf), `ss_jga` in [0, sqrt K]; a figure that is undefined, or
        needs a variant which is not there, is None.

    Raises:
        ScoreError: the variants' frames differ.
    """
    variants = {name: variants[name] for name in _ordered(variants)}
    _check_same_frames(variants)
    first = next(iter(variants.values()))
    seen = int(first.seen.sum())
    frames = {"all": len(first.seen), "seen": seen, "unseen": len(first.seen) - seen}
    return {
        "variants": {name: group_means(scores) for name, scores in variants.items()},
        "sgdx": _sgdx(variants),
        "signature": signature(list(variants), split, frames["all"], system_acts),
        "frames": frames,
        "ignored_slots": {name: scores.ignored_slots for name, scores in variants.items()},
    }


def signature(variants: list[str], split: str | None, frames: int, system_acts: str) -> str:
    """One line that says how a score came about."""
    parts = {
        "variants": "+".join(variants),
        "split": split or "unknown",
        "frames": frames,
        "match": "fuzzy-token-sort",
        "joint": "frame",
        "zero-mean": 0,
        "sd": "sample",
        "system-acts": system_acts,
        "version": __version__,
    }
    return "|".join(["sgdx_metric", *(f"{key}:{value}" for key, value in parts.items())])


def group_means(frames: FrameScores) -> dict[str, dict[str, float | None]]:
    """Every metric's mean over the frames where it is defined, for each group of services.

    Groups: #ALL_SERVICES, #SEEN_SERVICES, #UNSEEN_SERVICES, each service, each domain (a service's
    name up to its first underscore). A group without frames is left out; a metric defined in none
    of a group's frames is None.
    """
    encoded = frames.service.dictionary_encode()
    service = encoded.indices.to_numpy(zero_copy_only=False)
    names = encoded.dictionary.to_pylist()
    # Sums are taken once per service and seen/unseen; every group is a union of those.
    kind = service * 2 + frames.seen
    groups: dict[str, Bools] = {}
    for code in np.unique(kind).tolist():
        name = names[code // 2]
        for group in (ALL, SEEN if code % 2 else UNSEEN, name, name.split("_")[0]):
            groups.setdefault(group, np.zeros(len(names) * 2, dtype=bool))[code] = True
    member = np.stack(list(groups.values()), axis=1)
    means = {metric: _means(frames.scores[metric], kind, member) for metric in METRICS}
    return {
        group: {metric: means[metric][i] for metric in METRICS} for i, group in enumerate(groups)
    }


def _means(values: Floats, kind: Any, member: Bools) -> list[float | None]:
    """Mean of the defined values of each group; `member` [kinds, groups] says what is in it."""
    defined = ~np.isnan(values)
    total = np.bincount(kind[defined], values[defined], len(member)) @ member
    count = np.bincount(kind[defined], minlength=len(member)) @ member
    return [float(t / n) if n else None for t, n in zip(total, count, strict=True)]


def _sgdx(variants: Mapping[str, FrameScores]) -> dict[str, Any]:
    """The robustness figures of SGD-X for all frames, seen, unseen and each original service."""
    first = next(iter(variants.values()))
    jga = {name: frames.scores[_JGA] for name, frames in variants.items()}
    others = [values for name, values in jga.items() if name != ORIGINAL]
    varies = variation(np.stack(others)) if len(others) > 1 else np.full(len(first.seen), np.nan)
    services = pc.replace_substring_regex(first.frame_id, "^.*/", "").to_numpy(zero_copy_only=False)
    everything = np.ones(len(first.seen), dtype=bool)
    by_service = {}
    for service in sorted(set(services)):
        these = services == service
        by_service[service] = _figures(jga, varies, these) | {"frames": int(these.sum())}
    return {
        **_figures(jga, varies, everything),
        "by_variant": {name: mean_defined(values) for name, values in jga.items()},
        "seen": _figures(jga, varies, first.seen),
        "unseen": _figures(jga, varies, ~first.seen),
        "by_service": by_service,
    }


def _figures(jga: Mapping[str, Floats], varies: Floats, these: Bools) -> dict[str, float | None]:
    """The four headline figures over some frames; `varies` [frames] is their variation."""
    mean = {name: mean_defined(values[these]) for name, values in jga.items()}
    original = mean.get(ORIGINAL)
    known = [value for name in PAPER_VARIANTS if (value := mean.get(name)) is not None]
    average = sum(known) / len(known) if len(known) == len(PAPER_VARIANTS) else None
    difference = (average - original) / original if original and average is not None else None
    sensitivity = mean_defined(varies[these])
    return dict(zip(HEADLINE, (original, average, difference, sensitivity), strict=True))


def _ordered(variants: Mapping[str, Any]) -> list[str]:
    """`original` first, the others by name."""
    return sorted(variants, key=lambda name: (name != ORIGINAL, name))


def _check_same_frames(variants: Mapping[str, FrameScores]) -> None:
    (name, first), *others = variants.items()
    for other, frames in others:
        for left, right, a, b in ((first, frames, name, other), (frames, first, other, name)):
            absent = _absent(left.frame_id, right.frame_id)
            if len(absent):
                raise ScoreError(
                    f"the variants' frames differ: {len(absent)} frames of {a} are not in {b}, "
                    f"the first is {absent[0]}"
                )


def _absent(frame_id: pa.Array, others: pa.Array) -> pa.Array:
    return frame_id.filter(pc.invert(pc.is_in(frame_id, value_set=others)))
