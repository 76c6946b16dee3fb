"""The rules of the lexical tracker, which update the state of one service after a user turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sgdx_dataset.schema import DONTCARE, NONE_INTENT, Service, Slot

from .words import Value, content_words, met, number, says, values, words

Row = dict[str, Any]

_YES = re.compile(
    r"\b(yes|yeah|yep|yup|sure|ok|okay|correct|right|great|good|perfect|fine|works?|please do"
    r"|sounds|exactly|confirm|that one|like that|i like)\b",
    re.I,
)
_NO = re.compile(
    r"\b(no|nope|not|don't|nothing|never|else|another|other|instead|different)\b", re.I
)
_DONE = re.compile(
    r"\b(that's all|that is all|nothing else|all set|no,? thank|bye|i'm good)\b", re.I
)
_ANY = re.compile(r"\b(any|anything|don't care|doesn't matter|don't mind|whatever|either)\b", re.I)
_ASKS = re.compile(
    r"\?|\b(what|which|where|tell me|let me know|do they|does it|is it|is there|how)\b", re.I
)

# Words in the name or description of a slot that tell which kind of value it takes.
_KINDS = {
    "time": ("time", "hour", "clock"),
    "date": ("date", "day"),
    "money": ("amount", "price", "cost", "money", "fare"),
    "number": ("number", "count", "many", "quantity"),
}


@dataclass(frozen=True)
class SlotWords:
    """A slot with its words, made once for each schema.

    Attributes:
        slot: The slot in the schema.
        named: Content words of the name.
        described: Content words of the description.
        kind: Kind of value that the slot takes, as in ``words.Value``.
        tracked: Whether an intent requires the slot or has it as optional; others are never set.
    """

    slot: Slot
    named: list[str]
    described: list[str]
    kind: str
    tracked: bool

    @property
    def name(self) -> str:
        """Name of the slot."""
        return self.slot.name


@dataclass(frozen=True)
class IntentWords:
    """An intent with its words.

    Attributes:
        name: Name of the intent.
        named: Content words of the name.
        described: Content words of the description.
    """

    name: str
    named: list[str]
    described: list[str]


@dataclass(frozen=True)
class Lexicon:
    """The schema of a service as words."""

    slots: list[SlotWords]
    intents: list[IntentWords]


@dataclass
class ServiceState:
    """The state of a service, which is carried from turn to turn.

    Attributes:
        intent: Name of the active intent, or ``NONE``.
        slots: Values of the slots that are set.
    """

    intent: str = NONE_INTENT
    slots: dict[str, str] = field(default_factory=dict)


def lexicon_of(service: Service) -> Lexicon:
    """The words of a service's schema."""
    slots = []
    for slot in service.slots:
        named, described = content_words(slot.name), content_words(slot.description)
        kind, tracked = _kind(named, described), slot.name in service.tracked
        slots.append(SlotWords(slot, named, described, kind, tracked))
    intents = [
        IntentWords(i.name, content_words(i.name), content_words(i.description))
        for i in service.intents
    ]
    return Lexicon(slots, intents)


def _kind(named: list[str], described: list[str]) -> str:
    """The kind of value that a slot takes, from the words of its name, else its description."""
    for slot_words in (named, described):
        for kind, cues in _KINDS.items():
            if met(cues, slot_words):
                return kind
    return "name"


def track(lexicon: Lexicon, state: ServiceState, utterance: str, acts: Sequence[Row]) -> list[str]:
    """Update the state of a service with a user turn.

    Args:
        lexicon: The service's schema.
        state: The state after the turn before; it is changed in place.
        utterance: What the user says.
        acts: Dialogue acts for the service in the system turn before.

    Returns:
        Names of the slots that the user asks for.
    """
    spoken = words(utterance)
    agrees = _YES.search(utterance) is not None and _NO.search(utterance) is None
    if agrees:
        state.slots |= _given(lexicon, acts)
    asked = {act["slot"] for act in acts if act["act"] == "REQUEST"}
    state.slots |= _categorical(lexicon, utterance, spoken, asked)
    state.slots |= _free_form(lexicon, state, values(utterance), spoken, asked)
    if _ANY.search(utterance):
        state.slots |= {s.name: DONTCARE for s in lexicon.slots if s.name in asked and s.tracked}
    state.intent = _intent(lexicon, state, utterance, spoken, acts, agrees)
    return _requested(lexicon, state, utterance, spoken)


