"""The rules of the lexical tracker, which update the state of one service after a user turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sgdx_dataset.schema import DONTCARE, NONE_INTENT, Service, Slot

from .words import Value, contains_phrase, content_words, find_values, overlap, parse_number, words

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

# Words in the name or description of a slot that show the kind of its values.
_KINDS = {
    "time": ("time", "hour", "clock"),
    "date": ("date", "day"),
    "money": ("amount", "price", "cost", "money", "fare"),
    "number": ("number", "count", "many", "quantity"),
}


@dataclass(frozen=True)
class SlotWords:
    """A slot with the content words of its name and description, made once for each schema."""

    slot: Slot
    name_words: list[str]
    description_words: list[str]
    kind: str  # kind of value that the slot takes, as in ``words.Value``
    tracked: bool  # whether an intent requires the slot or has it as optional; others are never set

    @property
    def name(self) -> str:
        """Name of the slot."""
        return self.slot.name


@dataclass(frozen=True)
class IntentWords:
    """An intent with its words."""

    name: str
    name_words: list[str]
    description_words: list[str]


@dataclass(frozen=True)
class Lexicon:
    """The schema of a service as words."""

    slots: list[SlotWords]
    intents: list[IntentWords]


@dataclass
class ServiceState:
    """The state of a service, which is carried from turn to turn."""

    intent: str = NONE_INTENT
    slots: dict[str, str] = field(default_factory=dict)  # values of those that are set


def lexicon_of(service: Service) -> Lexicon:
    """The words of a service's schema."""
    slots = []
    for slot in service.slots:
        name_words, description_words = content_words(slot.name), content_words(slot.description)
        kind, tracked = _kind(name_words, description_words), slot.name in service.tracked
        slots.append(SlotWords(slot, name_words, description_words, kind, tracked))
    intents = [
        IntentWords(i.name, content_words(i.name), content_words(i.description))
        for i in service.intents
    ]
    return Lexicon(slots, intents)


def _kind(name_words: list[str], description_words: list[str]) -> str:
    """The kind of value that a slot takes, from the words of its name, else its description."""
    for slot_words in (name_words, description_words):
        for kind, cues in _KINDS.items():
            if overlap(cues, slot_words):
                return kind
    return "name"


def update_state(
    lexicon: Lexicon, state: ServiceState, utterance: str, acts: Sequence[Row]
) -> list[str]:
    """Update a service's state with a user turn; returns the slots that the user asks for."""
    spoken = words(utterance)
    agrees = _YES.search(utterance) is not None and _NO.search(utterance) is None
    if agrees:
        tracked = {slot.name for slot in lexicon.slots if slot.tracked}
        state.slots |= {
            act["slot"]: act["values"][0]
            for act in acts
            if act["act"] in ("OFFER", "CONFIRM") and act["slot"] in tracked and act["values"]
        }
    asked = {act["slot"] for act in acts if act["act"] == "REQUEST"}
    state.slots |= _categorical_values(lexicon, utterance, spoken, asked)
    state.slots |= _free_form_values(lexicon, state, find_values(utterance), spoken, asked)
    if _ANY.search(utterance):
        state.slots |= {s.name: DONTCARE for s in lexicon.slots if s.name in asked and s.tracked}
    state.intent = _active_intent(lexicon, state, utterance, spoken, acts, agrees)
    return _requested_slots(lexicon, state, utterance, spoken)


def _categorical_values(
    lexicon: Lexicon, utterance: str, spoken: list[str], asked: set[str]
) -> dict[str, str]:
    """Values of categorical slots that the utterance names."""
    values = {}
    numbers = {parse_number(word) for word in spoken}
    for slot in lexicon.slots:
        near = slot.name in asked or overlap(slot.name_words, spoken) > 0.5
        if not slot.slot.values or not slot.tracked:
            continue
        if slot.slot.is_boolean:
            # Asked about, a boolean slot is answered by yes or no; else its name must be spoken.
            answered = slot.name in asked and _YES.search(utterance)
            if overlap(slot.name_words, spoken) > 0.5 or answered:
                values[slot.name] = "False" if _NO.search(utterance) else "True"
            continue
        spoken_values = [
            value
            for value in slot.slot.values
            # A bare number may belong to any slot, so it counts only near this slot's name.
            if (near and value in numbers if value.isdigit() else contains_phrase(utterance, value))
        ]
        if spoken_values:
            values[slot.name] = max(spoken_values, key=len)
    return values


def _free_form_values(
    lexicon: Lexicon, state: ServiceState, pieces: list[Value], spoken: list[str], asked: set[str]
) -> dict[str, str]:
    """Each piece of the utterance, assigned to the free-form slot of its kind that fits best."""
    free = [slot for slot in lexicon.slots if slot.tracked and not slot.slot.values]
    values: dict[str, str] = {}
    for piece in pieces:
        scores = {
            slot.name: overlap(piece.before, slot.name_words + slot.description_words)
            + (overlap(slot.name_words, spoken) + overlap(slot.description_words, spoken)) / 2
            + (slot.name in asked)
            - (slot.name in state.slots) / 2
            for slot in free
            if slot.kind == piece.kind and slot.name not in values
        }
        if scores:
            best = max(scores, key=lambda name: scores[name])
            if scores[best] >= 0:
                values[best] = piece.text
    return values


def _active_intent(
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
    scores = {
        intent.name: 2 * overlap(intent.name_words, spoken)
        + overlap(intent.description_words, spoken)
        for intent in lexicon.intents
    }
    best = max(scores, key=lambda name: scores[name], default=NONE_INTENT)
    if state.intent == NONE_INTENT or scores[best] > 1.0 + scores.get(state.intent, 0.0):
        return best
    return state.intent


def _requested_slots(
    lexicon: Lexicon, state: ServiceState, utterance: str, spoken: list[str]
) -> list[str]:
    """The slots that the user asks for."""
    if not _ASKS.search(utterance):
        return []
    return sorted(
        slot.name
        for slot in lexicon.slots
        if slot.name not in state.slots and overlap(slot.name_words, spoken) > 0.6
    )
