"""Training examples of each submodel, made from dialogues with gold states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from .dialogues import (
    DONTCARE,
    NULL,
    Dialogue,
    Frame,
    Memory,
    Row,
    Schema,
    Turn,
    Values,
    gives,
)
from .prompts import combine_prompt, turn_text
from .questions import (
    Question,
    combine_questions,
    copy_candidates,
    cross_candidates,
    intent_question,
)

# Kinds of examples. Every epoch has all positives and hard negatives, and a sample of the easy
# negatives.
EASY, HARD, POSITIVE = 0, 1, 2


class Example(NamedTuple):
    """A training example: a question and its labels.

    Attributes:
        question: What the submodel reads.
        labels: The labels, which depend on the submodel. ``intent``: the number of the intent,
            where the last one is ``NONE``. ``combine``: start and end of a span of characters
            [start, end) of the turn's text, or -1 and -1; the number of the value (0 no value,
            1 dontcare, 2 and up the possible values); whether the slot is requested (0 or 1).
            ``copy`` and ``cross``: whether the value is copied (0 or 1).
        kind: ``EASY``, ``HARD`` or ``POSITIVE``.
    """

    question: Question
    labels: tuple[int, ...]
    kind: int = POSITIVE


def walk(dialogue: Dialogue) -> Iterator[tuple[Memory, Turn]]:
    """Each turn of a dialogue with the memory before it, which holds gold states.

    All turns share one ``Memory`` object, which changes when the next turn is asked for.
    """
    memory = Memory()
    for turn in dialogue.turns:
        memory.hear(turn.acts)
        yield memory, turn
        memory.learn(turn, [frame.gold.state for frame in turn.frames if frame.gold])


def intent_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``intent``: one for each frame."""
    for memory, turn in walk(dialogue):
        for frame in turn.frames:
            assert frame.gold is not None  # noqa: S101  # training rows have the gold columns
            names = [*frame.schema.intents, NULL]
            if frame.gold.state.intent in names:
                label = names.index(frame.gold.state.intent)
                yield Example(intent_question(memory, turn, frame), (label,))


def combine_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``combine``: one for each slot of each frame.

    System turns give examples too, for all slots of each service of which they give a value.
    """
    before = ""
    for memory, turn in walk(dialogue):
        yield from _system_examples(memory, turn, before)
        for frame in turn.frames:
            new = _new(memory, frame)
            for slot, question in combine_questions(turn, frame).items():
                span = _span(frame, slot, question)
                value = _value(memory, frame.schema, slot, new)
                asked = int(slot in frame.gold.state.requested) if frame.gold else 0
                positive = span[0] >= 0 or value > 0 or asked
                kind = POSITIVE if positive else HARD if question.bits else EASY
                yield Example(question, (*span, value, asked), kind)
        before = turn.user


def _new(memory: Memory, frame: Frame) -> Values:
    """The slots of a gold state whose value is new in this turn, with their values."""
    before = memory.state(frame.schema.service).values
    now = frame.gold.state.values if frame.gold else {}
    return {s: values for s, values in now.items() if set(values).isdisjoint(before.get(s, ()))}


def _span(frame: Frame, slot: str, question: Question) -> tuple[int, int]:
    """The characters [start, end) of the turn's text with the slot's value, or -1 and -1."""
    if frame.gold is None or slot not in frame.gold.spans:
        return -1, -1
    start, end = frame.gold.spans[slot]
    return start + question.turn.user, end + question.turn.user


def _value(memory: Memory, schema: Schema, slot: str, new: Values) -> int:
    """The number of a slot's new value; 0 for values from the system, which ``copy`` handles."""
    values = new.get(slot, [])
    if not values or memory.offered.get(schema.service, {}).get(slot) in values:
        return 0
    return _number(schema, slot, values[0])


def _number(schema: Schema, slot: str, value: str) -> int:
    """The number of a value among the classes of a slot; 0 if it is not one of them."""
    known = schema.values(slot)
    return 1 if value == DONTCARE else 2 + known.index(value) if value in known else 0


def _system_examples(memory: Memory, turn: Turn, before: str) -> Iterator[Example]:
    """Examples of the submodel ``combine`` from a system turn.

    The system's utterance takes the place of the user's, and the user utterance before it that of
    the system's. So the span is in the utterance behind ``usr :`` in these examples too.
    """
    schemas = memory.schemas | {frame.schema.service: frame.schema for frame in turn.frames}
    given: dict[str, dict[str, Row]] = {}
    for act in filter(gives, turn.acts):
        given.setdefault(act["service"], {})[act["slot"]] = act
    text = turn_text(before, turn.system)
    # Not a set of services: its order would differ from process to process.
    for service in (name for name in given if name in schemas):
        schema = schemas[service]
        for slot in schema.slots:
            value = given[service][slot]["values"][0] if slot in given[service] else ""
            number = _number(schema, slot, value)
            start = -1 if schema.values(slot) or not value else turn.system.find(value)
            span = (start + text.user, start + text.user + len(value)) if start >= 0 else (-1, -1)
            kind = POSITIVE if number or start >= 0 else EASY
            yield Example(Question(text, combine_prompt(schema, slot)), (*span, number, 0), kind)


def copy_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``copy``: one for each slot that the service's system turns gave.

    An example is positive if the system's value becomes the slot's in this turn.
    """
    for memory, turn in walk(dialogue):
        just_given = {(act["service"], act["slot"]) for act in filter(gives, turn.acts)}
        for frame in turn.frames:
            service, intent = frame.schema.service, frame.gold.state.intent if frame.gold else NULL
            new = _new(memory, frame)
            for slot, values, question in copy_candidates(memory, turn, frame, intent):
                taken = slot not in memory.state(service).values and values[0] in new.get(slot, ())
                kind = POSITIVE if taken else HARD if (service, slot) in just_given else EASY
                yield Example(question, (int(taken),), kind)


def cross_examples(dialogue: Dialogue) -> Iterator[Example]:
    """Examples of the submodel ``cross``: one for each pair of an unset slot and a known value.

    The value is that of a slot of another service. An example is positive if the unset slot gets
    this value in this turn, although the user does not say it and the system did not offer it for
    this service.
    """
    for memory, turn in walk(dialogue):
        for frame in turn.frames:
            intent, spans = (
                (frame.gold.state.intent, frame.gold.spans) if frame.gold else (NULL, {})
            )
            offered = memory.offered.get(frame.schema.service, {})
            new = _new(memory, frame)
            for slot, values, question in cross_candidates(memory, turn, frame, intent):
                now = set(new.get(slot, ()))
                silent = slot not in spans and offered.get(slot) not in now
                taken = silent and not now.isdisjoint(values)
                kind = POSITIVE if taken else HARD if now else EASY
                yield Example(question, (int(taken),), kind)


EXAMPLES: dict[str, Callable[[Dialogue], Iterator[Example]]] = {
    "intent": intent_examples,
    "combine": combine_examples,
    "copy": copy_examples,
    "cross": cross_examples,
}
