"""From the logits of the model to its answer about a frame, and from the answer to the state."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import NamedTuple

from sgdx_dataset.schema import DONTCARE as DONTCARE_VALUE

from ..data.dialogues import State
from .batches import Item, Tensors
from .frames import FrameInput
from .labels import DONTCARE, FROM, GIVEN, KEEP, SAY, TextSpan
from .modeling import LOWEST, WIDTH, Logits

SPANS = 4  # number of candidate spans of a slot: the likeliest
_COLUMNS = ("requested", "statuses", "span", "span_score", "value", "known")


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


def likeliest(logits: Logits) -> Tensors:
    """The likeliest candidates: ``intent`` [frames], all others [slots] or [slots, candidates]."""
    score, span = logits.span.flatten(1).topk(SPANS)
    best = {
        "intent": logits.intent.argmax(1),
        "requested": logits.requested.sigmoid(),
        "statuses": logits.status,
        "span": span,
        "span_score": score,
        "value": logits.value.argmax(1),
        "known": logits.known.argmax(1),
    }
    return {name: tensor.cpu() for name, tensor in best.items()}


def read_answers(items: Sequence[Item], logits: Logits) -> list[Answer]:
    """The model's answer about each sequence of a batch."""
    columns = {name: tensor.tolist() for name, tensor in likeliest(logits).items()}
    intents = columns.pop("intent")
    rows = zip(*(columns[name] for name in _COLUMNS))
    answers = []
    for item, intent in zip(items, intents):
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
    from_allowed = frame.first or answer.intent != frame.intent
    tracked = {s: a for s, a in answer.slots.items() if s in frame.schema.tracked}
    statuses = {s: _status(a, from_allowed, keep_bias) for s, a in tracked.items()}
    spans = _assign_spans({s: tracked[s] for s in statuses if statuses[s] == SAY}, keep_bias)
    values = {s: v for s, v in frame.carried.items() if s in frame.schema.tracked}
    for slot, status in statuses.items():
        if (value := _value(frame, slot, status, tracked[slot], spans.get(slot))) is not None:
            values[slot] = value
    requested = tuple(slot for slot, a in answer.slots.items() if a.requested > 0.5)
    return State(answer.intent, {slot: [value] for slot, value in values.items()}, requested)


def _status(answer: SlotAnswer, from_allowed: bool, keep_bias: float) -> int:
    logits = list(answer.statuses)
    logits[KEEP] += keep_bias
    if not from_allowed:
        logits[FROM] = float("-inf")
    return logits.index(max(logits))


def _assign_spans(answers: dict[str, SlotAnswer], keep_bias: float) -> dict[str, TextSpan]:
    """The span of each slot whose value the user says; no two of them share a character."""
    # A character that two slots claim goes to the likelier one. The other slot gets its next span,
    # if that is likelier than keeping the slot as it is.
    claims = [
        (_log_probability_of_say(answer) + score, slot, span)
        for slot, answer in answers.items()
        for number, (span, score) in enumerate(answer.spans)
        if number == 0 or answer.statuses[SAY] + score > answer.statuses[KEEP] + keep_bias
    ]
    assigned: dict[str, TextSpan] = {}
    for _, slot, span in sorted(claims, key=lambda claim: -claim[0]):
        if slot not in assigned and not any(_overlap(span, other) for other in assigned.values()):
            assigned[slot] = span
    return assigned


def _log_probability_of_say(answer: SlotAnswer) -> float:
    """Logarithm of the probability that the user says the slot's value."""
    highest = max(answer.statuses)
    total = sum(exp(logit - highest) for logit in answer.statuses)
    return answer.statuses[SAY] - highest - log(total)


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
