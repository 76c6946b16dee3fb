"""Per-frame scores: the official scorer's thirteen metrics and two that stand beside them.

A frame is one user turn x one service. The rules are those of the evaluation of DSTC8's
schema-guided track (Rastogi et al. 2020, arXiv 2002.01359). `joint_change_accuracy`, of which
`change` says where it is from, and `joint_canonical_accuracy`, which also takes canonical values,
are no official metrics.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import (
    Bools,
    Floats,
    absent,
    align,
    column,
    flags,
    safe_divide,
    strings,
)
from .errors import ScoreError
from .f1 import requested_slots, slot_tagging
from .figures import FULL, JGA
from .result import METRIC_NAMES, Metric
from .signature import OFFICIAL, SPLITS, Rules, Setup, signature
from .slots import SchemaSlots, SlotScores, previous_frames, score_slots, slot_values
from .statistics import mean_defined
from .units import ScoredFrames, Scores, index_frames
from .variants import ORIGINAL

METRICS = (
    "active_intent_accuracy",
    "requested_slots_f1",
    "requested_slots_precision",
    "requested_slots_recall",
    "slot_tagging_f1",
    "slot_tagging_precision",
    "slot_tagging_recall",
    "average_goal_accuracy",
    "average_cat_accuracy",
    "average_noncat_accuracy",
    "joint_goal_accuracy",
    "joint_cat_accuracy",
    "joint_noncat_accuracy",
    "joint_change_accuracy",
    "joint_canonical_accuracy",
)

# What figures call three of them.
NAMES = {
    "joint_goal_accuracy": JGA,
    "joint_change_accuracy": "change",
    "joint_canonical_accuracy": "canonical",
}
STATE_METRICS = (
    Metric(
        name=JGA,
        title="JGA",
        meaning="JGA: joint goal accuracy; a frame is right if every slot of its state is.",
        figures=("relative", "sensitivity_nonzero", *FULL),
        headline=True,
    ),
    Metric(
        name="change",
        title="Change",
        meaning="Change: JGA of what changes since the turn before; an early mistake counts once.",
        figures=("sensitivity",),
    ),
    Metric(
        name="canonical",
        title="Canonical",
        meaning="Canonical: JGA that also takes a value as the API writes it, as in 2019-03-01.",
        figures=("sensitivity",),
    ),
    *(Metric(name=name, figures=("sensitivity",)) for name in METRICS if name not in NAMES),
)
METRIC_NAMES["state"] = [metric.name for metric in STATE_METRICS]
# The names that `evaluate` has always, None where a variant that they need is lacking.
HEADLINE = (
    *("jga_orig", "jga_v1-5", "drop", "relative_difference", "ss_jga", "ss_jga_nonzero"),
    *("jga_worst", "flips", "change_orig", "change_v1-5", "canonical_orig", "canonical_v1-5"),
)
CANONICAL = "canonical_values"  # a column that references may lack


@dataclass(frozen=True)
class FrameScores(ScoredFrames):
    """The scores of one variant's frames by each of METRICS."""

    # The services under the variant's names [frames].
    service: pa.Array
    # How many predicted slots are unknown to their schema, and how many slots are predicted.
    ignored_slots: int
    predicted_slots: int


def score_frames(
    references: pa.Table, predictions: pa.Table, variant: str, rules: Rules = OFFICIAL
) -> FrameScores:
    """Score one variant's predictions.

    Args:
        references: Frame rows, in any order.
        predictions: Prediction rows for the same frames, in any order.
        variant: The variant's name, for error messages.
        rules: How free-form values are compared.

    Raises:
        ScoreError: Frames are missing, there twice or unknown; a frame has a slot twice; or spans
            are predicted and the references have none.
    """
    # In the references' own order, in which predictions most often come: lists are slow to move.
    order = strings(column(references, "frame_id"))
    reference = align(references, order, f"references for {variant}")
    predicted = align(predictions, order, f"predictions for {variant}")
    schema = SchemaSlots(column(reference, "schema_slots"), order)
    true_state = slot_values(column(reference, "slot_values"), order, "reference")
    state = slot_values(column(predicted, "slot_values"), order, "prediction")
    canonical, has_canonical = None, np.zeros(len(order), dtype=bool)
    if CANONICAL in references.column_names:
        canonical = slot_values(column(reference, CANONICAL), order, "reference")
        has_canonical = flags(column(reference, CANONICAL).is_valid())
    previous = previous_frames(tuple(order.to_pylist()))
    is_fuzzy = rules.use_fuzzy_match
    slots = score_slots(schema, true_state, state, is_fuzzy, previous, canonical)

    intents = (strings(column(side, "active_intent")) for side in (reference, predicted))
    scores = {
        "active_intent_accuracy": flags(pc.equal(*intents)).astype(np.float64),
        **requested_slots(reference, predicted),
        **slot_tagging(reference, predicted, schema),
        **_goals(schema, slots, len(order)),
    }
    joint = scores["joint_canonical_accuracy"]
    scores["joint_canonical_accuracy"] = np.where(has_canonical, joint, np.nan)
    place = np.asarray(pc.sort_indices(order))
    return FrameScores(
        order.take(pa.array(place)),
        flags(column(reference, "seen"))[place],
        {name: values[place] for name, values in scores.items()},
        strings(column(reference, "service")).take(pa.array(place)),
        slots.ignored,
        len(state.slot),
    )


