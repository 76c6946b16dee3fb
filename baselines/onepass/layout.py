"""Frames as sequences of tokens: the dialogue's end, then every element of the schema.

[CLS] [SYS] ... [USR] ... [SEP] [SERVICE] ... [INTENT] ... [SLOT] ... [VALUE] ... [FROM] ... [SEP]
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from transformers import PreTrainedTokenizerBase

from sgdx_dataset import SgdxError
from sgdx_dataset.schema import NONE_INTENT, Service

from .frames import SYSTEM, FrameInput, KnownValue, Utterance

# The marker tokens, each with the word whose vector its own vector starts from.
MARKERS = {
    "[SYS]": "system",
    "[USR]": "user",
    "[SERVICE]": "service",
    "[INTENT]": "goal",
    "[NOW]": "current",
    "[SLOT]": "field",
    "[HAS]": "equals",
    "[ASK]": "asked",
    "[LAST]": "offered",
    "[TOLD]": "earlier",
    "[VALUE]": "value",
    "[FROM]": "known",
}
_NO_INTENT = "none"  # the text of ``NONE``
_AT_ONCE = 4096  # number of texts that are tokenized in one call
Ids = list[int]
TokenRange = tuple[int, int]  # tokens [begin, end) of a sequence


class Tokens(NamedTuple):
    """The tokens of an utterance, as arrays: lists of numbers would take four times the memory."""

    ids: array[int]
    starts: array[int]  # first character of each token
    ends: array[int]  # character after the last one of each token


class Vocabulary:
    """A fast tokenizer with the markers, which keeps the tokens of texts, or their number alone."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        tokenizer.add_tokens(list(MARKERS), special_tokens=True)
        self.tokenizer = tokenizer
        ids: Any = tokenizer.convert_tokens_to_ids(list(MARKERS))
        self.markers: dict[str, int] = dict(zip(MARKERS, ids))
        self._texts: dict[str, Tokens] = {}
        self._lengths: dict[str, int] = {}
        self._schema_lengths: dict[Service, int] = {}

    def __deepcopy__(self, _: Any) -> Vocabulary:
        """A copy of a model shares what it remembers."""
        return self

    def add_texts(self, texts: Iterable[str]) -> None:
        """Tokenize those of the texts that are new, in large batches."""
        new = [text for text in dict.fromkeys(texts) if text not in self._texts]
        for begin in range(0, len(new), _AT_ONCE):
            chunk = new[begin : begin + _AT_ONCE]
            # Special tokens in a text count as plain text.
            encoded = self.tokenizer(
                chunk,
                add_special_tokens=False,
                split_special_tokens=True,
                return_offsets_mapping=True,
                verbose=False,
            )
            for text, ids, offsets in zip(chunk, encoded["input_ids"], encoded["offset_mapping"]):
                bounds = [_without_space(text, *pair) for pair in offsets]
                starts, ends = ([pair[side] for pair in bounds] for side in (0, 1))
                self._texts[text] = Tokens(*(array("i", part) for part in (ids, starts, ends)))

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text."""
        if text not in self._texts:
            self.add_texts([text])
        return self._texts[text]

    def ids(self, marker: str, text: str) -> Ids:
        """A marker and the tokens of a text."""
        return [self.markers[marker], *self.tokens(text).ids]

    def length(self, text: str) -> int:
        """The number of tokens of a text and a marker before it."""
        # A training needs all lengths before its first step; to count takes a quarter of the time.
        if text not in self._lengths:
            (encoded,) = self._counter.encode_batch_fast([text], add_special_tokens=False)
            self._lengths[text] = len(encoded)
        return 1 + self._lengths[text]

    @cached_property
    def _counter(self) -> Any:
        """A copy of the tokenizer that reads whole texts and special tokens as plain text."""
        tokenizer = self.tokenizer.backend_tokenizer
        counter = type(tokenizer).from_str(tokenizer.to_str())
        counter.encode_special_tokens = True
        counter.no_truncation()
        counter.no_padding()
        return counter

    def schema_length(self, schema: Service) -> int:
        """The number of tokens of a service and its elements where nothing is known of a state."""
        if schema not in self._schema_lengths:
            intents, slots = own_variant(schema)
            values = [
                v for slot in schema.slots if slot.name in schema.tracked for v in slot.values
            ]
            texts = [schema.description, *intents.values(), _NO_INTENT, *slots.values(), *values]
            self._schema_lengths[schema] = sum(map(self.length, texts))
        return self._schema_lengths[schema]


def _without_space(text: str, start: int, end: int) -> tuple[int, int]:
    """A token's characters without the space before it, which some tokenizers include."""
    while start < end and text[start].isspace():
        start += 1
    return start, end


