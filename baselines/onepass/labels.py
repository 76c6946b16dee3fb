"""Labels of a frame: for each tracked slot, the set of paths whose outcome is the gold value.

A path is a status and, for some statuses, a candidate: a span or possible value that the user says,
or a value of another service. A slot often has several right paths, as when the user repeats what
the system proposed; none of them is ranked above the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sgdx_dataset.schema import DONTCARE as DONTCARE_VALUE
from sgdx_dataset.schema import NONE_INTENT

from .frames import FrameInput, GoldFrame

KEEP, SAY, DONTCARE, GIVEN, FROM = range(5)  # the statuses of a slot, by number
STATUSES = 5


class TextSpan(NamedTuple):
    """A place in an utterance.

    Attributes:
        utterance: Index of the utterance in ``FrameInput.utterances``.
        start: First character.
        end: Character after the last one.
    """

    utterance: int
    start: int
    end: int


@dataclass(frozen=True)
class Paths:
    """The right paths of a tracked slot.

    Attributes:
        statuses: Those of ``KEEP``, ``DONTCARE`` and ``GIVEN`` that are right.
        spans: Right spans, if the status is ``SAY`` and the slot free-form.
        values: Indices of right possible values, if the status is ``SAY`` and the slot categorical.
        known: Indices in ``FrameInput.known`` of right values, if the status is ``FROM``.
    """

    statuses: frozenset[int] = frozenset()
    spans: tuple[TextSpan, ...] = ()
    values: tuple[int, ...] = ()
    known: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.statuses or self.spans or self.values or self.known)


@dataclass(frozen=True)
class Labels:
    """The labels of a frame.

    Attributes:
        intent: Name of the active intent, or ``NONE``; None if the schema lacks it.
        requested: Slots that the user asks for.
        paths: The right paths of each tracked slot; a slot without one is in no loss.
    """

    intent: str | None
    requested: frozenset[str]
    paths: dict[str, Paths]


def labels_of(frame: FrameInput, gold: GoldFrame) -> Labels:
    """The labels of a frame, given what is read of it, which includes the carried values."""
    schema = frame.schema
    known = gold.intent in schema.intents_by_name or gold.intent == NONE_INTENT
    return Labels(
        gold.intent if known else None,
        gold.requested,
        {
            slot: paths_of(frame, gold, slot)
            for slot in schema.slots_by_name
            if slot in schema.tracked
        },
    )


def paths_of(frame: FrameInput, gold: GoldFrame, slot: str) -> Paths:
    """The right paths of a slot."""
    wanted = list(gold.values.get(slot, ()))
    carried, given = frame.carried.get(slot), frame.system_offer(slot)
    statuses = set()
    if not wanted or carried in wanted:
        statuses.add(KEEP)
    if wanted == [DONTCARE_VALUE]:
        statuses.add(DONTCARE)
    if given is not None and given in wanted:
        statuses.add(GIVEN)
    if not wanted:
        return Paths(frozenset(statuses))
    values: tuple[int, ...] = ()
    spans: tuple[TextSpan, ...] = ()
    options = frame.schema.slot(slot).values
    if frame.schema.slot(slot).is_categorical:
        if KEEP not in statuses and wanted[0] in options:
            values = (options.index(wanted[0]),)
    else:
        spans = annotated_spans(frame, gold, slot)
        if not spans and statuses.isdisjoint((KEEP, GIVEN)):
            spans = first_mention(frame, wanted)
    known: tuple[int, ...] = ()
    if carried is None and not statuses and not spans and _may_take_known(frame, gold):
        known = tuple(
            place
            for place, (_, value) in enumerate(frame.known)
            if value in wanted and frame.schema.slot(slot).admits(value)
        )
    return Paths(frozenset(statuses), spans, values, known)


def _may_take_known(frame: FrameInput, gold: GoldFrame) -> bool:
    return frame.first or gold.intent != frame.intent


def annotated_spans(frame: FrameInput, gold: GoldFrame, slot: str) -> tuple[TextSpan, ...]:
    """The annotated spans of a slot in the user's utterance whose text is a gold wording."""
    place = len(frame.utterances) - 1
    text, wanted = frame.utterances[place].text, gold.values.get(slot, ())
    return tuple(
        TextSpan(place, start, end)
        for start, end in gold.spans.get(slot, ())
        if text[start:end] in wanted
    )


def first_mention(frame: FrameInput, wanted: Sequence[str]) -> tuple[TextSpan, ...]:
    """The first place of a wording in the latest readable utterance that has one, or nothing."""
    for place in reversed(range(len(frame.utterances))):
        utterance = frame.utterances[place]
        if not utterance.readable:
            continue
        found = [(utterance.text.find(value), value) for value in wanted if value]
        starts = [(start, value) for start, value in found if start >= 0]
        if starts:
            start, value = min(starts)
            return (TextSpan(place, start, start + len(value)),)
    return ()
