"""Tampered actions: the same dialogue action with wrong values, which no utterance may entail.

A turn whose gold utterance seems to entail a tampered action shows that the model of entailment
cannot be relied on there. The paper says of tampered actions only that slot values are incorrect;
how the values are drawn here is our own choice.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from .rows import Action, Turn
from .ser import contains, contains_words

_NOT_TAMPERED = ("REQUEST", "OFFER_INTENT")
# Values, sorted, each with the canonical values that it may stand for.
Values = Sequence[tuple[str, Collection[str]]]
_COUNTS: Values = sorted((str(number), ()) for number in range(1, 11))


@dataclass(frozen=True)
class ValuePool:
    """The values that a split's turns have, from which wrong ones are drawn."""

    by_service: Mapping[tuple[str, str], Values]
    by_slot: Mapping[str, Values]

    @classmethod
    def from_turns(cls, turns: Iterable[Turn]) -> "ValuePool":
        """Collect the values of all actions of a split's turns, which may come in any order."""
        by_service: dict[Any, dict[str, set[str]]] = defaultdict(dict)
        by_slot: dict[Any, dict[str, set[str]]] = defaultdict(dict)
        for turn in turns:
            for action in turn.actions:
                of_service = by_service[action.service, action.slot]
                for value, canonical in zip(action.values, _canonical(action), strict=True):
                    of_service.setdefault(value, set()).add(canonical)
                    by_slot[action.slot].setdefault(value, set()).add(canonical)
        return cls(_sorted_values(by_service), _sorted_values(by_slot))


def _sorted_values(values: Mapping[Any, Mapping[str, set[str]]]) -> dict[Any, Values]:
    return {key: sorted(canonical_of.items()) for key, canonical_of in values.items()}


def can_be_tampered(action: Action) -> bool:
    """Whether an action states values, so that it can be made wrong; asking for one states none."""
    return bool(action.values) and action.act not in _NOT_TAMPERED


def tamper(turn: Turn, index: int, pool: ValuePool, seed: int = 0) -> Action | None:
    """Replace every value of a turn's action by a wrong one; None where there are too few.

    A wrong value is, of a true-or-false slot, the other one; of a categorical slot, another
    possible value; of `count`, another number from 1 to 10; else a value that the same slot of the
    service has elsewhere in the split or, where there is none, that a slot of this name has. It is
    never another form of a value that is right, nor one that stands in the utterance or in what the
    user said before. A SHA-256 of the seed, the turn and the action's index draws where among all
    sorted values to begin, so that the draw depends neither on other turns nor on the machine.
    """
    action = turn.actions[index]
    digest = hashlib.sha256(f"{seed}\0{turn.turn_id}\0{index}".encode()).digest()
    draw = int.from_bytes(digest[:8])
    for values in _sources(turn, action, pool):
        start = draw % max(1, len(values))
        rotated = (values[(start + i) % len(values)] for i in range(len(values)))
        wrong = list(islice(_wrong_values(turn, action, rotated), len(action.values)))
        if len(wrong) == len(action.values):
            return msgspec.structs.replace(action, values=wrong, canonical_values=wrong)
    return None


def _sources(turn: Turn, action: Action, pool: ValuePool) -> Iterator[Values]:
    """Values to tamper an action with; the second ones where the first are too few."""
    slot = turn.slot(action)
    if slot and slot.is_categorical:
        possible_values = ("True", "False") if slot.is_boolean else slot.possible_values
        yield sorted((value, ()) for value in possible_values)
    elif action.act == "INFORM_COUNT":
        yield _COUNTS
    else:
        yield pool.by_service.get((action.service, action.slot), ())
        yield pool.by_slot.get(action.slot, ())


def _wrong_values(
    turn: Turn, action: Action, values: Iterable[tuple[str, Collection[str]]]
) -> Iterator[str]:
    """Those of some values that are wrong for an action and do not stand in the text around it."""
    right = {value.lower() for value in (*action.values, *_canonical(action))}
    nearby_text = f"{turn.utterance}\n{turn.prompt}"
    for value, canonical in values:
        is_right = right.intersection((value.lower(), *map(str.lower, canonical)))
        is_nearby = contains(nearby_text, value) and contains_words(nearby_text, value)
        if not is_right and not is_nearby:
            yield value


def _canonical(action: Action) -> list[str]:
    """The canonical form of each value; the value itself where the action has none."""
    has_canonical = len(action.canonical_values) == len(action.values)
    return action.canonical_values if has_canonical else action.values
