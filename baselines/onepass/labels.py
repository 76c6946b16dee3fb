"""Labels of a frame: for each tracked slot, the set of paths whose outcome is the gold value.

A path is a status and, for some statuses, a candidate: a span or possible value that the user says,
or a value of another service. A slot often has several right paths, as when the user repeats a
value that the system proposed; all of them are equally right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sgdx_dataset.schema import DONTCARE as DONTCARE_VALUE
from sgdx_dataset.schema import NONE_INTENT

from ..data.dialogues import Gold
from .frames import FrameInput

KEEP, SAY, DONTCARE, GIVEN, FROM = range(5)  # the statuses of a slot, by number
STATUSES = 5


class TextSpan(NamedTuple):
    """A span of characters in an utterance."""

    utterance: int  # index of the utterance in ``FrameInput.utterances``
    start: int  # first character
    end: int  # character after the last one


@dataclass(frozen=True)
class Paths:
    """The right paths of a tracked slot."""

    statuses: frozenset[int] = frozenset()  # those of ``KEEP``, ``DONTCARE`` and ``GIVEN``
    spans: tuple[TextSpan, ...] = ()  # if the status is ``SAY`` and the slot free-form
    values: tuple[int, ...] = ()  # of possible values, if it is ``SAY`` and the slot categorical
    known: tuple[int, ...] = ()  # in ``FrameInput.known``, if it is ``FROM``

    def __bool__(self) -> bool:
        return bool(self.statuses or self.spans or self.values or self.known)


_KEEPING = Paths(frozenset({KEEP}))  # the paths of a slot without a gold value


@dataclass(frozen=True)
class Labels:
    """The labels of a frame."""

    intent: str | None  # None if the schema lacks it
    requested: frozenset[str]
    paths: dict[str, Paths]  # of each tracked slot; one without any does not enter the loss


def labels_of(frame: FrameInput, gold: Gold) -> Labels:
    """The labels of a frame, which depend on the values that its input carries."""
    schema = frame.schema
    is_valid = gold.state.intent in schema.intents_by_name or gold.state.intent == NONE_INTENT
    return Labels(
        gold.state.intent if is_valid else None,
        frozenset(gold.state.requested),
        {
            slot: paths_of(frame, gold, slot)
            for slot in schema.slots_by_name
            if slot in schema.tracked
        },
    )


def paths_of(frame: FrameInput, gold: Gold, slot: str) -> Paths:
    """The right paths of a slot."""
    variants = list(gold.state.values.get(slot, ()))
    if not variants:  # most slots of most frames
        return _KEEPING
    carried, offer = frame.carried.get(slot), frame.system_offer(slot)
    statuses = set()
    if carried in variants:
        statuses.add(KEEP)
    if variants == [DONTCARE_VALUE]:
        statuses.add(DONTCARE)
    if offer is not None and offer in variants:
        statuses.add(GIVEN)
    values: tuple[int, ...] = ()
    spans: tuple[TextSpan, ...] = ()
    schema_slot = frame.schema.slot(slot)
    if schema_slot.is_categorical:
        if KEEP not in statuses and variants[0] in schema_slot.possible_values:
            values = (schema_slot.possible_values.index(variants[0]),)
    else:
        spans = annotated_spans(frame, gold, slot)
        if not spans and statuses.isdisjoint((KEEP, GIVEN)):
            spans = first_mention(frame, variants)
    others: tuple[int, ...] = ()
    if carried is None and not statuses and not spans and _may_copy(frame, gold):
        others = tuple(
            index
            for index, (_, value) in enumerate(frame.known)
            if value in variants and schema_slot.admits(value)
        )
    return Paths(frozenset(statuses), spans, values, others)


def _may_copy(frame: FrameInput, gold: Gold) -> bool:
    """Whether values of other services may be copied: at the service's start or a new intent."""
    return frame.first or gold.state.intent != frame.intent


def annotated_spans(frame: FrameInput, gold: Gold, slot: str) -> tuple[TextSpan, ...]:
    """The annotated spans of a slot in the user's utterance whose text is a gold variant."""
    last = len(frame.utterances) - 1
    text, variants = frame.utterances[last].text, gold.state.values.get(slot, ())
    return tuple(
        TextSpan(last, start, end)
        for start, end in gold.spans.get(slot, ())
        if text[start:end] in variants
    )


def first_mention(frame: FrameInput, variants: Sequence[str]) -> tuple[TextSpan, ...]:
    """The first mention of a variant in the latest readable utterance with one; else none."""
    for index in reversed(range(len(frame.utterances))):
        utterance = frame.utterances[index]
        if not utterance.readable:
            continue
        mentions = [(utterance.text.find(value), value) for value in variants if value]
        starts = [(start, value) for start, value in mentions if start >= 0]
        if starts:
            start, value = min(starts)
            return (TextSpan(index, start, start + len(value)),)
    return ()
