"""The questions that a user turn puts to the sub-models: the same to train and to predict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .dialogues import Frame, Memory, Schema, Turn
from .prompts import (
    Prompt,
    TurnText,
    combine_bits,
    combine_prompt,
    copy_bits,
    copy_prompt,
    cross_bits,
    cross_prompt,
    intent_prompt,
    turn_text,
)


class Question(NamedTuple):
    """One sequence: a turn's text and a prompt, with ``bits`` on every token."""

    turn: TurnText
    prompt: Prompt
    bits: int = 0


class Candidate(NamedTuple):
    """A value that could be copied into a slot; values: the ways in which it was spoken."""

    slot: str
    values: list[str]
    question: Question


def text_of(turn: Turn) -> TurnText:
    """The text of a user turn and of the system turn before it."""
    return turn_text(turn.system, turn.user)


def intent_question(memory: Memory, turn: Turn, frame: Frame) -> Question:
    """Which intent is active, or none."""
    keep = memory.services == frozenset(turn.services)
    previous = memory.state(frame.schema.service).intent
    return Question(text_of(turn), intent_prompt(frame.schema, previous, keep))


def combine_questions(turn: Turn, frame: Frame) -> dict[str, Question]:
    """Of each slot: is it requested, which value or span of the turn is its."""
    schema, text = frame.schema, text_of(turn)
    return {
        slot: Question(
            text, combine_prompt(schema, slot), combine_bits(schema.service, slot, turn.acts)
        )
        for slot in schema.slots
    }


def copy_candidates(memory: Memory, turn: Turn, frame: Frame, intent: str) -> list[Candidate]:
    """Values that this service's system turns gave, the latest of each slot.

    Args:
        memory: Has heard the system's acts before the turn.
        intent: The active one in this turn.
    """
    schema, text = frame.schema, text_of(turn)
    known = memory.state(schema.service).values
    return [
        Candidate(
            slot,
            [value],
            Question(
                text,
                copy_prompt(schema, slot),
                copy_bits(schema, intent, slot, given=True, known=slot in known),
            ),
        )
        for slot, value in memory.offered.get(schema.service, {}).items()
        if slot in schema.tracked and schema.admits(slot, value)
    ]


def cross_candidates(memory: Memory, turn: Turn, frame: Frame, intent: str) -> list[Candidate]:
    """Values known of other services, from their states or else given by the system.

    Args:
        memory, intent: As of ``copy_candidates``. Only slots that have no value are targets.
    """
    schema = frame.schema
    targets = schema.tracked - memory.state(schema.service).values.keys()
    return [
        Candidate(
            target, values, _cross_question(memory, turn, schema, intent, target, other, source)
        )
        for other, source, values in _sources(memory, schema.service)
        for target in sorted(targets & schema.slots.keys())
        if schema.admits(target, values[0])
    ]


def _sources(memory: Memory, service: str) -> Iterator[tuple[Schema, str, list[str]]]:
    """Slots of other services with a known value."""
    for name, other in memory.schemas.items():
        from_system = {slot: [value] for slot, value in memory.given.get(name, {}).items()}
        for slot, values in (from_system | memory.states[name].values).items():
            if name != service and slot in other.slots:
                yield other, slot, values


def _cross_question(
    memory: Memory, turn: Turn, schema: Schema, intent: str, target: str, other: Schema, source: str
) -> Question:
    bits = cross_bits(
        schema,
        intent,
        target,
        source=source in memory.state(other.service).values,
        given=target in memory.given.get(schema.service, {}),
        success=other.service in memory.succeeded,
    )
    return Question(text_of(turn), cross_prompt(schema, target, other, source), bits)
