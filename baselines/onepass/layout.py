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

from .frames import SYSTEM, FrameInput, KnownValue

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
        self._slot_lengths: dict[Service, dict[str, int]] = {}

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
        if text in self._texts:
            return 1 + len(self._texts[text].ids)
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

    def slot_lengths(self, schema: Service) -> dict[str, int]:
        """The number of tokens of each slot and its values where nothing is known of a state."""
        if schema not in self._slot_lengths:
            self._slot_lengths[schema] = {
                slot: self.length(text) + sum(map(self.length, _values(schema, slot)))
                for slot, text in own_variant(schema).slots.items()
            }
        return self._slot_lengths[schema]


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


@lru_cache(maxsize=4096)  # all frames of a service have the same schema
def own_variant(schema: Service) -> Variant:
    """The unchanged texts of a schema's elements, in its order."""
    return variant_of(schema)


def parts_of(
    frame: FrameInput, vocabulary: Vocabulary, limit: int
) -> list[tuple[Sequence[str], int]]:
    """The slots of each sequence of a frame, and its number of tokens: as few parts as fit."""
    # The parts of a long schema share the slots equally, in order; each of them has the dialogue,
    # the service and the values of other services, and the first one has the intents. The schema's
    # own texts, which another variant must not exceed, determine the parts.
    schema, length = frame.schema, vocabulary.length
    said = sum(length(utterance.text) for utterance in frame.utterances)
    known = sum(map(length, _known_texts(frame, vocabulary, limit // 4)))
    # [CLS] and [SEP] stand around the utterances, and [SEP] at the end.
    shared = 3 + min(said, limit // 2) + length(schema.description) + known
    now = frame.intent == NONE_INTENT or frame.intent in schema.intents_by_name
    intents = now + sum(map(length, (*own_variant(schema).intents.values(), _NO_INTENT)))
    lengths = {
        slot: own + sum(length(text) for _, text in _marks(frame, slot))
        for slot, own in vocabulary.slot_lengths(schema).items()
    }
    slots = list(lengths)
    for count in range(1, max(1, len(slots)) + 1):
        bounds = [len(slots) * number // count for number in range(count + 1)]
        parts = [slots[begin:end] for begin, end in itertools.pairwise(bounds)]
        of_parts = [shared + sum(lengths[slot] for slot in part) for part in parts]
        of_parts[0] += intents
        if max(of_parts) <= limit:
            return list(zip(parts, of_parts))
    # With one slot in a part, the longest part has the longest slot.
    needed, slot = max(zip(of_parts, slots or [""]))
    where = f"slot '{slot}' of " if slot else ""
    raise SgdxError(
        f"max_tokens: {limit} leave no room for {where}{schema.service_name}, "
        f"expected {needed} or more"
    )


def sequences(
    frame: FrameInput, vocabulary: Vocabulary, limit: int, variant: Variant | None = None
) -> list[TokenSequence]:
    """The token sequence of a frame, or several for a schema that is too long for one."""
    texts = variant or own_variant(frame.schema)
    ids, text = _dialogue(frame, vocabulary, limit // 2)
    service = vocabulary.ids("[SERVICE]", frame.schema.description)
    known = [vocabulary.ids("[FROM]", t) for t in _known_texts(frame, vocabulary, limit // 4)]
    made = []
    for number, (part, _) in enumerate(parts_of(frame, vocabulary, limit)):
        sequence = TokenSequence(text=text, service=len(ids))
        start = sequence.add(ids + service, 0, 0)[1]
        blocks = itertools.count(1)
        intents = texts.intents | {NONE_INTENT: _NO_INTENT} if number == 0 else {}
        for name, words_of in intents.items():
            now = [vocabulary.markers["[NOW]"]] if name == frame.intent else []
            own = vocabulary.ids("[INTENT]", words_of) + now
            sequence.intents[name] = sequence.add(own, next(blocks), start)
        for slot, block in zip(part, blocks):
            own = vocabulary.ids("[SLOT]", texts.slots[slot])
            for marker, mark in _marks(frame, slot):
                own += vocabulary.ids(marker, mark)
            begin, end = sequence.slots[slot] = sequence.add(own, block, start)
            sequence.values[slot] = []
            for value in _values(frame.schema, slot):
                place = start + end - begin
                begin_of_value, end = sequence.add(vocabulary.ids("[VALUE]", value), block, place)
                sequence.values[slot].append((begin_of_value, end))
        sequence.known += [sequence.add(own, -n, start) for n, own in enumerate(known, 1)]
        sequence.add([vocabulary.tokenizer.sep_token_id], 0, start)
        made.append(sequence)
    return made


def _dialogue(frame: FrameInput, vocabulary: Vocabulary, limit: int) -> tuple[Ids, list[TextToken]]:
    """``[CLS]``, the last tokens of the utterances and ``[SEP]``; and where values may be."""
    ids: Ids = []
    text: list[TextToken] = []
    for number, utterance in enumerate(frame.utterances):
        ids.append(vocabulary.markers["[SYS]" if utterance.speaker == SYSTEM else "[USR]"])
        tokens = vocabulary.tokens(utterance.text)
        if utterance.readable:
            places = itertools.count(len(ids))
            text += map(TextToken, places, itertools.repeat(number), tokens.starts, tokens.ends)
        ids += tokens.ids
    cut = max(0, len(ids) - limit)
    kept = [token._replace(place=token.place - cut + 1) for token in text if token.place >= cut]
    tokenizer = vocabulary.tokenizer
    return [tokenizer.cls_token_id, *ids[cut:], tokenizer.sep_token_id], kept


def _marks(frame: FrameInput, slot: str) -> Iterator[tuple[str, str]]:
    """The markers of a slot and their texts; one that no intent uses has none."""
    if slot not in frame.schema.tracked:
        return
    if slot in frame.carried:
        yield "[HAS]", frame.carried[slot]
    if slot in frame.asked:
        yield "[ASK]", frame.question
    if slot in frame.offered_now:
        yield "[LAST]", frame.offered_now[slot]
    elif (offer := frame.earlier_offer(slot)) is not None:
        yield "[TOLD]", offer


def _values(schema: Service, slot: str) -> Sequence[str]:
    """The possible values of a slot; one that no intent uses has none."""
    return schema.slot(slot).values if slot in schema.tracked else ()


def texts_of(frame: FrameInput) -> Iterator[str]:
    """The texts of a frame's sequence that are not those of its schema."""
    yield from (utterance.text for utterance in frame.utterances)
    for part in (frame.carried, frame.offered_now, frame.offered_earlier):
        yield from part.values()
    yield from map(_known_text, frame.known)


def _known_text(known: KnownValue) -> str:
    """The text of a value of another service."""
    return f"{words(known.slot)} = {known.value}"


def _known_texts(frame: FrameInput, vocabulary: Vocabulary, limit: int) -> list[str]:
    """The texts of the first values of other services that have no more tokens than the limit."""
    texts = list(map(_known_text, frame.known))
    ends = itertools.accumulate(map(vocabulary.length, texts))
    return [text for text, end in zip(texts, ends) if end <= limit]
