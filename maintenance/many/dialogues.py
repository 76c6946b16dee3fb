"""Dialogues of the release made of written ones: acts, spans, states and service calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.rows import Action, Dialogue, Frame, ServiceCall, Span
from sgdx_dataset.rows import Turn as ReleaseTurn
from sgdx_dataset.schema import NONE_INTENT, Service

from .notation import DONTCARE, Mark, Turn

_USER_ACTS = {
    "AFFIRM": "AFFIRM",
    "NEGATE": "NEGATE",
    "SELECT": "SELECT",
    "ALTS": "REQUEST_ALTS",
    "THANKS": "THANK_YOU",
    "BYE": "GOODBYE",
}
_SYSTEM_ACTS = {
    "SUCCESS": "NOTIFY_SUCCESS",
    "FAILURE": "NOTIFY_FAILURE",
    "MORE": "REQ_MORE",
    "BYE": "GOODBYE",
}
_KINDS = ("OFFER", "CONFIRM", "INFORM")
_OFFER_INTENT = "OFFER_INTENT="


@dataclass
class _Talk:
    """What has been said so far in a dialogue."""

    service: Service
    intent: str = NONE_INTENT
    values: dict[str, list[str]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)  # the utterances
    system: Turn | None = None  # the system's last turn

    def slots(self) -> list[str]:
        """The slots that the active intent takes."""
        for intent in self.service.intents:
            if intent.name == self.intent:
                return [*intent.required_slots, *intent.optional_slots]
        return []


def make_dialogue(dialogue_id: str, turns: Sequence[Turn], service: Service) -> Dialogue:
    """Annotate a written dialogue as the release does; ``SgdxError`` names the line at fault."""
    talk = _Talk(service)
    made: list[ReleaseTurn] = []
    for index, turn in enumerate(turns):
        if turn.speaker != "US"[index % 2]:
            raise SgdxError(f"{turn.line}: found {turn.speaker}, expected U and S in turn")
        _check_values(turn, talk)
        frame = _user_frame(turn, talk) if turn.speaker == "U" else _system_frame(turn, talk)
        made.append(
            {
                "speaker": "USER" if turn.speaker == "U" else "SYSTEM",
                "utterance": turn.utterance,
                "frames": [frame],
            }
        )
        talk.said.append(turn.utterance)
    if not turns or turns[-1].speaker != "U":
        line = turns[-1].line if turns else "?"
        raise SgdxError(f"{line}: the dialogue ends here, expected a turn of the user")
    return {"dialogue_id": dialogue_id, "services": [service.service_name], "turns": made}


def _check_values(turn: Turn, talk: _Talk) -> None:
    """Refuse a value without categories that nobody has said in so many words."""
    categorical = {slot.name for slot in talk.service.slots if slot.is_categorical}
    for mark in turn.marks:
        if mark.value is None or mark.is_span or mark.slot in categorical:
            continue
        if mark.value == DONTCARE and turn.speaker == "U":
            continue
        if not any(mark.value in utterance for utterance in talk.said):
            expected = "expected words of an earlier turn"
            raise SgdxError(f"{turn.line}: {mark.slot} is {mark.value!r}, {expected}")


def _user_frame(turn: Turn, talk: _Talk) -> Frame:
    acts, intent = list[Action](), talk.intent
    names = {intent.name for intent in talk.service.intents} | {NONE_INTENT}
    for head in turn.heads:
        if head in names:
            intent = head
        elif head in _USER_ACTS:
            acts.append(_act(_USER_ACTS[head], "", []))
        else:
            expected = f"expected an intent or one of {', '.join(_USER_ACTS)}"
            raise SgdxError(f"{turn.line}: found {head}, {expected}")
    if intent not in (talk.intent, NONE_INTENT):
        acts.append(_act("INFORM_INTENT", "intent", [intent]))
    talk.intent = intent
    if intent == NONE_INTENT and not talk.said:
        raise SgdxError(f"{turn.line}: has no intent, expected one in the first turn")
    values = _given(turn)
    for slot, value in _accepted(turn, talk).items():
        if slot in values:
            continue
        # What is confirmed in other words is the same value in another spelling.
        known = talk.values.get(slot, []) if "AFFIRM" in turn.heads else []
        talk.values[slot] = sorted({*known, value})
    talk.values.update({slot: [value] for slot, value in values.items()})
    acts += [_act("INFORM", slot, [value]) for slot, value in values.items()]
    requested = [mark.slot for mark in turn.marks if mark.value is None]
    acts += [_act("REQUEST", slot, []) for slot in requested]
    slot_values = {slot: list(talk.values[slot]) for slot in sorted(talk.values)}
    return {
        "service": talk.service.service_name,
        "slots": _spans(turn.marks),
        "actions": acts,
        "state": {
            "active_intent": talk.intent,
            "requested_slots": sorted(requested),
            "slot_values": slot_values,
        },
    }


def _given(turn: Turn) -> dict[str, str]:
    """The values of the marks; of a slot that is marked twice, the last."""
    return {mark.slot: mark.value for mark in turn.marks if mark.value is not None}


def _accepted(turn: Turn, talk: _Talk) -> dict[str, str]:
    """The values of the system's turn that the user says yes to, or takes."""
    heads = talk.system.heads if talk.system else []
    if "AFFIRM" in turn.heads and talk.system:
        if "CONFIRM" in heads:
            return _given(talk.system)
        if not any(head.startswith(_OFFER_INTENT) for head in heads) and "OFFER" not in heads:
            expected = "expected CONFIRM, OFFER or OFFER_INTENT before it"
            raise SgdxError(
                f"{turn.line}: AFFIRM, {expected}; mark a yes about a slot by [Yes](slot=True)"
            )
    if {"SELECT", "AFFIRM"} & set(turn.heads) and talk.system and "OFFER" in heads:
        offered = [mark for mark in talk.system.marks if mark.value and mark.slot in talk.slots()]
        slots = [mark.slot for mark in offered]
        return {m.slot: str(m.value) for m in offered if slots.count(m.slot) == 1}
    if "SELECT" in turn.heads:
        raise SgdxError(f"{turn.line}: SELECT, expected an OFFER before it")
    return {}


