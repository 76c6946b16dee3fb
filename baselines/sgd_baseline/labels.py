"""What a training example should be answered: the gold state's changes as classes and spans."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from ..data.frames import GOLD
from .frames import FrameColumns
from .modeling import IGNORED
from .schema_embeddings import Service, Table
from .states import DONTCARE, Values, differences
from .turns import SYSTEM, USER, Span, TokenizedTurn, TokenizedTurns

Row = dict[str, Any]
Column = NDArray[np.int16]
UNCHANGED, IS_DONTCARE, ACTIVE = range(3)  # a slot's status


@dataclass
class Labels:
    """Columns of labels, as ``SgdBaselineModel`` names them.

    Of frames: intent. Of the categorical slots of one frame after the other: categorical_status,
    value, categorical_requested. Of the other slots: free_status, start, end, free_requested.
    counts: slots that change; of them, values that no schema value is, and no span of the turn.
    """

    columns: dict[str, Column]
    counts: dict[str, int]


@dataclass
class _Lists:
    columns: dict[str, list[int]] = field(default_factory=dict)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("changes", "not_in_schema", "not_in_turn"), 0)
    )

    def add(self, **labels: int) -> None:
        for name, label in labels.items():
            self.columns.setdefault(name, []).append(label)


def read_labels(rows: Dataset, frames: FrameColumns, table: Table, turns: TokenizedTurns) -> Labels:
    """The labels of frame rows, ``frames`` in the same order."""
    lists = _Lists()
    groups = map(frames.group, range(len(frames)))
    states = (_values(gold) for gold in _gold(rows))
    changes = differences(groups, states)
    for index, (gold, changed) in enumerate(zip(_gold(rows), changes, strict=True)):
        service = table.services[frames.service[index]]
        intents = ["NONE", *service.intents]
        lists.add(intent=intents.index(gold["active_intent"]))
        _add_categorical(lists, service, gold, changed)
        _add_free(lists, service, gold, changed, turns.turn(int(frames.text[index])))
    columns = {name: np.array(column, np.int16) for name, column in lists.columns.items()}
    return Labels(columns, lists.counts)


def _gold(rows: Dataset) -> Iterator[Row]:
    for table in rows.select_columns(list(GOLD)).with_format("arrow").iter(1000):
        yield from table.to_pylist()


def _values(gold: Row) -> Values:
    return {given["slot"]: given["values"] for given in gold["slot_values"]}


def _status(slot: str, changed: Values) -> int:
    if slot not in changed:
        return UNCHANGED
    return IS_DONTCARE if changed[slot][0] == DONTCARE else ACTIVE


def _add_categorical(lists: _Lists, service: Service, gold: Row, changed: Values) -> None:
    for slot, choices in zip(service.categorical, service.values):
        status, value = _status(slot, changed), IGNORED
        if status == ACTIVE and changed[slot][0] in choices:
            value = choices.index(changed[slot][0])
        lists.counts["changes"] += status != UNCHANGED
        lists.counts["not_in_schema"] += status == ACTIVE and value == IGNORED
        requested = slot in gold["requested_slots"]
        lists.add(categorical_status=status, value=value, categorical_requested=requested)


def _add_free(
    lists: _Lists, service: Service, gold: Row, changed: Values, turn: TokenizedTurn
) -> None:
    for slot in service.free:
        status, span = _status(slot, changed), None
        if status == ACTIVE:
            marked = [(s["start"], s["exclusive_end"]) for s in gold["slots"] if s["slot"] == slot]
            span = find_span(turn, changed[slot], marked)
        start, end = span or (IGNORED, IGNORED)
        lists.counts["changes"] += status != UNCHANGED
        lists.counts["not_in_turn"] += status == ACTIVE and span is None
        requested = slot in gold["requested_slots"]
        lists.add(free_status=status, start=start, end=end, free_requested=requested)


def find_span(turn: TokenizedTurn, values: Sequence[str], marked: Sequence[Span]) -> Span | None:
    """The first and last token of a value in a turn, or None if it is not said there.

    Args:
        turn: What system and user say; the user's is searched first.
        values: The ways to say it.
        marked: Characters [start, end) of the user's text that are known to say it.
    """
    places = [(USER, start, end) for start, end in marked]
    for side in (USER, SYSTEM):
        for value in values:
            word = rf"(?<!\w){re.escape(value)}(?!\w)"
            places += [(side, *found.span()) for found in re.finditer(word, turn.texts[side])]
    spans = (turn.tokens(*place) for place in places)
    return next((span for span in spans if span is not None), None)
