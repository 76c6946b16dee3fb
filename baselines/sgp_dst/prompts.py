"""What each sub-model reads, as pieces of text.

A sequence is a head, the turn and a tail. Heads and tails come from schemas and recur all over a
corpus, turns recur under every slot and variant: each is made, and tokenized, once (``sequences``).
Segments (token types) are 0 up to the ``[SEP]`` after the turn, then 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

from .features import PREVIOUS_INTENT
from .schema import NULL, Schema

CLS, SEP = "[CLS]", "[SEP]"
SPAN = -1  # the element of tokens among which a span's start and end are looked for


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


class Said(NamedTuple):
    """A turn's text; the characters from ``user`` on are the user's."""

    text: str
    user: int


def turn_text(system: str, user: str) -> Said:
    """``sys : <previous system utterance> usr : <user utterance>``."""
    before = " ".join(["sys :", *filter(None, [system]), "usr : "])
    return Said(before + user, len(before))


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