@lru_cache(maxsize=65536)  # schemas have the same names in every frame
def words(name: str) -> str:
    """The name of a schema element as words in lower case.

    >>> words("FindRestaurants"), words("party_size")
    ('find restaurants', 'party size')
    """
    return " ".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", name).lower().split())


def element_text(name: str, description: str) -> str:
    """The text of a schema element: its name in words and its description."""
    return " : ".join(filter(None, (words(name), description)))


class Variant(NamedTuple):
    """The texts of a schema's elements, in the order in which they are read."""

    intents: dict[str, str]
    slots: dict[str, str]


def variant_of(schema: Service, text: Callable[[str, str], str] = element_text) -> Variant:
    """The texts of a schema's elements, in its order."""
    return Variant(
        {x.name: text(x.name, x.description) for x in schema.intents},
        {x.name: text(x.name, x.description) for x in schema.slots},
    )


class TextToken(NamedTuple):
    """A token that may be part of a value."""

    place: int  # index of the token in the sequence
    utterance: int  # index of the utterance in ``FrameInput.utterances``
    start: int  # first character of the token in the utterance
    end: int  # character after its last one


@dataclass
class TokenSequence:
    """The tokens of a frame, or of a part of it, and where its elements are."""

    ids: Ids = field(default_factory=list)
    # What each token belongs to: 0 the dialogue and the service, 1 and up an element of the schema,
    # -1 and down a value of another service. All elements start at the position where the service
    # ends.
    blocks: Ids = field(default_factory=list)
    positions: Ids = field(default_factory=list)
    text: list[TextToken] = field(default_factory=list)  # the tokens that may be part of a value
    # ``NONE`` is last; all parts but the first have no intents.
    intents: dict[str, TokenRange] = field(default_factory=dict)
    slots: dict[str, TokenRange] = field(default_factory=dict)  # up to the first possible value
    values: dict[str, list[TokenRange]] = field(default_factory=dict)  # the possible ones
    known: list[TokenRange] = field(default_factory=list)
    service: int = 0  # index of ``[SERVICE]``, with which the second segment begins

    def add(self, ids: Ids, block: int, position: int) -> TokenRange:
        """Append tokens of a block, the first of which has the given position."""
        begin = len(self.ids)
        self.ids += ids
        self.blocks += [block] * len(ids)
        self.positions += range(position, position + len(ids))
        return begin, len(self.ids)


def sequences(
    frame: FrameInput, vocabulary: Vocabulary, limit: int, variant: Variant | None = None
) -> list[TokenSequence]:
    """The token sequence of a frame, or several for a schema that is too long for one."""
    # The parts of a long schema share the slots equally, in order; each of them has the dialogue,
    # the service and the values of other services, and the first one has the intents. The schema's
    # own texts, which another variant must not exceed, determine the parts.
    pieces = _pieces(frame, vocabulary, limit, own_variant(frame.schema))
    parts = _parts(frame, pieces, limit)
    if variant is not None:
        pieces = _pieces(frame, vocabulary, limit, variant)
        parts = [[slot for slot in variant.slots if slot in part] for part in parts]
    return [pieces.sequence(part, first=number == 0) for number, part in enumerate(parts)]


def part_lengths(frame: FrameInput, vocabulary: Vocabulary, limit: int) -> list[int]:
    """The number of tokens of each sequence that ``sequences`` gives."""
    whole = _whole_length(frame, vocabulary, limit)
    if whole <= limit:
        return [whole]
    pieces = _pieces(frame, vocabulary, limit, own_variant(frame.schema))
    parts = _parts(frame, pieces, limit)
    return [pieces.length(part, first=number == 0) for number, part in enumerate(parts)]


