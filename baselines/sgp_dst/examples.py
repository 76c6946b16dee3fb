"""Training examples of each sub-model, made from dialogues with gold states."""

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

EASY, HARD, POSITIVE = 0, 1, 2  # easy negatives are sampled, the others kept in every epoch


class Example(NamedTuple):
    """A question and its answer.

    labels: ``intent``: the intent's number, none's being the last; ``combine``: a span of
    characters [start, end) of the turn, or -1, -1; the value's number (0 null, 1 dontcare, 2..) and
    0 or 1 for requested; ``copy`` and ``cross``: 0 or 1.
    """

    question: Question
    labels: tuple[int, ...]
    kind: int = POSITIVE


def walk(dialogue: Dialogue) -> Iterator[tuple[Memory, Turn]]:
    """Each turn with what is known before it; states are gold. The memory is the same one."""
    memory = Memory()
    for turn in dialogue.turns:
        memory.hear(turn.acts)
        yield memory, turn
        memory.learn(turn, [frame.gold.state for frame in turn.frames if frame.gold])


def intent_examples(dialogue: Dialogue) -> Iterator[Example]:
    """One a frame."""
    for memory, turn in walk(dialogue):
        for frame in turn.frames:
            assert frame.gold is not None  # noqa: S101  # LEARNT columns were read
            names = [*frame.schema.intents, NULL]
            if frame.gold.state.intent in names:
                label = names.index(frame.gold.state.intent)
                yield Example(intent_question(memory, turn, frame), (label,))


def combine_examples(dialogue: Dialogue) -> Iterator[Example]:
    """One a frame and slot; and of system turns, one a slot of each service that they give for."""
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
    """What the state has since this turn: slots with values of which it had none before."""
    before = memory.state(frame.schema.service).values
    now = frame.gold.state.values if frame.gold else {}
    return {s: values for s, values in now.items() if set(values).isdisjoint(before.get(s, ()))}


def _span(frame: Frame, slot: str, question: Question) -> tuple[int, int]:
    if frame.gold is None or slot not in frame.gold.spans:
        return -1, -1
    start, end = frame.gold.spans[slot]
    return start + question.turn.user, end + question.turn.user


def _value(memory: Memory, schema: Schema, slot: str, new: Values) -> int:
    """The number of a new value; what came from the system is left to copy."""
    values = new.get(slot, [])
    if not values or memory.offered.get(schema.service, {}).get(slot) in values:
        return 0
    return _number(schema, slot, values[0])


def _number(schema: Schema, slot: str, value: str) -> int:
    known = schema.values(slot)
    return 1 if value == DONTCARE else 2 + known.index(value) if value in known else 0


def _system_examples(memory: Memory, turn: Turn, before: str) -> Iterator[Example]:
    """Of a system turn: it stands where the user's utterance does, and that one before it.

    So what is said under ``usr :`` is what is tagged, in these examples too.
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
    """One a slot that the system gave: is its value taken over in this turn?"""
    for memory, turn in walk(dialogue):
        just = {(act["service"], act["slot"]) for act in filter(gives, turn.acts)}
        for frame in turn.frames:
            service, intent = frame.schema.service, frame.gold.state.intent if frame.gold else NULL
            new = _new(memory, frame)
            for slot, values, question in copy_candidates(memory, turn, frame, intent):
                taken = slot not in memory.state(service).values and values[0] in new.get(slot, ())
                kind = POSITIVE if taken else HARD if (service, slot) in just else EASY
                yield Example(question, (int(taken),), kind)


def cross_examples(dialogue: Dialogue) -> Iterator[Example]:
    """One a slot without a value and a slot with one in another service.

    Positive: the state has the other's value now, which neither the user said nor this service's
    system gave.
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
