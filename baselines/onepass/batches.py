"""Batches of token sequences as tensors, with and without labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from ..training.batching import padded
from .frames import FrameInput
from .labels import DONTCARE, FROM, GIVEN, KEEP, SAY, STATUSES, Labels, Paths, TextSpan
from .layout import TextToken, TokenRange, TokenSequence
from .modeling import WIDTH

Tensors = dict[str, torch.Tensor]
_MULTIPLE = 8  # batches are padded to a multiple of this width, as GPUs are faster then


class Item(NamedTuple):
    """A sequence of a batch."""

    frame: FrameInput
    sequence: TokenSequence  # the frame, or a part of it


def make_batch(items: Sequence[Item], pad: int) -> Tensors:
    """The tensors that the model reads, as explained at ``OnePassModel``."""
    sequences = [item.sequence for item in items]
    width = -(-max(len(sequence.ids) for sequence in sequences) // _MULTIPLE) * _MULTIPLE
    slots = [(i, slot) for i, item in enumerate(items) for slot in item.sequence.slots]
    other_count = max(1, *(len(s.known) for s in sequences))
    return {
        "input_ids": _padded([s.ids for s in sequences], width, pad),
        "attention_mask": _padded([[1] * len(s.ids) for s in sequences], width),
        # The second segment begins after the first [SEP], with the service.
        "token_type_ids": _padded(
            [[0] * s.service + [1] * (len(s.ids) - s.service) for s in sequences], width
        ),
        "positions": _padded([s.positions for s in sequences], width),
        "blocks": _padded([s.blocks for s in sequences], width),
        "intents": _token_ranges([list(s.intents.values()) for s in sequences]),
        # The types are given for a batch of services without slots.
        "slots": torch.tensor(
            [sequences[i].slots[slot] for i, slot in slots], dtype=torch.long
        ).view(-1, 2),
        "frame": torch.tensor([i for i, _ in slots], dtype=torch.long),
        "status_mask": torch.tensor(
            [_status_mask(items[i], slot) for i, slot in slots], dtype=torch.bool
        ).view(-1, STATUSES),
        "values": _token_ranges([sequences[i].values[slot] for i, slot in slots]),
        "known": _token_ranges([s.known for s in sequences]),
        "copy_mask": _padded([_copy_mask(items[i], slot) for i, slot in slots], other_count) > 0,
        "text": _padded([[token.place for token in s.text] for s in sequences]),
        "utterance": _padded([[token.utterance + 1 for token in s.text] for s in sequences]),
    }


def label_batch(items: Sequence[Item], labels: Sequence[Labels], shapes: Tensors) -> Tensors:
    """The labels of a batch, as explained at ``OnePassModel``."""
    slots = [
        (i, slot, labels[i].paths.get(slot, Paths()))
        for i, item in enumerate(items)
        for slot in item.sequence.slots
    ]
    paths = [right for _, _, right in slots]
    spans = [_span_indices(items[i].sequence.text, right.spans) for i, _, right in slots]
    statuses = [[number in right.statuses for number in range(STATUSES)] for right in paths]
    return {
        "intent_label": torch.tensor([_intent(*pair) for pair in zip(items, labels)]),
        "requested_label": torch.tensor(
            [float(slot in labels[i].requested) for i, slot, _ in slots]
        ),
        "scored": torch.tensor(
            [
                bool(s or right.statuses or right.values or right.known)
                for s, right in zip(spans, paths)
            ]
        ),
        "status_label": torch.tensor(statuses).view(-1, STATUSES),
        "span_label": _padded(spans, fill=-1),
        "value_label": _flags_at([right.values for right in paths], shapes["values"].shape[1]),
        "known_label": _flags_at([right.known for right in paths], shapes["copy_mask"].shape[1]),
    }


def _status_mask(item: Item, slot: str) -> list[bool]:
    """The statuses that a slot may have."""
    frame, sequence = item
    if slot not in frame.schema.tracked:
        return [number == KEEP for number in range(STATUSES)]
    is_open = {
        KEEP: True,
        SAY: bool(sequence.values[slot] or sequence.text),
        DONTCARE: True,
        GIVEN: frame.system_offer(slot) is not None,
        FROM: any(_copy_mask(item, slot)),
    }
    return [is_open[number] for number in range(STATUSES)]


def _copy_mask(item: Item, slot: str) -> list[bool]:
    """The values of other services that a slot may take: none if it has a value."""
    schema = item.frame.schema
    free = slot in schema.tracked and slot not in item.frame.carried
    read = item.frame.known[: len(item.sequence.known)]
    return [free and schema.slot(slot).admits(value) for _, value in read]


def _intent(item: Item, labels: Labels) -> int:
    names = list(item.sequence.intents)
    return names.index(labels.intent) if labels.intent in names else -100


def _span_indices(text: Sequence[TextToken], spans: Sequence[TextSpan]) -> list[int]:
    """Spans as indices of [text, 12]; without those that no tokens cover exactly."""
    numbers = []
    for utterance, start, end in spans:
        first = [i for i, t in enumerate(text) if (t.utterance, t.start) == (utterance, start)]
        last = [i for i, t in enumerate(text) if (t.utterance, t.end) == (utterance, end)]
        # Several tokens have the same characters where they are bytes of one character.
        if first and last and 0 <= last[-1] - first[0] < WIDTH:
            numbers.append(first[0] * WIDTH + last[-1] - first[0])
    return numbers


def _padded(rows: Sequence[Sequence[int]], width: int = 1, fill: int = 0) -> torch.Tensor:
    return torch.from_numpy(padded(rows, fill, width))


def _token_ranges(rows: Sequence[Sequence[TokenRange]]) -> torch.Tensor:
    """Places as a tensor [rows, longest row, 2]."""
    width = max([1, *(len(row) for row in rows)])
    padded = np.zeros((len(rows), width, 2), np.int64)
    for number, row in enumerate(rows):
        if row:
            padded[number, : len(row)] = row
    return torch.from_numpy(padded)


def _flags_at(rows: Sequence[Sequence[int]], width: int) -> torch.Tensor:
    """For each row of indices True at these indices [rows, width]."""
    flags = np.zeros((len(rows), width), bool)
    for number, row in enumerate(rows):
        flags[number, [index for index in row if index < width]] = True
    return torch.from_numpy(flags)
