"""Dialogue states, and what tasks share whose items are frames.

A frame is right where every slot of its state is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.columns import column, strings
from sgdx_metric.scoring import (
    NAMES,
    STATE_METRICS,
    FrameScores,
    check_same_frames,
    empty_state_jga,
    frame_scores,
    score_frames,
    slot_counts,
)
from sgdx_metric.signature import OFFICIAL, Rules, signature
from sgdx_metric.units import ScoredFrames, dialogue_ids_of

from ..explain import ItemTable, Line, Row, frame_row, judge_values, print_explanation
from ..gold import STATES as STATE_ROWS
from ..predictions import located, unread_answers, with_frame_ids
from ..tables import percent
from ..task import Given, ScoredItems, Task


@dataclass(frozen=True, kw_only=True)
class Frames(Task):
    """A task whose items are frames."""

    item: str = "frame"
    # Scores the rows of one variant: references, predictions, the variant and the rules.
    score_rows: Callable[[pa.Table, pa.Table, str, Rules], Any]
    # The lines of a whole frame by its scores, and those of which a change may make it wrong.
    frame_lines: Callable[[str, Row, Row, Mapping[str, float]], Iterator[Line]] = lambda *_: iter(
        ()
    )
    slot_lines: Callable[[str, Row, Row, list[str], Rules], Iterator[Line]] = lambda *_: iter(())
    # The columns of references and predictions that `slot_lines` reads.
    explained: Sequence[str] = ("frame_id",)
    # Counts of slots, and what has to be said beside the figures.
    beside: Callable[[Mapping[str, Any], Given], tuple[dict[str, Any], list[str]]] = lambda *_: (
        {},
        [],
    )

    def score(self, given: Given) -> ScoredItems:
        """Score the frames of each variant, or those that were chosen."""
        rules, by_variant = given.inputs.rules, dict[str, ScoredFrames]()
        setup, dialogues = given.setup(), 0
        for name, true, predicted, subset in given.frames():
            with located({name: given.predictions[name]}, given.gold):
                by_variant[name] = self.score_rows(true, predicted, name, rules)
            dialogues = len(dialogue_ids_of(true))
            setup = replace(setup, subset=subset)
        scores = frame_scores(by_variant, rules)
        setup = replace(setup, canonical="canonical" in scores.metrics)
        line = signature(scores.variants, len(scores.items.ids), dialogues, setup, self.name)
        return ScoredItems(scores, line, *self.beside(by_variant, given))

    def items(self, given: Given) -> ItemTable:
        """The frames, whose lines are those of `slot_lines`."""
        true, predicted = {}, {}
        for name, *sides, _ in given.frames():
            true[name], predicted[name] = sides
        return self.item_table(true, predicted, given.inputs.rules)

    def item_table(
        self, true: Mapping[str, pa.Table], predicted: Mapping[str, pa.Table], rules: Rules
    ) -> ItemTable:
        """The frames of references and predictions, by variant."""
        scored = {
            name: self.score_rows(true[name], predicted[name], name, rules) for name in predicted
        }
        check_same_frames(scored)
        names, ids = [*scored], next(iter(scored.values())).frame_id
        main = self.metrics[0]
        key = next((key for key, name in NAMES.items() if name == main.name), main.name)

        def row(rows: pa.Table, place: int) -> Row:
            known = [name for name in self.explained if name in rows.column_names]
            at = pc.index(strings(column(rows, "frame_id")), ids[place]).as_py()
            taken: Row = rows.select(known).slice(at, 1).to_pylist()[0]
            return taken

        def lines(place: int, name: str) -> list[Line]:
            first = row(true[names[0]], place)
            aspects = [slot["name"] for slot in first.get("schema_slots", ())]
            sides = row(true[name], place), row(predicted[name], place)
            return list(self.slot_lines(name, *sides, aspects, rules))

        scores = np.stack([of.scores[key] for of in scored.values()])
        return ItemTable("frame", main.shown, names, ids.to_pylist(), scores, lines)

    def why(self, item: str, given: Given, console: Console) -> None:
        """Print the dialogue up to a frame, and what the frame scores slot by slot."""
        true, predicted = {}, {}
        dialogue_id = item.rsplit("/", 2)[0]
        for name, of_variant in given.predictions.items():
            frames = given.gold.dialogue(name, dialogue_id)
            if not frames.num_rows:
                raise SgdxError(
                    f"frame {item}: the references for {name} have no dialogue "
                    f"'{dialogue_id}', expected DIALOGUE/TURN/SERVICE of one that they have"
                )
            predicted[name] = with_frame_ids(of_variant, frames)
            true[name] = frames
        lines = explain(item, true, predicted, self, given.inputs.rules)
        row = frame_row(next(iter(true.values())), item, "references").to_pylist()[0]
        dialogue = [(turn["speaker"], turn["utterance"]) for turn in row.get("history", [])]
        dialogue.append(("USER", row["utterance"] or ""))
        print_explanation(item, dialogue, lines, console)


def explain(
    frame_id: str,
    references: Mapping[str, pa.Table],
    predictions: Mapping[str, pa.Table],
    task: Frames,
    rules: Rules = OFFICIAL,
) -> list[Line]:
    """Explain the scores of one of the frames in tables by variant.

    The lines are sorted by position, and then as the variants are. Slots that have no value on
    either side under any variant are left out.
    """
    lines: list[Line] = []
    aspects: list[str] = []
    for variant, rows in references.items():
        true_row = frame_row(rows, frame_id, f"references for {variant}")
        predicted_row = frame_row(predictions[variant], frame_id, f"predictions for {variant}")
        scores = task.score_rows(true_row, predicted_row, variant, rules).scores
        reference, predicted = true_row.to_pylist()[0], predicted_row.to_pylist()[0]
        names = [slot["name"] for slot in reference.get("schema_slots", ())]
        aspects = aspects or names
        if len(names) != len(aspects):
            raise SgdxError(
                f"references for {variant}: frame {frame_id} has {len(names)} slots in its schema, "
                f"expected {len(aspects)} as under the first variant"
            )
        of_frame = {metric: float(values[0]) for metric, values in scores.items()}
        lines += task.frame_lines(variant, reference, predicted, of_frame)
        lines += task.slot_lines(variant, reference, predicted, aspects, rules)
    lines.sort(key=lambda line: (line.position, line.aspect))
    by_aspect = [list(group) for _, group in groupby(lines, lambda x: (x.position, x.aspect))]
    return [
        line
        for group in by_aspect
        if any(line.reference or line.predicted or line.position < 0 for line in group)
        for line in group
    ]


# ---- states


def _beside(
    by_variant: Mapping[str, FrameScores], given: Given
) -> tuple[dict[str, Any], list[str]]:
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
    return {**counts}, lines


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
    name="state",
    metrics=STATE_METRICS,
    rows=STATE_ROWS,
    score_rows=score_frames,
    frame_lines=_frame_lines,
    slot_lines=_slot_lines,
    explained=("schema_slots", "slot_values"),
    beside=_beside,
)
