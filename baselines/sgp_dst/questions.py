"""The questions that the submodels answer for a user turn, in training and in prediction alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sgdx_dataset.schema import Service

from ..data.dialogues import Frame, Memory, UserTurn
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
    """A question to a submodel, which becomes one sequence of tokens."""

    turn: TurnText
    prompt: Prompt  # around the turn
    bits: int = 0  # sum of the binary features of the whole sequence


class Candidate(NamedTuple):
    """A value that may be copied into a slot."""

    slot: str
    source: str  # slot that the value comes from; within a service it is ``slot`` itself
    values: list[str]  # the variants of the value
    question: Question


def text_of(turn: UserTurn) -> TurnText:
    """The text of a user turn, with the system turn before it."""
    return turn_text(turn.system, turn.user)


def intent_question(memory: Memory, turn: UserTurn, frame: Frame) -> Question:
    """The question which intent of a frame is active."""
    keep = memory.services == frozenset(turn.services)
    is_later_turn = frame.schema.service_name in memory.states
    previous = memory.state(frame.schema.service_name).intent if is_later_turn else None
    return Question(text_of(turn), intent_prompt(frame.schema, previous, keep))


def combine_questions(memory: Memory, turn: UserTurn, frame: Frame) -> dict[str, Question]:
    """For each slot, the question about its value or span and whether it is requested."""
    schema, text = frame.schema, text_of(turn)
    system_values = memory.system_values.get(schema.service_name, {})
    asked = {
        act["slot"]
        for act in turn.acts
        if act["act"] == "REQUEST" and act["service"] == schema.service_name
    }
    return {
        slot: Question(
            text,
            combine_prompt(schema, slot),
            combine_bits(gave=slot in system_values, asked=slot in asked),
        )
        for slot in schema.slots_by_name
    }


def copy_candidates(memory: Memory, turn: UserTurn, frame: Frame, intent: str) -> list[Candidate]:
    """The latest value of each slot that the system proposed for the frame's service."""
    schema, text = frame.schema, text_of(turn)
    in_state = memory.state(schema.service_name).values
    return [
        Candidate(
            slot,
            slot,
            [value],
            Question(
                text,
                copy_prompt(schema, slot),
                copy_bits(schema, intent, slot, in_system=True, in_state=slot in in_state),
            ),
        )
        for slot, value in memory.offered.get(schema.service_name, {}).items()
        if slot in schema.tracked and schema.slot(slot).admits(value)
    ]


def cross_candidates(memory: Memory, turn: UserTurn, frame: Frame, intent: str) -> list[Candidate]:
    """The known values of other services, for each free-form slot of the frame without a value."""
    # A target is a slot that the active intent requires or has as optional: of 226 values that were
    # copied in 400 of SGD's dialogues, none went to another slot. Categorical slots are not
    # targets: only ``combine`` and ``copy`` set them, as in the authors' code. Boolean slots are
    # not sources, as ``True`` means something else for another slot.
    schema = frame.schema
    of_intent = {*schema.required(intent), *schema.optional(intent)}
    unset = of_intent - memory.state(schema.service_name).values.keys()
    targets = [
        slot
        for slot in schema.slots_by_name
        if slot in unset and not schema.slot(slot).is_categorical
    ]
    given = memory.system_values.get(schema.service_name, {})
    candidates = []
    for other, source, values in values_elsewhere(memory, schema.service_name):
        for target in targets:
            bits = cross_bits(
                schema,
                intent,
                target,
                source=source in memory.state(other.service_name).values,
                target_given=target in given,
                success=other.service_name in memory.succeeded,
            )
            question = Question(text_of(turn), cross_prompt(schema, target, other, source), bits)
            candidates.append(Candidate(target, source, values, question))
    return candidates


def values_elsewhere(memory: Memory, service: str) -> Iterator[tuple[Service, str, list[str]]]:
    """The known values of other services: schema, slot and variants of the value."""
    for name, other in memory.schemas.items():
        from_system = {slot: [value] for slot, value in memory.system_values.get(name, {}).items()}
        for slot, values in (from_system | memory.states[name].values).items():
            if name != service and slot in other.slots_by_name and not other.slot(slot).is_boolean:
                yield other, slot, values
