"""From the logits of the model to what it says about each frame."""

from __future__ import annotations

from collections.abc import Sequence

from .batches import Item, Tensors
from .decode import Answer, SlotAnswer
from .labels import TextSpan
from .modeling import WIDTH, Logits


def best_of(found: Logits) -> Tensors:
    """The likeliest candidate of each kind for each slot, and the logits that decide, on the CPU.

    Returns:
        ``intent`` [frames]; ``requested``, ``span``, ``span_score``, ``value`` and ``known``
        [slots]; ``statuses`` [slots, 5].
    """
    score, span = found.span.flatten(1).max(1)
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
    columns = {name: tensor.tolist() for name, tensor in best_of(found).items()}
    intents = columns.pop("intent")
    rows = zip(*(columns[name] for name in _COLUMNS))
    answers = []
    for item, intent in zip(items, intents):
        names = list(item.sequence.intents)
        slots = {}
        for slot in item.sequence.slots:
            requested, statuses, span, score, value, known = next(rows)
            place = None if item.frame.schema.is_categorical(slot) else _span(item, span)
            slots[slot] = SlotAnswer(requested, tuple(statuses), place, score, value, known)
        answers.append(Answer(names[intent] if names else "", slots))
    return answers


_COLUMNS = ("requested", "statuses", "span", "span_score", "value", "known")


def _span(item: Item, index: int) -> TextSpan | None:
    """The characters of a span that is given as an index of [text, 12]."""
    first, further = divmod(index, WIDTH)
    text = item.sequence.text
    if first + further >= len(text):
        return None
    return TextSpan(text[first].utterance, text[first].start, text[first + further].end)


def join(answers: Sequence[Answer]) -> Answer:
    """The answer about a frame from the answers about its parts, in order."""
    slots = {slot: answer for part in answers for slot, answer in part.slots.items()}
    return Answer(answers[0].intent, slots)