def _system_frame(turn: Turn, talk: _Talk) -> Frame:
    acts: list[Action] = []
    kinds = [head for head in turn.heads if head in _KINDS]
    values = [mark for mark in turn.marks if mark.value is not None]
    if len(kinds) != bool(values):
        expected = f"expected one of {', '.join(_KINDS)} where values are marked, and only there"
        raise SgdxError(f"{turn.line}: {expected}")
    for head in turn.heads:
        if head in _SYSTEM_ACTS:
            acts.append(_act(_SYSTEM_ACTS[head], "", []))
        elif head.startswith(_OFFER_INTENT):
            intent = head.removeprefix(_OFFER_INTENT)
            if intent not in {intent.name for intent in talk.service.intents}:
                raise SgdxError(f"{turn.line}: {head}, expected an intent of the service")
            acts.append(_act("OFFER_INTENT", "intent", [intent]))
        elif head not in _KINDS:
            expected = ", ".join([*_KINDS, *_SYSTEM_ACTS, f"{_OFFER_INTENT}INTENT"])
            raise SgdxError(f"{turn.line}: found {head}, expected one of {expected}")
    for mark in values:
        acts.append(_act(kinds[0], mark.slot, [str(mark.value)]))
    acts += [_act("REQUEST", mark.slot, []) for mark in turn.marks if mark.value is None]
    frame: Frame = {
        "service": talk.service.service_name,
        "slots": _spans(turn.marks),
        "actions": acts,
    }
    if {"OFFER", "SUCCESS", "FAILURE"} & set(turn.heads):
        known = {s: talk.values[s][0] for s in talk.slots() if s in talk.values}
        found = [] if "FAILURE" in turn.heads else [{**known, **r} for r in _results(values)]
        call: ServiceCall = {"method": talk.intent, "parameters": known}
        frame |= {"service_call": call, "service_results": found}
    talk.system = turn
    return frame


def _act(act: str, slot: str, values: list[str]) -> Action:
    """An act whose values are canonical ones."""
    return {"act": act, "slot": slot, "values": values, "canonical_values": values}


def _results(marks: Sequence[Mark]) -> list[dict[str, str]]:
    """What a search found: a slot that is offered again begins the next result."""
    results: list[dict[str, str]] = [{}]
    for mark in marks:
        if mark.slot in results[-1]:
            results.append({})
        results[-1][mark.slot] = str(mark.value)
    return results


def _spans(marks: Sequence[Mark]) -> list[Span]:
    return [
        {"slot": mark.slot, "start": mark.start, "exclusive_end": mark.start + len(mark.text)}
        for mark in marks
        if mark.is_span
    ]
