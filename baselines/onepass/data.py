"""Batches of token sequences with and without labels, and the states that answers mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from sgdx_dataset.schema import DONTCARE as DONTCARE_VALUE

from ..batching import padded
from ..data.dialogues import State
from ..xla import fill_up
from .frames import (
    DONTCARE,
    FROM,
    GIVEN,
    KEEP,
    SAY,
    STATUSES,
    FrameInput,
    Labels,
    Paths,
    TextSpan,
)
from .layout import TextToken, TokenRange, TokenSequence
from .modeling import LOWEST, WIDTH, Logits

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
    copies = [_may_copy(items[i], slot) for i, slot in slots]
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
            [_open_statuses(items[i], slot, any(copy)) for (i, slot), copy in zip(slots, copies)],
            dtype=torch.bool,
        ).view(-1, STATUSES),
        "values": _token_ranges([sequences[i].values[slot] for i, slot in slots]),
        "known": _token_ranges([s.known for s in sequences]),
        "copy_mask": _padded(copies, other_count) > 0,
        "text": _padded([[token.place for token in s.text] for s in sequences]),
        "utterance": _padded([[token.utterance + 1 for token in s.text] for s in sequences]),
    }


# The dimensions of a batch's tensors, as explained at ``OnePassModel``.
_TOKENS = ("input_ids", "attention_mask", "token_type_ids", "positions", "blocks")
_DIMENSIONS: dict[str, tuple[str | None, ...]] = {
    **dict.fromkeys(_TOKENS, ("frames", "tokens")),
    "intents": ("frames", "intents", None),
    "slots": ("slots", None),
    "frame": ("slots",),
    "status_mask": ("slots", None),
    "values": ("slots", "values", None),
    "known": ("frames", "known", None),
    "copy_mask": ("slots", "known"),
    "text": ("frames", "text"),
    "utterance": ("frames", "text"),
    "intent_label": ("frames",),
    "requested_label": ("slots",),
    "scored": ("slots",),
    "status_label": ("slots", None),
    "span_label": ("slots", "spans"),
    "value_label": ("slots", "values"),
    "known_label": ("slots", "known"),
}
_FILLS = dict.fromkeys(("scored", "status_label", "value_label", "known_label"), 0)
_FILLS |= {"intent_label": -100, "requested_label": -1, "span_label": -1}


def filled(batch: Tensors, rows: int, width: int) -> Tensors:
    """A batch filled up to frames of ``width`` tokens."""
    # Few frames of SGD have more slots, values and so on than these.
    sizes = {"frames": rows, "tokens": width, "text": 64, "slots": 12 * rows}
    sizes |= {"intents": 8, "values": 8, "known": 16, "spans": 4}
    batch = batch | {"frames": torch.tensor(float(len(batch["input_ids"])))}
    return fill_up(batch, _DIMENSIONS, sizes, _FILLS)


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


def _may_copy(item: Item, slot: str) -> list[bool]:
    """Which values of other services a slot may take: none if it has a value."""
    schema = item.frame.schema
    free = slot in schema.tracked and slot not in item.frame.carried
    read = item.frame.known[: len(item.sequence.known)]
    return [free and schema.slot(slot).admits(value) for _, value in read]


def _open_statuses(item: Item, slot: str, may_copy: bool) -> list[bool]:
    """Which statuses a slot may have."""
    frame, sequence = item
    tracked = slot in frame.schema.tracked
    is_open = {
        KEEP: True,
        SAY: tracked and bool(sequence.values[slot] or sequence.text),
        DONTCARE: tracked,
        GIVEN: tracked and frame.system_offer(slot) is not None,
        FROM: may_copy,
    }
    return [is_open[number] for number in range(STATUSES)]


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


SPANS = 4  # number of candidate spans of a slot: the likeliest


class CandidateSpan(NamedTuple):
    """A span that may be the value that the user says for a slot."""

    span: TextSpan
    score: float  # logarithm of its probability among the slot's spans


class SlotAnswer(NamedTuple):
    """The model's answer about a slot."""

    requested: float  # probability that the user asks for the slot, in [0, 1]
    statuses: tuple[float, ...]  # logits, in the order of ``labels``; -1e4 for impossible ones
    spans: tuple[CandidateSpan, ...]  # the likeliest, the best first, if the slot is free-form
    value: int  # index of the likeliest possible value, if the slot is categorical
    known: int  # index in ``FrameInput.known`` of the likeliest value of another service


class Answer(NamedTuple):
    """The model's answer about a frame."""

    intent: str
    slots: dict[str, SlotAnswer]


