"""The dialogue state of a service, updated by the actions of the user and the system."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .line import Action
from .talk import Talk, Value

ACCEPTING = {"AFFIRM", "SELECT"}  # acts that take over what the system offered or confirmed
PROPOSING = {"OFFER", "CONFIRM"}


@dataclass
class Memory:
    """Canonical values, every spoken form of the current value, and the active intent."""

    talk: Talk
    intent: str = "NONE"
    values: dict[str, str] = field(default_factory=dict)
    spoken: dict[str, set[str]] = field(default_factory=dict)

    def put(self, slot: str, value: Value) -> None:
        """Remember a value; a different one than before replaces all its spoken forms."""
        if self.values.get(slot) != value.canonical:
            self.spoken[slot] = set()
        self.values[slot] = value.canonical
        self.spoken[slot].add(value.spoken)

    def update(self, system: list[Action], user: list[Action]) -> None:
        """Take in one exchange: what the system said, then the user's reaction to it."""
        accepted = any(action["act"] in ACCEPTING for action in user)
        for slot, value in _values(system, PROPOSING):
            is_settled = self.values.get(slot) == value.canonical
            if slot in self.talk.state_slots() and (accepted or is_settled):
                self.put(slot, value)
        for slot, value in _values(user, {"INFORM"}):
            self.put(slot, value)
        self.intent = _intent(self.intent, system, user)

    def frame_state(self, user: list[Action]) -> dict[str, Any]:
        requested = {action["slot"] for action in user if action["act"] == "REQUEST"}
        return {
            "active_intent": self.intent,
            "requested_slots": sorted(requested),
            "slot_values": {slot: sorted(forms) for slot, forms in self.spoken.items()},
        }


def _values(actions: list[Action], acts: set[str]) -> Iterable[tuple[str, Value]]:
    for action in actions:
        if action["act"] in acts:
            for canonical, spoken in zip(action["canonical_values"], action["values"], strict=True):
                yield action["slot"], Value(canonical, spoken)


def _intent(before: str, system: list[Action], user: list[Action]) -> str:
    acts = {action["act"] for action in user}
    for action in user:
        if action["act"] == "INFORM_INTENT":
            return str(action["values"][0])
    if "AFFIRM_INTENT" in acts:
        return next(str(a["values"][0]) for a in system if a["act"] == "OFFER_INTENT")
    asked_for_more = any(action["act"] == "REQ_MORE" for action in system)
    return "NONE" if "NEGATE_INTENT" in acts or ("NEGATE" in acts and asked_for_more) else before
