"""Tampered actions: the same dialogue action with wrong values, which no utterance may entail.

A turn whose gold utterance seems to entail a tampered action shows that the model of entailment
cannot be relied on there. The paper says of tampered actions only that slot values are incorrect;
how the values are drawn here is our own choice.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec

from .rows import Action, Turn
from .ser import contains, contains_words

# Values, sorted, each with the canonical values that it may stand for.
Values = Sequence[tuple[str, Collection[str]]]
_COUNTS: Values = sorted((str(number), ()) for number in range(1, 11))


@dataclass(frozen=True)
class ValuePool:
    """The values that a split's turns have, from which wrong ones are drawn."""

    values: Mapping[tuple[str, ...], Values]  # by (service, slot), and by (slot,)

    @classmethod
    def from_turns(cls, turns: Iterable[Turn]) -> "ValuePool":
        """Collect the values of all actions of a split's turns, which may come in any order."""
        found: dict[tuple[str, ...], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for action in (action for turn in turns for action in turn.actions):
            for value, canonical in zip(action.values, _canonical(action), strict=True):
                found[action.service, action.slot][value].add(canonical)
                found[action.slot,][value].add(canonical)
        return cls({key: sorted(canonical_of.items()) for key, canonical_of in found.items()})


def tamper(turn: Turn, index: int, pool: ValuePool, seed: int = 0) -> Action | None:
    """Replace every value of a turn's action by a wrong one; None where there are too few.

    An action that states no value has no wrong one: requests and offers of intents state none.
    A wrong value is, of a categorical slot, another possible value; of `count`, another number from
    1 to 10; else a value that the same slot of the service has elsewhere in the split or, where
    there is none, that a slot of this name has. It is never another form of a value that is right,
    nor one that stands in the utterance or in what the user said before. A SHA-256 of the seed, the
    turn and the action's index draws where among all sorted values to begin, so that the draw
    depends neither on other turns nor on the machine.
    """
    action = turn.actions[index]
    if not action.values or action.act in ("REQUEST", "OFFER_INTENT"):
        return None
    slot = turn.slot(action)
    sources: list[Values]
    if slot and slot.is_categorical:
        sources = [sorted((value, ()) for value in slot.possible_values)]
    elif action.act == "INFORM_COUNT":
        sources = [_COUNTS]
    else:
        keys = (action.service, action.slot), (action.slot,)
        sources = [pool.values.get(key, ()) for key in keys]
    right = {value.lower() for value in (*action.values, *_canonical(action))}
    nearby = f"{turn.utterance}\n{turn.prompt}"
    draw = int.from_bytes(hashlib.sha256(f"{seed}\0{turn.turn_id}\0{index}".encode()).digest()[:8])
    for values in sources:
        rotated = (values[(draw + i) % len(values)] for i in range(len(values)))
        possible = (
            value
            for value, canonical in rotated
            if right.isdisjoint((value.lower(), *map(str.lower, canonical)))
            and not (contains(nearby, value) and contains_words(nearby, value))
        )
        wrong = list(islice(possible, len(action.values)))
        if len(wrong) == len(action.values):
            return msgspec.structs.replace(action, values=wrong, canonical_values=wrong)
    return None


def _canonical(action: Action) -> list[str]:
    """The canonical form of each value; the value itself where the action has none."""
    has_canonical = len(action.canonical_values) == len(action.values)
    return action.canonical_values if has_canonical else action.values