def score_variants(
    references: pa.Table, predictions: pa.Table, rules: Rules = OFFICIAL
) -> dict[str, FrameScores]:
    """Score the rows of several variants, which the column `variant` tells apart."""
    true, predicted = (
        pc.unique(table["variant"]).to_pylist() for table in (references, predictions)
    )
    if lone := sorted(set(true) ^ set(predicted)):
        side = "references" if lone[0] in true else "predictions"
        raise ScoreError(f"only the {side} have rows of variant '{lone[0]}', expected both")
    if not true:
        raise ScoreError("no references and no predictions, expected rows of one variant at least")
    return {
        name: score_frames(
            references.filter(pc.equal(references["variant"], name)),
            predictions.filter(pc.equal(predictions["variant"], name)),
            name,
            rules,
        )
        for name in true
    }


def _goals(schema: SchemaSlots, slots: SlotScores, count: int) -> dict[str, Floats]:
    """The goal accuracies of all, categorical and free-form slots, and of the change [frames]."""

    def average(kind: Bools) -> Floats:
        """Mean score of those of some slots that the reference gives a value; or NaN."""
        active = kind & slots.active
        frame = schema.frame[active]
        total = np.bincount(frame, slots.score[active], count)
        return safe_divide(total, np.bincount(frame, minlength=count))

    def joint(score: Floats, kind: Bools) -> Floats:
        """Product of the scores of some slots; NaN in a frame whose schema has none."""
        product = np.where(np.bincount(schema.frame[kind], minlength=count) > 0, 1.0, np.nan)
        # Unbuffered, since a frame has several slots: `product[frame] *= ...` would keep only the
        # last. Most slots score 1, which changes no product.
        factor = np.flatnonzero(kind & (score != 1))
        np.multiply.at(product, schema.frame[factor], score[factor])
        return product

    every = np.ones(len(schema.frame), dtype=bool)
    kinds = {"goal": every, "cat": schema.categorical, "noncat": ~schema.categorical}
    return {
        **{f"average_{name}_accuracy": average(kind) for name, kind in kinds.items()},
        **{f"joint_{name}_accuracy": joint(slots.score, kind) for name, kind in kinds.items()},
        "joint_change_accuracy": joint(np.where(slots.changed, slots.score, 1.0), every),
        "joint_canonical_accuracy": joint(slots.canonical, every),
    }


# ---- of several variants


def frame_scores(variants: Mapping[str, ScoredFrames], rules: Rules = OFFICIAL) -> Scores:
    """The scores of the same frames under variants, by the metrics that are defined."""
    names = sorted(variants, key=lambda name: (name != ORIGINAL, name))
    check_same_frames({name: variants[name] for name in names})
    first = variants[names[0]]
    stacked = {m: np.stack([variants[n].scores[m] for n in names]) for m in first.scores}
    metrics = {NAMES.get(m, m): rows for m, rows in stacked.items()}
    main = JGA if JGA in metrics else next(iter(metrics))
    known = {m: rows for m, rows in metrics.items() if m == main or not np.isnan(rows).all()}
    items = index_frames(first.frame_id, first.seen)
    ordered = {main: known.pop(main), **known}
    return Scores(names, items, ordered, rules.zero_mean)


def state_signature(scores: Scores, setup: Setup, dialogues: int) -> str:
    """The signature of scores of states, of some dialogues."""
    setup = replace(setup, canonical="canonical" in scores.metrics)
    return signature(scores.variants, len(scores.items.ids), dialogues, setup)


def slot_counts(variants: Mapping[str, FrameScores]) -> dict[str, dict[str, int]]:
    """How many slots are predicted under each variant, and how many the schema lacks."""
    return {
        "predicted_slots": {name: frames.predicted_slots for name, frames in variants.items()},
        "ignored_slots": {name: frames.ignored_slots for name, frames in variants.items()},
    }


def empty_state_jga(variants: Mapping[str, FrameScores]) -> float | None:
    """The joint goal accuracy of no slot at all: the share of frames that have none."""
    scores = next(iter(variants.values())).scores["average_goal_accuracy"]
    return mean_defined(np.isnan(scores).astype(np.float64))


def cautions(signature_line: str, counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Why a score may not be what it looks like, a sentence each.

    It may be that of an oracle, of a split that nobody knows, or of predictions of which so many
    slots are unknown that they seem to be for another variant.
    """
    texts = []
    if "|oracle:yes|" in signature_line:
        texts.append(
            "the predictions are of an oracle: the model was trained on schemas that it is "
            "evaluated on"
        )
    split = re.search(r"\|split:([^|]*)\|", signature_line)
    if split and split[1] not in (*SPLITS, "unknown"):
        texts.append(f"the split is {split[1]!r}, expected one of {', '.join(SPLITS)}")
    for name, count in counts.get("ignored_slots", {}).items():
        predicted = counts["predicted_slots"][name]
        if count > predicted / 3:
            texts.append(
                f"{name}: {100 * count / predicted:.0f} % of the predicted slots are not in its "
                "schemas; are these the predictions for another variant?"
            )
    return texts


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
