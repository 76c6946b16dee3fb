"""The dialogue state of a service as the sum of the changes that its user turns make."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sgdx_dataset.schema import NONE_INTENT

Values = Mapping[str, Sequence[str]]
Group = tuple[Hashable, ...]  # identifies a service in a dialogue, whose frames share one state


@dataclass(frozen=True)
class Change:
    """What a user turn changes in the state of a service."""

    active_intent: str = NONE_INTENT
    requested_slots: list[str] = field(default_factory=list)
    slot_values: dict[str, str] = field(default_factory=dict)  # of only those slots that change


def difference(before: Values, now: Values) -> Values:
    """The slots whose value is new: those with no wording in common with the value before."""
    # The value of an unchanged slot may gain wordings. The model cannot unset a slot.
    return {
        slot: values for slot, values in now.items() if set(values).isdisjoint(before.get(slot, ()))
    }


def differences(groups: Iterable[Group], states: Iterable[Values]) -> Iterator[Values]:
    """The difference of each frame to the last frame of its group, which may be many turns ago."""
    last: dict[Group, Values] = {}
    for group, now in zip(groups, states):
        yield difference(last.get(group, {}), now)
        last[group] = now


def accumulate(groups: Iterable[Group], changes: Iterable[Change]) -> Iterator[dict[str, str]]:
    """The slot values of each frame: those of the last frame of its group, with its changes."""
    last: dict[Group, dict[str, str]] = {}
    for group, change in zip(groups, changes):
        last[group] = last.get(group, {}) | change.slot_values
        yield last[group]