def _whole_length(frame: FrameInput, vocabulary: Vocabulary, limit: int) -> int:
    """The number of tokens of a frame in one sequence, counted without making the sequence."""
    schema, length = frame.schema, vocabulary.length
    spoken = sum(length(utterance.text) for utterance in frame.utterances)
    now = frame.intent == NONE_INTENT or frame.intent in schema.intents_by_name
    marks = [length(value) for slot, value in frame.carried.items() if slot in schema.tracked]
    marks += [length(frame.question) for slot in frame.asked if slot in schema.tracked]
    marks += [length(value) for slot, value in frame.offered_now.items() if slot in schema.tracked]
    marks += [
        length(value)
        for slot, value in frame.offered_earlier.items()
        if slot in schema.tracked and slot not in frame.offered_now
        if frame.earlier_offer(slot) is not None
    ]
    ends = itertools.accumulate(length(_known_text(value)) for value in frame.known)
    known = max((end for end in ends if end <= limit // 4), default=0)
    # [CLS] and [SEP] stand around the utterances, and [SEP] at the end.
    head = 2 + min(spoken, limit // 2)
    return head + vocabulary.schema_length(schema) + now + sum(marks) + known + 1


@lru_cache(maxsize=4096)  # all frames of a service have the same schema
def own_variant(schema: Service) -> Variant:
    """The unchanged texts of a schema's elements, in its order."""
    return variant_of(schema)


def _parts(frame: FrameInput, pieces: _Pieces, limit: int) -> list[Sequence[str]]:
    """The slots of each part of a frame: as few equal parts as fit."""
    slots = list(pieces.slots)
    for count in range(1, max(1, len(slots)) + 1):
        bounds = [len(slots) * number // count for number in range(count + 1)]
        parts: list[Sequence[str]] = [slots[b:e] for b, e in itertools.pairwise(bounds)]
        if all(pieces.length(part, first=n == 0) <= limit for n, part in enumerate(parts)):
            return parts
    lengths = {slot: pieces.length([slot], first=slot == slots[0]) for slot in slots}
    longest = max(lengths, key=lambda slot: lengths[slot], default=None)
    needed = pieces.length([], first=True) if longest is None else lengths[longest]
    where = "" if longest is None else f"slot '{longest}' of "
    raise SgdxError(
        f"max_tokens: {limit} leave no room for {where}{frame.schema.service_name}, "
        f"expected {needed} or more"
    )


def _pieces(frame: FrameInput, vocabulary: Vocabulary, limit: int, variant: Variant) -> _Pieces:
    return _Pieces(
        _head(frame, vocabulary, limit // 2),
        list(_intents(frame, variant, vocabulary)),
        {slot: _slot(frame, slot, text, vocabulary) for slot, text in variant.slots.items()},
        _other_values(frame, vocabulary, limit // 4),
        vocabulary.tokenizer.sep_token_id,
    )


class _SlotPiece(NamedTuple):
    """A slot with its marks, and its possible values."""

    ids: Ids
    values: list[Ids]


class _Pieces(NamedTuple):
    """The tokens of a frame before they are joined."""

    head: TokenSequence  # the dialogue and the service, without blocks and positions
    intents: list[tuple[str, Ids]]
    slots: dict[str, _SlotPiece]
    known: list[Ids]
    sep: int

    def length(self, slots: Sequence[str], *, first: bool) -> int:
        """The number of tokens of a part with the given slots."""
        intents = sum(len(ids) for _, ids in self.intents) if first else 0
        own = sum(len(self.slots[s].ids) + sum(map(len, self.slots[s].values)) for s in slots)
        return len(self.head.ids) + intents + own + sum(map(len, self.known)) + 1

    def sequence(self, slots: Sequence[str], *, first: bool) -> TokenSequence:
        """The sequence of a part with the given slots."""
        sequence = TokenSequence(text=self.head.text, service=self.head.service)
        start = sequence.add(self.head.ids, 0, 0)[1]
        intents = self.intents if first else []
        for block, (name, ids) in enumerate(intents, 1):
            sequence.intents[name] = sequence.add(ids, block, start)
        for block, slot in enumerate(slots, len(intents) + 1):
            piece = self.slots[slot]
            begin, end = sequence.slots[slot] = sequence.add(piece.ids, block, start)
            values = sequence.values[slot] = []
            for ids in piece.values:
                values.append(sequence.add(ids, block, start + end - begin))
                end = values[-1][1]
        for number, ids in enumerate(self.known, 1):
            sequence.known.append(sequence.add(ids, -number, start))
        sequence.add([self.sep], 0, start)
        return sequence


def _head(frame: FrameInput, vocabulary: Vocabulary, limit: int) -> TokenSequence:
    """``[CLS]``, the last ``limit`` tokens of the utterances, ``[SEP]`` and the service."""
    tokenizer = vocabulary.tokenizer
    spoken: list[tuple[int, TextToken | None]] = []
    for number, utterance in enumerate(frame.utterances):
        spoken += _spoken(number, utterance, vocabulary)
    spoken = spoken[-limit:]
    ids = [tokenizer.cls_token_id, *(token for token, _ in spoken), tokenizer.sep_token_id]
    text = [token._replace(place=index) for index, (_, token) in enumerate(spoken, 1) if token]
    service = vocabulary.ids("[SERVICE]", frame.schema.description)
    return TokenSequence(ids + service, text=text, service=len(ids))


def _spoken(
    number: int, utterance: Utterance, vocabulary: Vocabulary
) -> Iterator[tuple[int, TextToken | None]]:
    """The tokens of an utterance. Second item: the `TextToken`, or None where no value may be."""
    yield vocabulary.markers["[SYS]" if utterance.speaker == SYSTEM else "[USR]"], None
    tokens = vocabulary.tokens(utterance.text)
    for token, start, end in zip(*tokens):
        yield token, TextToken(-1, number, start, end) if utterance.readable else None


def _intents(
    frame: FrameInput, variant: Variant, vocabulary: Vocabulary
) -> Iterator[tuple[str, Ids]]:
    """The name and the tokens of each intent and ``NONE``; a marker ends the last active one."""
    for name, text in (*variant.intents.items(), (NONE_INTENT, _NO_INTENT)):
        now = [vocabulary.markers["[NOW]"]] if name == frame.intent else []
        yield name, vocabulary.ids("[INTENT]", text) + now


def _slot(frame: FrameInput, slot: str, text: str, vocabulary: Vocabulary) -> _SlotPiece:
    """A slot with its markers and values; one that no intent uses has neither."""
    ids = vocabulary.ids("[SLOT]", text)
    if slot not in frame.schema.tracked:
        return _SlotPiece(ids, [])
    if slot in frame.carried:
        ids += vocabulary.ids("[HAS]", frame.carried[slot])
    if slot in frame.asked:
        ids += vocabulary.ids("[ASK]", frame.question)
    if slot in frame.offered_now:
        ids += vocabulary.ids("[LAST]", frame.offered_now[slot])
    elif (offer := frame.earlier_offer(slot)) is not None:
        ids += vocabulary.ids("[TOLD]", offer)
    return _SlotPiece(ids, [vocabulary.ids("[VALUE]", v) for v in frame.schema.slot(slot).values])


def texts_of(frame: FrameInput) -> Iterator[str]:
    """The texts of a frame's sequence that are not those of its schema."""
    yield from (utterance.text for utterance in frame.utterances)
    for part in (frame.carried, frame.offered_now, frame.offered_earlier):
        yield from part.values()
    yield from map(_known_text, frame.known)


def _known_text(known: KnownValue) -> str:
    """The text of a value of another service."""
    return f"{words(known.slot)} = {known.value}"


def _other_values(frame: FrameInput, vocabulary: Vocabulary, limit: int) -> list[Ids]:
    """The values of other services, as many of the first as have no more tokens than the limit."""
    ids = [vocabulary.ids("[FROM]", text) for text in map(_known_text, frame.known)]
    ends = itertools.accumulate(map(len, ids))
    return [tokens for tokens, end in zip(ids, ends) if end <= limit]
