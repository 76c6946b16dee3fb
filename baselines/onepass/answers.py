"""From the logits of the model to its answer about each frame."""

from __future__ import annotations

from collections.abc import Sequence

from .batches import Item, Tensors
from .decode import Answer, CandidateSpan, SlotAnswer
from .labels import TextSpan
from .modeling import LOWEST, WIDTH, Logits

SPANS = 4  # number of candidate spans of a slot: the likeliest
_COLUMNS = ("requested", "statuses", "span", "span_score", "value", "known")


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
