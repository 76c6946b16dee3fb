"""The prompts of the submodels, as pieces of text.

A sequence consists of a head, a turn and a tail. Head and tail come from a schema and occur many
times in a corpus; so does a turn, once for each slot and variant. Each is therefore created and
tokenized only once (``sequences``). Segments (token types) are 0 up to the ``[SEP]`` after the
turn, then 1. Binary features are bits, which hold for a whole sequence or for one piece of it.
Source: Ruan et al. 2020 (arXiv 2002.00181), section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

from sgdx_dataset.schema import NONE_INTENT, Service

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
