"""Training labels: the changes of the gold state as classes and spans of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from sgdx_dataset.schema import DONTCARE, NONE_INTENT

from ..data.frames import GOLD
from .frames import FrameColumns
from .modeling import CLS, IGNORED
from .schema_embeddings import ElementTable, ServiceElements
from .states import Values, differences
from .turns import SYSTEM, USER, Span, TokenizedTurn, TokenizedTurns

Row = dict[str, Any]
Column = NDArray[np.int16]
UNCHANGED, IS_DONTCARE, ACTIVE = range(3)  # the classes for the status of a slot


@dataclass
class Labels:
    """The labels of frames, in columns.

    Attributes:
        columns: Labels by name. ``intent`` has one label for each frame. ``categorical_status``,
            ``value`` and ``categorical_requested`` have one for each categorical slot of each
            frame; ``free_status``, ``start``, ``end`` and ``free_requested`` have one for each
            free-form slot. ``start`` and ``end`` are ``CLS`` where the turn does not have the new
            value, as in the released code. The loss leaves out ``IGNORED``.
        counts: Number of slots that change; of these, the number whose value is not among the
            possible values, and the number whose value is not a span of the turn.
    """

    columns: dict[str, Column]
    counts: dict[str, int]


@dataclass
class _LabelLists:
    """The content of ``Labels`` while it is collected."""

    columns: dict[str, list[int]] = field(default_factory=dict)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("changes", "not_in_schema", "not_in_turn"), 0)
    )

    def add(self, **labels: int) -> None:
        """Append a label to each of the named columns."""
        for name, label in labels.items():
            self.columns.setdefault(name, []).append(label)


def read_labels(
    rows: Dataset, frames: FrameColumns, table: ElementTable, turns: TokenizedTurns
) -> Labels:
    """Read the labels of frame rows.

    Args:
        rows: Frame rows with gold states.
        frames: The same frames as columns.
        table: Schema elements of ``frames.schemas``.
        turns: Tokens of ``frames.texts``.
    """
    lists = _LabelLists()
    groups = map(frames.group, range(len(frames)))
    states = (_values(gold) for gold in _gold(rows))
    changes = differences(groups, states)
    for index, (gold, changed) in enumerate(zip(_gold(rows), changes, strict=True)):
        service = table.services[frames.service[index]]
        intents = [NONE_INTENT, *service.intents]
        lists.add(intent=intents.index(gold["active_intent"]))
        _add_categorical(lists, service, gold, changed)
        _add_free(lists, service, gold, changed, turns.turn(int(frames.text[index])))
    columns = {name: np.array(column, np.int16) for name, column in lists.columns.items()}
    return Labels(columns, lists.counts)


def _gold(rows: Dataset) -> Iterator[Row]:
    """The gold columns of each frame row."""
    for table in rows.select_columns(list(GOLD)).with_format("arrow").iter(1000):
        yield from table.to_pylist()


def _values(gold: Row) -> Values:
    """The wordings of the value of each slot that is set in a gold state."""
    return {entry["slot"]: entry["values"] for entry in gold["slot_values"]}


def _status(slot: str, changed: Values) -> int:
    """The class for the status of a slot, given the slots that changed."""
    if slot not in changed:
        return UNCHANGED
    return IS_DONTCARE if changed[slot][0] == DONTCARE else ACTIVE


def _add_categorical(
    lists: _LabelLists, service: ServiceElements, gold: Row, changed: Values
) -> None:
    """Append the labels of a frame's categorical slots."""
    for slot, choices in zip(service.categorical, service.values):
        status, value = _status(slot, changed), IGNORED
        if status == ACTIVE and changed[slot][0] in choices:
            value = choices.index(changed[slot][0])
        lists.counts["changes"] += status != UNCHANGED
        lists.counts["not_in_schema"] += status == ACTIVE and value == IGNORED
        requested = slot in gold["requested_slots"]
        lists.add(categorical_status=status, value=value, categorical_requested=requested)


def _add_free(
    lists: _LabelLists, service: ServiceElements, gold: Row, changed: Values, turn: TokenizedTurn
) -> None:
    """Append the labels of a frame's free-form slots."""
    for slot in service.free:
        status, span = _status(slot, changed), (IGNORED, IGNORED)
        if status == ACTIVE:
            marked = [(s["start"], s["exclusive_end"]) for s in gold["slots"] if s["slot"] == slot]
            span = find_span(turn, changed[slot], marked) or (CLS, CLS)
        start, end = span
        lists.counts["changes"] += status != UNCHANGED
        lists.counts["not_in_turn"] += start == CLS
        requested = slot in gold["requested_slots"]
        lists.add(free_status=status, start=start, end=end, free_requested=requested)


def find_span(turn: TokenizedTurn, values: Sequence[str], marked: Sequence[Span]) -> Span | None:
    """The first and the last token of a value in a turn, or None if the turn does not contain it.

    The value is searched in the annotated spans, then in the user's utterance, then in the
    system's.

    Args:
        turn: The turn.
        values: The wordings of the value.
        marked: Characters [start, end) of the user's utterance that are annotated as the value.
    """
    occurrences = [(USER, start, end) for start, end in marked]
    for side in (USER, SYSTEM):
        for value in values:
            word = rf"(?<!\w){re.escape(value)}(?!\w)"
            occurrences += [(side, *match.span()) for match in re.finditer(word, turn.texts[side])]
    spans = (turn.tokens(*occurrence) for occurrence in occurrences)
    return next((span for span in spans if span is not None), None)
