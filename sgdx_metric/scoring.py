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

from .columns import Bools, Floats, align, column, flags, safe_divide, sorted_ids, strings
from .errors import ScoreError
from .f1 import requested_slots, slot_tagging
from .signature import OFFICIAL, Rules
from .slots import SchemaSlots, SlotScores, previous_frames, score_slots, slot_values
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
    seen, service = flags(column(reference, "seen")), strings(column(reference, "service"))
    return FrameScores(order, seen, scores, service, slots.ignored, len(state.slot))


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
