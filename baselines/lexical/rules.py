"""The tracker's rules: one service's state after a user turn, from the schema's words alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

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

# What a slot holds, told by the words of its name or else of its description.
_KINDS = {
    "time": ("time", "hour", "clock"),
    "date": ("date", "day"),
    "money": ("amount", "price", "cost", "money", "fare"),
    "number": ("number", "count", "many", "quantity"),
}


@dataclass(frozen=True)
class Slot:
    """A slot's words, read once per schema; ``kind`` as of ``words.Value``."""

    name: str
    values: list[str]
    named: list[str]
    described: list[str]
    kind: str
    tracked: bool


@dataclass(frozen=True)
class Intent:
    """An intent's words; slots that it needs are expected to be spoken of."""

    name: str
    named: list[str]
    described: list[str]


@dataclass(frozen=True)
class Lexicon:
    """A service's schema as words."""

    slots: list[Slot]
    intents: list[Intent]


@dataclass
class ServiceState:
    """What is known of a service so far; carried from turn to turn."""

    intent: str = "NONE"
    slots: dict[str, str] = field(default_factory=dict)


def read_schema(schema: Row) -> Lexicon:
    """The words of a frame row's ``schema``."""
    in_calls = {
        slot
        for intent in schema["intents"]
        for slot in [*intent["required_slots"], *(o["slot"] for o in intent["optional_slots"])]
    }
    slots = [
        Slot(
            slot["name"],
            slot["possible_values"] if slot["is_categorical"] else [],
            named := content_words(slot["name"]),
            described := content_words(slot["description"]),
            _kind(named, described),
            slot["name"] in in_calls,
        )
        for slot in schema["slots"]
    ]
    intents = [
        Intent(i["name"], content_words(i["name"]), content_words(i["description"]))
        for i in schema["intents"]
    ]
    return Lexicon(slots, intents)


def _kind(named: list[str], described: list[str]) -> str:
    for said in (named, described):
        for kind, cues in _KINDS.items():
            if met(cues, said):
                return kind
    return "name"


def track(lexicon: Lexicon, state: ServiceState, utterance: str, acts: Sequence[Row]) -> list[str]:
    """Update ``state`` with a user turn; ``acts`` are the service's in the system's last turn.

    Returns:
        The slots that the user asks for.
    """
    said = words(utterance)
    agrees = _YES.search(utterance) is not None and _NO.search(utterance) is None
    if agrees:
        state.slots |= _given(lexicon, acts)
    asked = {act["slot"] for act in acts if act["act"] == "REQUEST"}
    state.slots |= _categorical(lexicon, utterance, said, asked)
    state.slots |= _free_form(lexicon, state, values(utterance), said, asked)
    if _ANY.search(utterance):
        state.slots |= {s.name: "dontcare" for s in lexicon.slots if s.name in asked and s.tracked}
    state.intent = _intent(lexicon, state, utterance, said, acts, agrees)
    return _requested(lexicon, state, utterance, said)


def _given(lexicon: Lexicon, acts: Sequence[Row]) -> dict[str, str]:
    """What the system offered or asked to confirm."""
    tracked = {slot.name for slot in lexicon.slots if slot.tracked}
    return {
        act["slot"]: act["values"][0]
        for act in acts
        if act["act"] in ("OFFER", "CONFIRM") and act["slot"] in tracked and act["values"]
    }


def _categorical(
    lexicon: Lexicon, utterance: str, said: list[str], asked: set[str]
) -> dict[str, str]:
    found = {}
    numbers = {number(word) for word in said}
    for slot in lexicon.slots:
        near = slot.name in asked or met(slot.named, said) > 0.5
        if not slot.values or not slot.tracked:
            continue
        if set(slot.values) == {"True", "False"}:
            if met(slot.named, said) > 0.5 or (slot.name in asked and _YES.search(utterance)):
                found[slot.name] = "False" if _NO.search(utterance) else "True"
            continue
        spoken = [
            v for v in slot.values if (near and v in numbers if v.isdigit() else says(utterance, v))
        ]
        if spoken:
            found[slot.name] = max(spoken, key=len)
    return found


def _free_form(
    lexicon: Lexicon, state: ServiceState, found: list[Value], said: list[str], asked: set[str]
) -> dict[str, str]:
    """Each value to the free slot of its kind whose words fit best."""
    free = [slot for slot in lexicon.slots if slot.tracked and not slot.values]
    given: dict[str, str] = {}
    for value in found:
        scores = {
            slot.name: _fit(slot, value, said)
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


def _fit(slot: Slot, value: Value, said: list[str]) -> float:
    """How well a slot's words meet those before the value, and those of the whole utterance."""
    near = met(value.before, slot.named + slot.described)
    return near + (met(slot.named, said) + met(slot.described, said)) / 2


def _intent(
    lexicon: Lexicon,
    state: ServiceState,
    utterance: str,
    said: list[str],
    acts: Sequence[Row],
    agrees: bool,
) -> str:
    offered = [act["values"][0] for act in acts if act["act"] == "OFFER_INTENT" and act["values"]]
    if offered and agrees:
        return str(offered[0])
    closing = any(act["act"] in ("REQ_MORE", "OFFER_INTENT", "NOTIFY_SUCCESS") for act in acts)
    if _DONE.search(utterance) and closing:
        return "NONE"
    scores = {i.name: 2 * met(i.named, said) + met(i.described, said) for i in lexicon.intents}
    best = max(scores, key=lambda name: scores[name], default="NONE")
    if state.intent == "NONE" or scores[best] > 1.0 + scores.get(state.intent, 0.0):
        return best
    return state.intent


def _requested(lexicon: Lexicon, state: ServiceState, utterance: str, said: list[str]) -> list[str]:
    if not _ASKS.search(utterance):
        return []
    return sorted(
        slot.name
        for slot in lexicon.slots
        if slot.name not in state.slots and met(slot.named, said) > 0.6
    )
