"""Per-frame scores: the official scorer's thirteen metrics and two that stand beside them.

A frame is one user turn x one service. The rules are those of the evaluation of DSTC8's
schema-guided track (Rastogi et al. 2020, arXiv 2002.01359). `joint_change_accuracy`, of which
`change` says where it is from, and `joint_canonical_accuracy`, which also takes canonical values,
are no official metrics.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import (
    AlignedRows,
    Bools,
    Floats,
    align,
    field,
    flags,
    safe_divide,
    sorted_ids,
    strings,
)
from .errors import ScoreError
from .f1 import requested_slots, slot_tagging
from .signature import OFFICIAL, Rules
from .slots import SchemaSlots, SlotScores, previous_frames, score_slots
from .units import ScoredFrames

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
    order = sorted_ids(references)
    reference = align(references, order, f"references for {variant}")
    predicted = align(predictions, order, f"predictions for {variant}")

    rows, listed = reference.exploded("schema_slots")
    categorical = flags(field(listed, "is_categorical"))
    schema = SchemaSlots(rows, field(listed, "name"), categorical, order)
    states = reference.slot_values(), predicted.slot_values()
    has_canonical = CANONICAL in references.column_names
    canonical = (reference.slot_values(CANONICAL),) if has_canonical else ()
    previous = previous_frames(order)
    slots = score_slots(schema, *states, order, rules.use_fuzzy_match, previous, *canonical)
    scores = {
        "active_intent_accuracy": _same(reference, predicted, "active_intent"),
        **requested_slots(reference, predicted),
        **slot_tagging(reference, predicted, schema),
        **_goals(schema, slots, len(order)),
    }
    known = flags(reference.aligned(CANONICAL).is_valid()) if has_canonical else False
    joint = scores["joint_canonical_accuracy"]
    scores["joint_canonical_accuracy"] = np.where(known, joint, np.nan)
    seen = flags(reference.aligned("seen"))
    service, predicted_slots = strings(reference.aligned("service")), len(states[1].slot.code)
    return FrameScores(order, seen, scores, service, slots.ignored, predicted_slots)


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
        name: score_frames(_only(references, name), _only(predictions, name), name, rules)
        for name in true
    }


def _only(table: pa.Table, variant: str) -> pa.Table:
    return table.filter(pc.equal(table["variant"], variant))


def _same(reference: AlignedRows, predicted: AlignedRows, name: str) -> Floats:
    """1 where a text column is the same on both sides, else 0 [frames]."""
    left, right = (strings(side.aligned(name)) for side in (reference, predicted))
    return flags(pc.equal(left, right)).astype(np.float64)


def _goals(schema: SchemaSlots, slots: SlotScores, count: int) -> dict[str, Floats]:
    """The goal accuracies of all, categorical and free-form slots, and of the change [frames]."""
    every = np.ones(len(schema.frame), dtype=bool)
    kinds = {"goal": every, "cat": schema.categorical, "noncat": ~schema.categorical}
    change = np.where(slots.changed, slots.score, 1.0)
    averages = {k: _average(schema, slots, chosen, count) for k, chosen in kinds.items()}
    joint = {k: _joint(schema, slots.score, chosen, count) for k, chosen in kinds.items()}
    return {
        **{f"average_{kind}_accuracy": values for kind, values in averages.items()},
        **{f"joint_{kind}_accuracy": values for kind, values in joint.items()},
        "joint_change_accuracy": _joint(schema, change, every, count),
        "joint_canonical_accuracy": _joint(schema, slots.canonical, every, count),
    }


def _average(schema: SchemaSlots, slots: SlotScores, chosen_slots: Bools, count: int) -> Floats:
    """Mean score of those of some slots that the reference gives a value, or NaN [frames]."""
    active = chosen_slots & slots.active
    frame = schema.frame[active]
    total = np.bincount(frame, slots.score[active], count)
    return safe_divide(total, np.bincount(frame, minlength=count))


def _joint(schema: SchemaSlots, score: Floats, chosen_slots: Bools, count: int) -> Floats:
    """Product of the scores of some slots [frames]; NaN in a frame whose schema has none."""
    frame = schema.frame[chosen_slots]
    joint = np.where(np.bincount(frame, minlength=count) > 0, 1.0, np.nan)
    # Unbuffered, since a frame has several slots: `joint[frame] *= ...` would keep only the last.
    # Most slots score 1, which changes no product.
    factor = np.flatnonzero(chosen_slots & (score != 1))
    np.multiply.at(joint, schema.frame[factor], score[factor])
    return joint
