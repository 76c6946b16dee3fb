"""Sum up per-frame scores of dialogue states into the structure of scores.json.

Two accuracies stand beside joint goal accuracy: change accuracy, which counts an early mistake once
and not again in every later turn (`changed_slots` has its source), and canonical accuracy, which
also takes what a value is to the API.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .columns import Floats, Ints, absent, integers
from .errors import ScoreError
from .figures import (
    BESIDE,
    JGA,
    JOINT,
    of_units,
    p_of_drop,
    state_figures,
    variant_differences,
)
from .scoring import METRICS, FrameScores
from .signature import OFFICIAL, SPLITS, Rules, Setup, signature
from .statistics import Sample, mean_defined, variation
from .units import ALL as EVERY
from .units import SEEN as IN_TRAIN
from .units import UNSEEN as NOT_IN_TRAIN
from .units import ScoredFrames, Scores, index_frames, unit_scores
from .variants import ORIGINAL, PAPER_VARIANTS

ALL, SEEN, UNSEEN = "#ALL_SERVICES", "#SEEN_SERVICES", "#UNSEEN_SERVICES"
_BESIDE = tuple(f"{name}_{end}" for name in BESIDE for end in ("orig", "v1-5"))
_SS = ("ss_jga", "ss_jga_nonzero")
HEADLINE = ("jga_orig", "jga_v1-5", "relative_difference", *_SS, "jga_worst", "flips", *_BESIDE)
# The metrics of dialogue states that `compare` pairs.
PAIRED = tuple(JOINT.values())
_UNSTATED = Setup()


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


def cautions(content: Mapping[str, Any]) -> list[str]:
    """Why a score may not be what it looks like, a sentence each.

    It may be that of an oracle, of a split that nobody knows, or of predictions of which so many
    slots are unknown that they seem to be for another variant.
    """
    texts = []
    if "|oracle:yes|" in content["signature"]:
        texts.append(
            "the predictions are of an oracle: the model was trained on schemas that it is "
            "evaluated on"
        )
    split = re.search(r"\|split:([^|]*)\|", content["signature"])
    if split and split[1] not in (*SPLITS, "unknown"):
        texts.append(f"the split is {split[1]!r}, expected one of {', '.join(SPLITS)}")
    for name, count in content.get("ignored_slots", {}).items():
        predicted = content["predicted_slots"][name]
        if count > predicted / 3:
            texts.append(
                f"{name}: {100 * count / predicted:.0f} % of the predicted slots are not in its "
                "schemas; are these the predictions for another variant?"
            )
    return texts


def robustness(scores: Scores, rules: Rules) -> dict[str, Any]:
    """The part `sgdx` of scores.json: figures for all frames, seen, unseen and each service."""
    groups: dict[str, dict[str, Any]] = {}
    for name, members in scores.items.groups().items():
        of_group = of_units(scores.only(members), rules)
        sample = Sample(state_figures(of_group), of_group.items.dialogue)
        undefined = dict.fromkeys((*HEADLINE, "drop"))
        groups[name] = {**undefined, **sample.values(), **_of_metrics(of_group)}
        if name in (EVERY, IN_TRAIN, NOT_IN_TRAIN):
            groups[name]["confidence"] = {**undefined, **sample.intervals()}
            groups[name]["p"] = p_of_drop(of_group, JGA, PAPER_VARIANTS)
        else:
            groups[name]["frames"] = len(members)
    every = of_units(scores, rules)
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


def _of_metrics(scores: Scores) -> dict[str, dict[str, float | None]]:
    """Every metric's mean over v1 to v5, None if one is missing, and its sensitivity over them."""
    paper = [name for name in PAPER_VARIANTS if name in scores.variants]
    means, sensitivity = dict[str, float | None](), dict[str, float | None]()
    for metric in METRICS:
        rows = scores.under(metric, paper) if metric in scores.metrics else None
        of_each = [] if rows is None else [mean_defined(row) for row in rows]
        known = [value for value in of_each if value is not None]
        is_whole = len(known) == len(PAPER_VARIANTS)
        means[metric] = float(np.mean(known)) if is_whole else None
        varied = None if rows is None or len(rows) < 2 else variation(rows, scores.zero_mean)
        sensitivity[metric] = None if varied is None else mean_defined(varied)
    return {"mean_v1-5": means, "sensitivity": sensitivity}


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
    encoded = frames.service.dictionary_encode()
    code = integers(encoded.indices)
    groups = {ALL: np.ones(len(code), dtype=bool), SEEN: frames.seen, UNSEEN: ~frames.seen}
    for i, service in enumerate(encoded.dictionary.to_pylist()):
        for name in dict.fromkeys((service, service.split("_")[0])):
            groups[name] = groups.get(name, False) | (code == i)
    means = {}
    for name, member in groups.items():
        members = np.flatnonzero(member)
        if len(members):
            means[name] = {
                metric: mean_defined(
                    unit_scores(metric, frames.scores[metric][members], turn[members], rules)
                )
                for metric in METRICS
            }
    return means


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