def _given(lexicon: Lexicon, acts: Sequence[Row]) -> dict[str, str]:
    """Values that the system offered or asked the user to confirm."""
    tracked = {slot.name for slot in lexicon.slots if slot.tracked}
    return {
        act["slot"]: act["values"][0]
        for act in acts
        if act["act"] in ("OFFER", "CONFIRM") and act["slot"] in tracked and act["values"]
    }


def _categorical(
    lexicon: Lexicon, utterance: str, spoken: list[str], asked: set[str]
) -> dict[str, str]:
    """Values of categorical slots that the utterance names."""
    found = {}
    numbers = {number(word) for word in spoken}
    for slot in lexicon.slots:
        near = slot.name in asked or met(slot.named, spoken) > 0.5
        if not slot.slot.values or not slot.tracked:
            continue
        if slot.slot.is_boolean:
            if met(slot.named, spoken) > 0.5 or (slot.name in asked and _YES.search(utterance)):
                found[slot.name] = "False" if _NO.search(utterance) else "True"
            continue
        named = [
            v
            for v in slot.slot.values
            if (near and v in numbers if v.isdigit() else says(utterance, v))
        ]
        if named:
            found[slot.name] = max(named, key=len)
    return found


def _free_form(
    lexicon: Lexicon, state: ServiceState, found: list[Value], spoken: list[str], asked: set[str]
) -> dict[str, str]:
    """Assign each value to the slot of its kind, not a categorical one, that fits best."""
    free = [slot for slot in lexicon.slots if slot.tracked and not slot.slot.values]
    given: dict[str, str] = {}
    for value in found:
        scores = {
            slot.name: _fit(slot, value, spoken)
            + (slot.name in asked)
            - (slot.name in state.slots) / 2
            for slot in free
            if slot.kind == value.kind and slot.name not in given
        }
        if scores:
            best = max(scores, key=lambda name: scores[name])
            if scores[best] >= 0:
                given[best] = value.text
    return given


def _fit(slot: SlotWords, value: Value, spoken: list[str]) -> float:
    """How well the words of a slot match those before a value and those of the utterance."""
    near = met(value.before, slot.named + slot.described)
    return near + (met(slot.named, spoken) + met(slot.described, spoken)) / 2


def _intent(
    lexicon: Lexicon,
    state: ServiceState,
    utterance: str,
    spoken: list[str],
    acts: Sequence[Row],
    agrees: bool,
) -> str:
    """The active intent, ``NONE`` at the end; it changes only for a clearly better match."""
    offered = [act["values"][0] for act in acts if act["act"] == "OFFER_INTENT" and act["values"]]
    if offered and agrees:
        return str(offered[0])
    closing = any(act["act"] in ("REQ_MORE", "OFFER_INTENT", "NOTIFY_SUCCESS") for act in acts)
    if _DONE.search(utterance) and closing:
        return NONE_INTENT
    scores = {i.name: 2 * met(i.named, spoken) + met(i.described, spoken) for i in lexicon.intents}
    best = max(scores, key=lambda name: scores[name], default=NONE_INTENT)
    if state.intent == NONE_INTENT or scores[best] > 1.0 + scores.get(state.intent, 0.0):
        return best
    return state.intent


def _requested(
    lexicon: Lexicon, state: ServiceState, utterance: str, spoken: list[str]
) -> list[str]:
    """The slots that the user asks for."""
    if not _ASKS.search(utterance):
        return []
    return sorted(
        slot.name
        for slot in lexicon.slots
        if slot.name not in state.slots and met(slot.named, spoken) > 0.6
    )
