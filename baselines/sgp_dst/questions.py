"""The questions that the submodels answer for a user turn, and their prompts as pieces of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

from sgdx_dataset.schema import NONE_INTENT, Service

from ..data.dialogues import Frame, Memory, UserTurn

CLS, SEP = "[CLS]", "[SEP]"
SPAN = -1  # marks the tokens that a span may contain

# Binary features. Their sum is the index of an embedding that is added to every token.
PREVIOUS_INTENT = 1  # intent: the token belongs to the intent that was active before
SYSTEM_GAVE, SYSTEM_ASKED = 2, 4  # combine: the system ever gave a value, just asked for one
IN_SYSTEM, IN_USER = 1, 2  # copy: the system gave a value for the slot, the state has one
SOURCE_KNOWN, TARGET_KNOWN = 1, 2  # cross: the source is in a state, the system gave the target
REQUIRED, OPTIONAL = 4, 8  # copy and cross: what the slot is for the active intent
SUCCEEDED = 16  # cross: the system reported success for the source's service
FEATURES = 32  # number of possible sums of binary features


class Piece(NamedTuple):
    """A text in a sequence."""

    text: str  # or a special token
    element: int = 0  # number of the intent or value that this is, from 1; ``SPAN`` or 0 if of none
    bits: int = 0  # sum of its binary features, which adds to that of the whole sequence


class Prompt(NamedTuple):
    """A prompt for any turn."""

    head: tuple[Piece, ...]
    tail: tuple[Piece, ...]
    turn: int = 0  # element of the turn's tokens: ``SPAN`` or 0


class TurnText(NamedTuple):
    """The text of a turn in a prompt."""

    text: str  # the system's and the user's utterance with markers
    user: int  # index of the first character of the user's utterance


def turn_text(system: str, user: str) -> TurnText:
    """The text ``sys : <previous system utterance> usr : <user utterance>``."""
    before = " ".join(["sys :", *filter(None, [system]), "usr : "])
    return TurnText(before + user, len(before))


def spoken(name: str) -> str:
    """The name of a slot or intent as a prompt has it: with spaces in place of underscores."""
    return name.replace("_", " ")


@cache
def intent_prompt(schema: Service, previous: str | None, keep: bool) -> Prompt:
    """The prompt ``[CLS] keep|jump [SEP] turn [SEP] <desc> # <name> [SEP] ... none [SEP]``."""
    texts = [f"{intent.description} # {spoken(intent.name)}" for intent in schema.intents]
    elements = [
        Piece(text, number, PREVIOUS_INTENT * (name == previous))
        for number, (text, name) in enumerate(
            zip([*texts, "none"], [*schema.intents_by_name, NONE_INTENT]), 1
        )
    ]
    head = (Piece(CLS), Piece("keep" if keep else "jump"), Piece(SEP))
    return Prompt(head, (Piece(SEP), *_separated(elements)))


@cache
def combine_prompt(schema: Service, slot: str) -> Prompt:
    """``[CLS] turn null [SEP] sort|tag # <name> # <desc> [SEP] null [SEP] do not care ...``."""
    # It has ``sort`` for categorical slots, whose values are scored. For other slots it has
    # ``tag``: their value is a span of the turn, or the ``null`` after the turn for no span.
    element = schema.slot(slot)
    kind = "sort" if element.is_categorical else "tag"
    title = f"{kind} # {spoken(slot)} # {element.description}"
    texts = ["null", "do not care", *element.values]
    values = [Piece(text, number) for number, text in enumerate(texts, 1)]
    tail = (Piece("null", SPAN), Piece(SEP), Piece(title), Piece(SEP), *_separated(values))
    return Prompt((Piece(CLS),), tail, turn=SPAN)


@cache
def copy_prompt(schema: Service, slot: str) -> Prompt:
    """The prompt of ``copy``: ``[CLS] api: <service desc> [SEP] turn [SEP] <slot desc> [SEP]``."""
    # In lower case, as in the authors' code.
    head = (Piece(CLS), Piece(f"api: {schema.description.lower()}"), Piece(SEP))
    return Prompt(head, (Piece(SEP), *_separated([Piece(schema.slot(slot).description)])))


@cache
def cross_prompt(schema: Service, target: str, other: Service, source: str) -> Prompt:
    """The prompt ``[CLS] turn [SEP] <target> # <desc> [SEP] <source> # <desc> [SEP]``."""
    slots = (schema.slot(target), other.slot(source))
    pieces = [Piece(f"{spoken(slot.name)} # {slot.description}") for slot in slots]
    return Prompt((Piece(CLS),), (Piece(SEP), *_separated(pieces)))


def _separated(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces, each followed by ``[SEP]``."""
    return chain.from_iterable((piece, Piece(SEP)) for piece in pieces)


def combine_bits(*, gave: bool, asked: bool) -> int:
    """Features of ``combine``."""
    return SYSTEM_GAVE * gave + SYSTEM_ASKED * asked


def role_bits(schema: Service, intent: str, slot: str) -> int:
    """Features of ``copy`` and ``cross``: whether the intent has a slot as required or optional."""
    required = REQUIRED * (slot in schema.required(intent))
    return required + OPTIONAL * (slot in schema.optional(intent))


def copy_bits(schema: Service, intent: str, slot: str, in_system: bool, in_state: bool) -> int:
    """Features of ``copy``."""
    return IN_SYSTEM * in_system + IN_USER * in_state + role_bits(schema, intent, slot)


def cross_bits(
    schema: Service, intent: str, target: str, *, source: bool, target_given: bool, success: bool
) -> int:
    """Features of ``cross``."""
    bits = SOURCE_KNOWN * source + TARGET_KNOWN * target_given + SUCCEEDED * success
    return bits + role_bits(schema, intent, target)


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
