"""The dialogue state of a service as the sum of the changes that its user turns make."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sgdx_dataset.schema import NONE_INTENT

Values = Mapping[str, Sequence[str]]
Group = tuple[Hashable, ...]  # identifies a service in a dialogue, whose frames share one state


@dataclass(frozen=True)
class Change:
    """What a user turn changes in the state of a service.

    Attributes:
        active_intent: Name of the active intent, or ``NONE``.
        requested_slots: Names of the slots that the user asks for in this turn.
        slot_values: New values, of only those slots that change.
    """

    active_intent: str = NONE_INTENT
    requested_slots: list[str] = field(default_factory=list)
    slot_values: dict[str, str] = field(default_factory=dict)


def difference(before: Values, now: Values) -> Values:
    """The slots whose value is new: those with no wording in common with the value before.

    A gold state lists all wordings of a value so far, so the value of an unchanged slot may gain
    wordings. Slots that are no longer set are left out, as the model cannot unset a slot.

    Args:
        before: Wordings of the value of each slot before the turn.
        now: Wordings of the value of each slot after the turn.
    """
    return {
        slot: values for slot, values in now.items() if set(values).isdisjoint(before.get(slot, ()))
    }


def differences(groups: Iterable[Group], states: Iterable[Values]) -> Iterator[Values]:
    """The difference of each frame to the last frame of its group, which may be many turns ago.

    Args:
        groups: Group of each frame.
        states: Slot values of each frame.
    """
    last: dict[Group, Values] = {}
    for group, now in zip(groups, states):
        yield difference(last.get(group, {}), now)
        last[group] = now


def accumulate(groups: Iterable[Group], changes: Iterable[Change]) -> Iterator[dict[str, str]]:
    """The slot values of each frame: those of the last frame of its group, with its changes.

    Args:
        groups: Group of each frame.
        changes: Change that each frame makes.
    """
    last: dict[Group, dict[str, str]] = {}
    for group, change in zip(groups, changes):
        last[group] = last.get(group, {}) | change.slot_values
        yield last[group]
