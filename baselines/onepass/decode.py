"""From the answers about a frame to its state."""

from __future__ import annotations

from typing import NamedTuple

from ..data.dialogues import DONTCARE as DONTCARE_VALUE
from ..data.dialogues import State
from .frames import FrameInput
from .labels import DONTCARE, FROM, GIVEN, KEEP, SAY, TextSpan


class SlotAnswer(NamedTuple):
    """What the model says about a slot.

    Attributes:
        requested: Probability that the user asks for the slot, in [0, 1].
        statuses: Logit of each status, in the order of ``labels``; -1e4 for impossible ones.
        span: The likeliest span, if the slot is free-form.
        span_score: Logarithm of the span's probability.
        value: Index of the likeliest possible value, if the slot is categorical.
        known: Index in ``FrameInput.known`` of the likeliest value of another service.
    """

    requested: float
    statuses: tuple[float, ...]
    span: TextSpan | None
    span_score: float
    value: int
    known: int


class Answer(NamedTuple):
    """What the model says about a frame.

    Attributes:
        intent: Name of the likeliest intent, or ``NONE``.
        slots: The answer about each slot of the schema.
    """

    intent: str
    slots: dict[str, SlotAnswer]


def decode(frame: FrameInput, answer: Answer, keep_bias: float = 0.0) -> State:
    """The state of a frame.

    Args:
        frame: What was read of the frame.
        answer: What the model says about it.
        keep_bias: What to add to the logit of keeping a slot as it is.
    """
    from_allowed = frame.first or answer.intent != frame.intent
    tracked = {s: a for s, a in answer.slots.items() if s in frame.schema.tracked}
    chosen = {s: _status(a, from_allowed, keep_bias) for s, a in tracked.items()}
    claims: dict[TextSpan, list[str]] = {}
    for slot, status in chosen.items():
        span = tracked[slot].span
        if status == SAY and span is not None:
            claims.setdefault(span, []).append(slot)
    for slots in claims.values():
        winner = max(slots, key=lambda slot: _claim(tracked[slot]))
        chosen |= {slot: KEEP for slot in slots if slot != winner}
    values = {s: v for s, v in frame.carried.items() if s in frame.schema.tracked}
    for slot, status in chosen.items():
        if (value := _value(frame, slot, status, tracked[slot])) is not None:
            values[slot] = value
    requested = tuple(slot for slot, a in answer.slots.items() if a.requested > 0.5)
    return State(answer.intent, {slot: [value] for slot, value in values.items()}, requested)


def _status(answer: SlotAnswer, from_allowed: bool, keep_bias: float) -> int:
    logits = list(answer.statuses)
    logits[KEEP] += keep_bias
    if not from_allowed:
        logits[FROM] = float("-inf")
    return logits.index(max(logits))


def _claim(answer: SlotAnswer) -> float:
    """How likely it is that the user says the slot's value in its span, as a logarithm."""
    return answer.statuses[SAY] + answer.span_score


def _value(frame: FrameInput, slot: str, status: int, answer: SlotAnswer) -> str | None:
    """The slot's new value; None if it stays as it is."""
    if status == DONTCARE:
        return DONTCARE_VALUE
    if status == GIVEN:
        return frame.given(slot)
    if status == FROM:
        return frame.known[answer.known].value
    if status == SAY and answer.span is not None:
        utterance, start, end = answer.span
        return frame.utterances[utterance].text[start:end]
    if status == SAY:
        return frame.schema.values(slot)[answer.value]
    return None
