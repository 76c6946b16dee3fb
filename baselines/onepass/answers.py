"""From the logits of the model to what it says about each frame."""

from __future__ import annotations

from collections.abc import Sequence

from .batches import Item, Tensors
from .decode import Answer, CandidateSpan, SlotAnswer
from .labels import TextSpan
from .modeling import LOWEST, WIDTH, Logits

SPANS = 4  # how many of a slot's likeliest spans are kept


def likeliest(found: Logits) -> Tensors:
    """The likeliest candidates of each kind for each slot, and the logits that decide, on the CPU.

    Returns:
        ``intent`` [frames]; ``requested``, ``value`` and ``known`` [slots]; ``statuses``
        [slots, 5]; ``span`` and ``span_score`` [slots, 4], the likeliest first.
    """
    score, span = found.span.flatten(1).topk(SPANS)
    best = {
        "intent": found.intent.argmax(1),
        "requested": found.requested.sigmoid(),
        "statuses": found.status,
        "span": span,
        "span_score": score,
        "value": found.value.argmax(1),
        "known": found.known.argmax(1),
    }
    return {name: tensor.cpu() for name, tensor in best.items()}


def read_answers(items: Sequence[Item], found: Logits) -> list[Answer]:
    """What the model says about each sequence of a batch.

    Args:
        items: The sequences.
        found: What the model computes for them.

    Returns:
        An answer for each sequence, with the slots of the sequence; its intent is empty if the
        sequence has no intents.
    """
    columns = {name: tensor.tolist() for name, tensor in likeliest(found).items()}
    intents = columns.pop("intent")
    rows = zip(*(columns[name] for name in _COLUMNS))
    answers = []
    for item, intent in zip(items, intents):
        names = list(item.sequence.intents)
        slots = {}
        for slot in item.sequence.slots:
            requested, statuses, indices, scores, value, known = next(rows)
            free = not item.frame.schema.slot(slot).is_categorical
            said = _spans(item, indices, scores) if free else ()
            slots[slot] = SlotAnswer(requested, tuple(statuses), said, value, known)
        answers.append(Answer(names[intent] if names else "", slots))
    return answers


_COLUMNS = ("requested", "statuses", "span", "span_score", "value", "known")


def _spans(
    item: Item, indices: Sequence[int], scores: Sequence[float]
) -> tuple[CandidateSpan, ...]:
    """The spans that are given as indices of [text, 12]; those that cannot be are left out."""
    text = item.sequence.text
    said = []
    for index, score in zip(indices, scores):
        first, further = divmod(index, WIDTH)
        if score > LOWEST / 2 and first + further < len(text):
            place = TextSpan(text[first].utterance, text[first].start, text[first + further].end)
            said.append(CandidateSpan(place, score))
    return tuple(said)


def merge_parts(answers: Sequence[Answer]) -> Answer:
    """The answer about a frame from the answers about its parts, in order."""
    slots = {slot: answer for part in answers for slot, answer in part.slots.items()}
    return Answer(answers[0].intent, slots)
