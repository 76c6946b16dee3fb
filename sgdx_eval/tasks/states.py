"""Dialogue states: a frame is right where every slot of its state is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sgdx_metric.rows import PREDICTION, REFERENCE, Prediction
from sgdx_metric.scoring import (
    STATE_METRICS,
    FrameScores,
    empty_state_jga,
    score_frames,
    slot_counts,
)
from sgdx_metric.signature import Rules

from ..explain import Line, Row, judge_values
from ..options import OF_FRAMES, OF_STATES
from ..prediction_files import unread_answers
from ..tables import percent
from ..task import Given, Rows, ScoredItems
from .frames import Frames, frame_task


def _beside(
    scored: ScoredItems, by_variant: Mapping[str, FrameScores], given: Given
) -> ScoredItems:
    """Slots that the schema lacks, and answers that could not be read."""
    counts, lines = slot_counts(by_variant), []
    for name, count in counts["ignored_slots"].items():
        if count:
            share = percent(count / counts["predicted_slots"][name], 1)
            what = f"ignored {count} predicted slots ({share} %) that the schema lacks"
            lines.append(f"{name}: {what}")
    unread = unread_answers(given.headers())
    for name, (count, requests) in unread.items():
        share = percent(count / requests if requests else None)
        lines.append(f"{name}: {count} of {requests} answers unread ({share} %)")
    if unread:
        jga = percent(empty_state_jga(by_variant))
        lines.append(f"An unread answer counts as the empty state, whose JGA is {jga} %.")
    return scored._replace(counts={**scored.counts, **counts}, notes=lines)


def _frame_lines(
    variant: str, reference: Row, predicted: Row, scores: Mapping[str, float]
) -> Iterator[Line]:
    """The lines of the joint goal, the active intent and the requested slots."""
    joint = scores["joint_goal_accuracy"]
    why = "no slots" if np.isnan(joint) else "product"
    yield Line(-3, "joint goal", variant, "", [], [], None if np.isnan(joint) else joint, why)
    true, guess = reference["active_intent"], predicted["active_intent"]
    score = scores["active_intent_accuracy"]
    why = "equal" if score else "differs"
    yield Line(-2, "active intent", variant, "", [true], [guess], score, why)
    requested, asked = reference["requested_slots"], predicted["requested_slots"]
    score = scores["requested_slots_f1"]
    why = "equal" if score == 1 else "F1"
    yield Line(-1, "requested slots", variant, "", requested, asked, score, why)


def _slot_lines(
    variant: str, reference: Row, predicted: Row, aspects: list[str], rules: Rules
) -> Iterator[Line]:
    """A line for each slot of the schema, and for each predicted slot that the schema lacks."""
    true_values, predicted_values = _state(reference), _state(predicted)
    for position, slot in enumerate(reference["schema_slots"]):
        name = slot["name"]
        values = true_values.get(name, []), predicted_values.pop(name, [])
        judged = judge_values(*values, slot["is_categorical"], rules)
        yield Line(position, aspects[position], variant, name, *values, *judged)
    for name, unknown in predicted_values.items():
        yield Line(len(aspects), name, variant, name, [], unknown, None, "ignored: not a slot")


def _state(row: Row) -> dict[str, list[str]]:
    """The values of each slot in a row's state."""
    return {item["slot"]: item["values"] for item in row["slot_values"]}


STATES = Frames(
    "state",
    STATE_METRICS,
    score_frames,
    _frame_lines,
    _slot_lines,
    ("schema_slots", "slot_values"),
    _beside,
)
TASK = frame_task(STATES, Rows(Prediction, PREDICTION, REFERENCE), (OF_FRAMES, OF_STATES))
