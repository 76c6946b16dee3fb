"""What each sub-model reads, as pieces of text.

A sequence is a head, the turn and a tail. Heads and tails come from schemas and recur all over a
corpus, turns recur under every slot and variant: each is made, and tokenized, once (``sequences``).
Segments (token types) are 0 up to the ``[SEP]`` after the turn, then 1. Features are bits: of the
whole sequence, or of a piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

from .dialogues import NULL, Row, Schema, gives

CLS, SEP = "[CLS]", "[SEP]"
SPAN = -1  # the element of tokens among which a span's start and end are looked for

# Binary features: bits whose sum indexes an embedding that is added to every token.
PREVIOUS_INTENT = 1  # intent: on the tokens of the previously active one
SYSTEM_GAVE, SYSTEM_ASKED = 2, 4  # combine: in the turn just before
IN_SYSTEM, IN_USER = 1, 2  # in-domain copy: the slot was in the system's, the user's turns
SOURCE_KNOWN, TARGET_KNOWN = 1, 2  # cross-domain copy: the source stated, the target given
REQUIRED, OPTIONAL = 4, 8  # copy: of the active intent
SUCCEEDED = 16  # cross-domain copy: the source's service notified success
FEATURES = 32  # sums that there can be


class Piece(NamedTuple):
    """A text in a sequence.

    element: 0; SPAN; or the number, from 1, of the intent or value that it is and that is scored.
    bits: Features of its own, beside those of the whole sequence.
    """

    text: str
    element: int = 0
    bits: int = 0


class Prompt(NamedTuple):
    """What stands before the turn and after it. turn: the element of the turn's tokens."""

    head: tuple[Piece, ...]
    tail: tuple[Piece, ...]
    turn: int = 0


class TurnText(NamedTuple):
    """A turn's text; the characters from ``user`` on are the user's."""

    text: str
    user: int


def turn_text(system: str, user: str) -> TurnText:
    """``sys : <previous system utterance> usr : <user utterance>``."""
    before = " ".join(["sys :", *filter(None, [system]), "usr : "])
    return TurnText(before + user, len(before))


@cache
def intent_prompt(schema: Schema, previous: str, keep: bool) -> Prompt:
    """``[CLS] keep|jump [SEP] turn [SEP] <desc> # <IntentName> [SEP] ... none [SEP]``.

    Args:
        schema: The service.
        previous: Its intent after the previous user turn, whose tokens get a feature.
        keep: Whether the previous user turn was about the same services.
    """
    texts = [f"{intent['description']} # {name}" for name, intent in schema.intents.items()]
    elements = [
        Piece(text, number, PREVIOUS_INTENT * (name == previous))
        for number, (text, name) in enumerate(zip([*texts, "none"], [*schema.intents, NULL]), 1)
    ]
    head = (Piece(CLS), Piece("keep" if keep else "jump"), Piece(SEP))
    return Prompt(head, (Piece(SEP), *_separated(elements)))


@cache
def combine_prompt(schema: Schema, slot: str) -> Prompt:
    """``[CLS] turn null [SEP] sort|tag # <name> # <desc> [SEP] null [SEP] do not care [SEP] v1 ..``

    ``sort`` is for categorical slots, whose values are scored; for the others (``tag``) a span of
    the turn is, or the ``null`` behind it.
    """
    row = schema.slots[slot]
    title = f"{'sort' if row['is_categorical'] else 'tag'} # {slot} # {row['description']}"
    texts = ["null", "do not care", *schema.values(slot)]
    elements = [Piece(text, number) for number, text in enumerate(texts, 1)]
    tail = (Piece("null", SPAN), Piece(SEP), Piece(title), Piece(SEP), *_separated(elements))
    return Prompt((Piece(CLS),), tail, turn=SPAN)


@cache
def copy_prompt(schema: Schema, slot: str) -> Prompt:
    """In-domain copy: ``[CLS] api: <service desc> [SEP] turn [SEP] <slot desc> [SEP]``."""
    head = (Piece(CLS), Piece(f"api: {schema.description}"), Piece(SEP))
    return Prompt(head, (Piece(SEP), *_separated([Piece(schema.slots[slot]["description"])])))


@cache
def cross_prompt(schema: Schema, target: str, other: Schema, source: str) -> Prompt:
    """Cross-domain copy: ``[CLS] turn [SEP] <target> # <desc> [SEP] <source> # <desc> [SEP]``."""
    slots = ((target, schema.slots[target]), (source, other.slots[source]))
    pieces = [Piece(f"{name} # {row['description']}") for name, row in slots]
    return Prompt((Piece(CLS),), (Piece(SEP), *_separated(pieces)))


def _separated(pieces: Iterable[Piece]) -> Iterator[Piece]:
    return chain.from_iterable((piece, Piece(SEP)) for piece in pieces)


def combine_bits(service: str, slot: str, acts: Iterable[Row]) -> int:
    """Of a slot: whether the system gave and whether it requested it with its last acts."""
    mine = [act for act in acts if act["service"] == service and act["slot"] == slot]
    gave = any(map(gives, mine))
    asked = any(act["act"] == "REQUEST" for act in mine)
    return SYSTEM_GAVE * gave + SYSTEM_ASKED * asked


def role_bits(schema: Schema, intent: str, slot: str) -> int:
    """Whether the active intent requires a slot, and whether it has it as an optional one."""
    return REQUIRED * (slot in schema.required(intent)) + OPTIONAL * (slot in schema.free(intent))


def copy_bits(schema: Schema, intent: str, slot: str, given: bool, known: bool) -> int:
    """Of in-domain copy: whether the system gave the slot earlier, whether the state has it."""
    return IN_SYSTEM * given + IN_USER * known + role_bits(schema, intent, slot)


def cross_bits(
    schema: Schema, intent: str, target: str, *, source: bool, given: bool, success: bool
) -> int:
    """Of cross-domain copy.

    Args:
        schema, intent: The target's.
        target: The slot to be filled.
        source: Whether the source is in its service's state, not only given by the system.
        given: Whether the system gave the target a value, which the state does not have.
        success: Whether the source's service notified success.
    """
    bits = SOURCE_KNOWN * source + TARGET_KNOWN * given + SUCCEEDED * success
    return bits + role_bits(schema, intent, target)
