"""Training labels: the changes of the gold state as classes and spans of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from sgdx_dataset.schema import DONTCARE, NONE_INTENT
from sgdx_dataset.tracker_inputs import GOLD

from .frames import FrameColumns, Values, differences
from .modeling import CLS, IGNORED
from .schema_embeddings import ElementTable, ServiceElements
from .turns import SYSTEM, USER, Span, TokenizedTurn, TokenizedTurns

Row = dict[str, Any]
Column = NDArray[np.int16]
UNCHANGED, IS_DONTCARE, ACTIVE = range(3)  # the classes for the status of a slot


@dataclass
class Labels:
    """The labels of frames, in columns."""

    # ``intent`` has one label for each frame, the columns of ``SLOT_LABELS`` for each slot of its
    # kind of each frame. ``start`` and ``end`` are ``CLS`` where the turn does not have the new
    # value, as in the released code. The loss leaves out ``IGNORED``.
    columns: dict[str, Column]
    # Slots that change; of these, those whose value is not a possible one, or not in the turn.
    counts: dict[str, int]


def read_labels(
    rows: Dataset, frames: FrameColumns, table: ElementTable, turns: TokenizedTurns
) -> Labels:
    """Read the labels of frame rows."""
    columns: dict[str, list[int]] = {}
    counts = dict.fromkeys(("changes", "not_in_schema", "not_in_turn"), 0)
    groups = map(frames.group, range(len(frames)))
    states = ({entry["slot"]: entry["values"] for entry in g["slot_values"]} for g in _gold(rows))
    changes = differences(groups, states)
    for index, (gold, changed) in enumerate(zip(_gold(rows), changes, strict=True)):
        service = table.services[frames.service[index]]
        intent = [NONE_INTENT, *service.intents].index(gold["active_intent"])
        for labels in (
            {"intent": intent},
            *_categorical(counts, service, gold, changed),
            *_free(counts, service, gold, changed, turns.turn(int(frames.text[index]))),
        ):
            for name, label in labels.items():
                columns.setdefault(name, []).append(label)
    return Labels({name: np.array(column, np.int16) for name, column in columns.items()}, counts)


def _gold(rows: Dataset) -> Iterator[Row]:
    """The gold columns of each frame row."""
    for table in rows.select_columns(list(GOLD)).with_format("arrow").iter(1000):
        yield from table.to_pylist()


def _status(slot: str, changed: Values) -> int:
    """The class for the status of a slot, given the slots that changed."""
    if slot not in changed:
        return UNCHANGED
    return IS_DONTCARE if changed[slot][0] == DONTCARE else ACTIVE


def _categorical(
    counts: dict[str, int], service: ServiceElements, gold: Row, changed: Values
) -> Iterator[dict[str, int]]:
    """The labels of each of a frame's categorical slots, which are counted."""
    for slot, choices in zip(service.categorical, service.values):
        status, value = _status(slot, changed), IGNORED
        if status == ACTIVE and changed[slot][0] in choices:
            value = choices.index(changed[slot][0])
        counts["changes"] += status != UNCHANGED
        counts["not_in_schema"] += status == ACTIVE and value == IGNORED
        requested = slot in gold["requested_slots"]
        yield {"categorical_status": status, "value": value, "categorical_requested": requested}


def _free(
    counts: dict[str, int],
    service: ServiceElements,
    gold: Row,
    changed: Values,
    turn: TokenizedTurn,
) -> Iterator[dict[str, int]]:
    """The labels of each of a frame's free-form slots, which are counted."""
    for slot in service.free:
        status, span = _status(slot, changed), (IGNORED, IGNORED)
        if status == ACTIVE:
            marked = [(s["start"], s["exclusive_end"]) for s in gold["slots"] if s["slot"] == slot]
            span = find_span(turn, changed[slot], marked) or (CLS, CLS)
        start, end = span
        counts["changes"] += status != UNCHANGED
        counts["not_in_turn"] += start == CLS
        requested = slot in gold["requested_slots"]
        yield {"free_status": status, "start": start, "end": end, "free_requested": requested}


def find_span(turn: TokenizedTurn, values: Sequence[str], marked: Sequence[Span]) -> Span | None:
    """The first and the last token of a value in a turn; None if it is not there."""
    # It is searched in the annotated spans, then in the user's utterance, then in the system's.
    occurrences = [(USER, start, end) for start, end in marked]
    for side in (USER, SYSTEM):
        for value in values:
            word = rf"(?<!\w){re.escape(value)}(?!\w)"
            occurrences += [(side, *match.span()) for match in re.finditer(word, turn.texts[side])]
    spans = (turn.tokens(*occurrence) for occurrence in occurrences)
    return next((span for span in spans if span is not None), None)