def read_answers(items: Sequence[Item], logits: Logits) -> list[Answer]:
    """The model's answer about each sequence of a batch: the likeliest candidates."""
    score, span = logits.span.flatten(1).topk(SPANS)
    columns = (
        logits.requested.sigmoid(), logits.status, span, score, logits.value.argmax(1),
        logits.known.argmax(1),
    )  # fmt: skip
    rows = zip(*(column.tolist() for column in columns))  # of each slot
    answers = []
    for item, intent in zip(items, logits.intent.argmax(1).tolist()):
        names = list(item.sequence.intents)
        slots = {}
        for slot in item.sequence.slots:
            requested, statuses, indices, scores, value, other_value = next(rows)
            free = not item.frame.schema.slot(slot).is_categorical
            candidates = _spans(item, indices, scores) if free else ()
            slots[slot] = SlotAnswer(requested, tuple(statuses), candidates, value, other_value)
        answers.append(Answer(names[intent] if names else "", slots))
    return answers


def _spans(
    item: Item, indices: Sequence[int], scores: Sequence[float]
) -> tuple[CandidateSpan, ...]:
    """The possible spans among those that are given as indices of [text, 12]."""
    text = item.sequence.text
    candidates = []
    for index, score in zip(indices, scores):
        first, further = divmod(index, WIDTH)
        if score > LOWEST / 2 and first + further < len(text):
            span = TextSpan(text[first].utterance, text[first].start, text[first + further].end)
            candidates.append(CandidateSpan(span, score))
    return tuple(candidates)


def merge_parts(answers: Sequence[Answer]) -> Answer:
    """The answer about a frame from the answers about its parts, in order."""
    slots = {slot: answer for part in answers for slot, answer in part.slots.items()}
    return Answer(answers[0].intent, slots)


def decode(frame: FrameInput, answer: Answer, keep_bias: float = 0.0) -> State:
    """The state of a frame; ``keep_bias`` is added to the logit of keeping a slot as it is."""
    added = np.zeros(STATUSES)
    added[KEEP] = keep_bias
    if not (frame.first or answer.intent != frame.intent):
        added[FROM] = -np.inf
    tracked = {s: a for s, a in answer.slots.items() if s in frame.schema.tracked}
    statuses = {s: int(np.argmax(added + a.statuses)) for s, a in tracked.items()}
    spans = _assign_spans({s: tracked[s] for s in statuses if statuses[s] == SAY}, keep_bias)
    values = {s: v for s, v in frame.carried.items() if s in frame.schema.tracked}
    for slot, status in statuses.items():
        if (value := _value(frame, slot, status, tracked[slot], spans.get(slot))) is not None:
            values[slot] = value
    requested = tuple(slot for slot, a in answer.slots.items() if a.requested > 0.5)
    return State(answer.intent, {slot: [value] for slot, value in values.items()}, requested)


def _assign_spans(answers: dict[str, SlotAnswer], keep_bias: float) -> dict[str, TextSpan]:
    """The span of each slot whose value the user says; no two of them share a character."""
    # A character that two slots claim goes to the likelier one. The other slot gets its next span,
    # if that is likelier than keeping the slot as it is.
    claims = [
        (answer.statuses[SAY] - np.logaddexp.reduce(answer.statuses) + score, slot, span)
        for slot, answer in answers.items()
        for number, (span, score) in enumerate(answer.spans)
        if number == 0 or answer.statuses[SAY] + score > answer.statuses[KEEP] + keep_bias
    ]
    assigned: dict[str, TextSpan] = {}
    for _, slot, span in sorted(claims, key=lambda claim: -claim[0]):
        if slot not in assigned and not any(_overlap(span, other) for other in assigned.values()):
            assigned[slot] = span
    return assigned


def _overlap(span: TextSpan, other: TextSpan) -> bool:
    return span.utterance == other.utterance and span.start < other.end and other.start < span.end


def _value(
    frame: FrameInput, slot: str, status: int, answer: SlotAnswer, span: TextSpan | None
) -> str | None:
    """The slot's new value; None if it stays as it is."""
    if status == DONTCARE:
        return DONTCARE_VALUE
    if status == GIVEN:
        return frame.system_offer(slot)
    if status == FROM:
        return frame.known[answer.known].value
    if status == SAY and frame.schema.slot(slot).is_categorical:
        return frame.schema.slot(slot).values[answer.value]
    if status == SAY and span is not None:
        return frame.utterances[span.utterance].text[span.start : span.end]
    return None
