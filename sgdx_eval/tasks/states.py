"""Dialogue states: a frame is right where every slot of its state is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from sgdx_metric.figures import JGA, of_units, state_figures, under_each
from sgdx_metric.robustness import PAIRED, empty_state_jga, report
from sgdx_metric.rows import PREDICTION, REFERENCE, Prediction
from sgdx_metric.scoring import FrameScores, score_frames
from sgdx_metric.signature import Rules, Setup
from sgdx_metric.statistics import Figure
from sgdx_metric.units import Scores

from ..explain import Line, Row, judge_values
from ..options import OF_FRAMES, OF_STATES
from ..prediction_files import Header, unread_answers
from ..tables import percent
from ..task import Keys, Scored
from .frames import FrameTask


class States(FrameTask):
    """The states that trackers predict, frame by frame."""

    name = "state"
    unit = "frame"
    option_groups = (OF_FRAMES, OF_STATES)
    main = JGA
    title = "Joint goal accuracy"
    deciding = ("jga_v1-5",)
    Prediction = Prediction
    predicted = PREDICTION
    references = REFERENCE
    paired = PAIRED
    explained = ("schema_slots", "slot_values")

    def score_rows(
        self, references: pa.Table, predictions: pa.Table, variant: str, rules: Rules
    ) -> FrameScores:
        return score_frames(references, predictions, variant, rules)

    def report(
        self, by_variant: Mapping[str, FrameScores], dialogues: int, setup: Setup
    ) -> dict[str, Any]:
        return report(by_variant, setup)

    def notes(self, content: Mapping[str, Any], scored: Scored) -> list[str]:
        """Slots that the schema lacks, and answers that could not be read."""
        lines = []
        for name, count in content["ignored_slots"].items():
            if count:
                share = percent(count / content["predicted_slots"][name], 1)
                what = f"ignored {count} predicted slots ({share} %) that the schema lacks"
                lines.append(f"{name}: {what}")
        headers = {n: msgspec.convert(h, Header) for n, h in content["predictions"].items()}
        unread = unread_answers(headers)
        for name, (count, requests) in unread.items():
            share = percent(count / requests if requests else None)
            lines.append(f"{name}: {count} of {requests} answers unread ({share} %)")
        if unread:
            jga = percent(empty_state_jga(scored.by_variant))
            lines.append(f"An unread answer counts as the empty state, whose JGA is {jga} %.")
        return lines

    def frame_lines(
        self, variant: str, reference: Row, predicted: Row, scores: Mapping[str, float]
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

    def slot_lines(
        self, variant: str, reference: Row, predicted: Row, aspects: list[str], rules: Rules
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

    def figures(self, scores: Scores) -> list[Figure]:
        return state_figures(scores)

    def keys(self, scores: Scores) -> Keys:
        means = "jga_orig", "jga_v1-5"
        return Keys("joint goal accuracy", JGA, *means, "ss_jga", "jga_worst", "flips")

    def drop_key(self, keys: Keys) -> str:
        return "drop"

    def headlines(self, scores: Scores) -> dict[str, list[Figure]]:
        return {JGA: under_each(scores, JGA, "JGA")}

    def derived(self, scores: Scores, rules: Rules) -> Scores:
        """Joint accuracies of turns, where the rules say so."""
        return of_units(scores, rules)


def _state(row: Row) -> dict[str, list[str]]:
    """The values of each slot in a row's state."""
    return {item["slot"]: item["values"] for item in row["slot_values"]}
