"""What the tracker reads of a frame, and its labels: the right paths of each slot."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sgdx_dataset.schema import DONTCARE as DONTCARE_VALUE
from sgdx_dataset.schema import NONE_INTENT, Service

from ..data.dialogues import (
    Dialogue,
    Frame,
    Gold,
    Memory,
    OpenTurn,
    State,
    UserTurn,
    offers_value,
    track_in_step,
)
from .settings import Acts

SYSTEM, USER = "SYSTEM", "USER"
_NO_VALUES: Mapping[str, Any] = {}  # what most frames have of one kind or another, made once


class Utterance(NamedTuple):
    """An utterance that the tracker reads."""

    speaker: str  # ``SYSTEM`` or ``USER``
    text: str
    readable: bool  # whether spans of it may be values


class KnownValue(NamedTuple):
    """A value that another service of the dialogue has."""

    slot: str
    value: str


@dataclass(frozen=True, slots=True)  # of a training there are hundreds of thousands in memory
class FrameInput:
    """The input of the tracker for a frame. Nothing of it is gold."""

    utterances: tuple[Utterance, ...]  # the last ones, oldest first; the last one is the user's
    schema: Service
    first: bool  # whether this is the service's first frame in the dialogue
    intent: str  # the service's last one, ``NONE`` at first
    carried: Mapping[str, str]  # the service's state so far
    asked: frozenset[str]  # slots for which the system's last turn asked, without proposing a value
    offered_now: Mapping[str, str]  # values that the system's last turn proposed
    offered_earlier: Mapping[str, str]  # and its earlier turns, of slots not in ``offered_now``
    known: tuple[KnownValue, ...]  # the distinct values of other services
    confirmed: frozenset[str] = frozenset()  # which the system asks to confirm; for ``StateNoise``
    acts: bool = True  # whether the system's dialogue acts are read at this turn
    question: str = ""  # the system's words, where they stand beside the slots that it asks for

    @property
    def key(self) -> Hashable:
        """Equal for frames with the same input."""
        mappings = (
            frozenset(part.items())
            for part in (self.carried, self.offered_now, self.offered_earlier)
        )
        others = (self.utterances, self.schema, self.first, self.intent, self.asked, self.known)
        return (*mappings, *others)

    def earlier_offer(self, slot: str) -> str | None:
        """The value that an earlier turn of the system proposed and that is not carried."""
        value = self.offered_earlier.get(slot)
        return None if value == self.carried.get(slot) else value

    def system_offer(self, slot: str) -> str | None:
        """The system's latest proposal that the slot can take; None if there is none."""
        value = self.offered_now.get(slot) or self.earlier_offer(slot)
        return value if value is not None and self.schema.slot(slot).admits(value) else None


def frame_input(
    memory: Memory, heard: Sequence[Utterance], turn: UserTurn, frame: Frame, reading: Reading
) -> FrameInput:
    """The input of the tracker for a frame."""
    schema = frame.schema
    state = memory.state(schema.service_name)
    own = [act for act in turn.acts if act["service"] == schema.service_name]
    offered_now = {act["slot"]: act["values"][0] for act in own if offers_value(act)}
    offered = memory.offered.get(schema.service_name, {})
    return FrameInput(
        tuple(heard),
        schema,
        schema.service_name not in memory.states,
        state.intent,
        {slot: values[0] for slot, values in state.values.items()} or _NO_VALUES,
        frozenset(act["slot"] for act in own if act["act"] == "REQUEST" and not offers_value(act)),
        offered_now or _NO_VALUES,
        {slot: value for slot, value in offered.items() if slot not in offered_now} or _NO_VALUES,
        tuple(_values_elsewhere(memory, schema.service_name)),
        frozenset(act["slot"] for act in own if act["act"] == "CONFIRM" and act["values"]),
        bool(reading.acts),
        turn.system if reading.questions else "",
    )


def last_utterances(turns: Sequence[UserTurn], count: int, *, acts: bool) -> list[Utterance]:
    """The last utterances of a dialogue up to a user turn, oldest first."""
    # The acts give the system's values: with them, spans of the user's last words alone are read.
    texts = [
        pair
        for turn in turns[-count:]
        for pair in ((SYSTEM, turn.system), (USER, turn.user))
        if pair[1] or pair[0] == USER
    ][-count:]
    last = len(texts) - 1
    return [Utterance(*pair, not acts or index == last) for index, pair in enumerate(texts)]


def _values_elsewhere(memory: Memory, service: str) -> Iterator[KnownValue]:
    """The distinct values of other services: those of their states, then those the system gave."""
    of_states = (
        (slot, values[0])
        for name, state in memory.states.items()
        if name != service
        for slot, values in state.values.items()
    )
    of_system = (
        pair
        for name, values in memory.system_values.items()
        if name != service
        for pair in values.items()
    )
    yielded = {DONTCARE_VALUE}
    for slot, value in itertools.chain(of_states, of_system):
        if value not in yielded:
            yielded.add(value)
            yield KnownValue(slot, value)


TEXT_UTTERANCES = 4  # number of utterances read without acts, where acts are read ``sometimes``


class Reading(NamedTuple):
    """How much of a dialogue is read."""

    # Whether the system's dialogue acts are read; ``sometimes`` from the first turn that has any.
    acts: Acts
    utterances: int  # most; turns without acts, where these are read sometimes, have four
    questions: bool = False  # whether a slot that the system asks for has the system's words

    def at(self, turns: Sequence[UserTurn]) -> Reading:
        """How much is read at the last of the given turns, the first ones of a dialogue."""
        if self.acts != "sometimes":
            return self
        if any(turn.acts for turn in turns):
            return self._replace(acts=True)
        return Reading(False, TEXT_UTTERANCES)


# Returns the state of each frame, given the frame and its input.
Reader = Callable[[Sequence[tuple[Frame, FrameInput]]], Sequence[State]]


def track_dialogues(
    reader: Reader, dialogues: Sequence[Dialogue], reading: Reading
) -> list[list[State]]:
    """Predict the state of every frame of several dialogues."""

    def predict(open_turns: Sequence[OpenTurn]) -> Sequence[State]:
        frames: list[tuple[Frame, FrameInput]] = []
        for memory, turns in open_turns:
            turn = turns[-1]
            here = reading.at(turns)
            if here.acts:
                memory.add_system_turn(turn.acts)
            heard = last_utterances(turns, here.utterances, acts=bool(here.acts))
            frames += [
                (frame, frame_input(memory, heard, turn, frame, here)) for frame in turn.frames
            ]
        return reader(frames)

    return track_in_step(dialogues, predict)


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
