"""A state and what a turn changes in it: pure functions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Values = Mapping[str, Sequence[str]]
DONTCARE = "dontcare"
Group = tuple[Hashable, ...]  # of which service in which dialogue a frame is


@dataclass(frozen=True)
class Change:
    """What a user's turn says to a service: values are of the slots that it changes alone."""

    active_intent: str = "NONE"
    requested_slots: list[str] = field(default_factory=list)
    slot_values: dict[str, str] = field(default_factory=dict)


def difference(before: Values, now: Values) -> Values:
    """The slots that are new, or none of whose values was one before.

    A state lists every way in which a value was said so far, so a value that lasts may gain some. A
    slot that is no longer there is no difference: the model cannot say so.
    """
    return {
        slot: values for slot, values in now.items() if set(values).isdisjoint(before.get(slot, ()))
    }


def differences(groups: Iterable[Group], states: Iterable[Values]) -> Iterator[Values]:
    """Each frame's difference to the frame before of its group, however many turns ago that was."""
    last: dict[Group, Values] = {}
    for group, now in zip(groups, states):
        yield difference(last.get(group, {}), now)
        last[group] = now


def accumulate(groups: Iterable[Group], changes: Iterable[Change]) -> Iterator[dict[str, str]]:
    """Each frame's slot values: those of the frame before of its group, changed."""
    last: dict[Group, dict[str, str]] = {}
    for group, change in zip(groups, changes):
        last[group] = last.get(group, {}) | change.slot_values
        yield last[group]
