"""Tampered actions: the same dialogue action with wrong values, which no utterance may entail.

They serve to tell turns on which the entailment model can be relied on from others. The paper says
of them no more than that slot values are incorrect; how they are drawn here is our own choice.
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
class Pool:
    """The values that a split's turns have, from which wrong ones are drawn.

    Attributes:
        by_service: The values of each service's slots.
        by_slot: The values of all slots of a name, of whichever service.
    """

    by_service: Mapping[tuple[str, str], Values]
    by_slot: Mapping[str, Values]

    @classmethod
    def of(cls, turns: Iterable[Turn]) -> "Pool":
        """Collect the values of all actions of a split's turns, which may come in any order."""
        by_service: dict[Any, dict[str, set[str]]] = defaultdict(dict)
        by_slot: dict[Any, dict[str, set[str]]] = defaultdict(dict)
        for turn in turns:
            for action in turn.actions:
                own, every = by_service[action.service, action.slot], by_slot[action.slot]
                for value, canonical in zip(action.values, _canonical(action), strict=True):
                    own.setdefault(value, set()).add(canonical)
                    every.setdefault(value, set()).add(canonical)
        return cls(*({key: sorted(of[key].items()) for key in of} for of in (by_service, by_slot)))


def is_tampered(action: Action) -> bool:
    """Whether there should be a tampered action: one with values that are stated, not asked."""
    return bool(action.values) and action.act not in _NOT_TAMPERED


def tampered(turn: Turn, index: int, pool: Pool, seed: int = 0) -> Action | None:
    """The action of a turn with every value replaced by a wrong one.

    A wrong value is, of a true-or-false slot, the other one; of a categorical slot, another
    possible value; of `count`, another number from 1 to 10; else a value that the same slot of the
    service has elsewhere in the split or, where there is none, that a slot of this name has. It is
    never another form of a value that is right, nor one that stands in the utterance or in what the
    user said before. A SHA-256 of the seed, the turn and the place of the action draws where among
    all sorted values to begin, and the first wrong ones from there on are taken: the draw depends
    on nothing else.

    Args:
        turn: The turn.
        index: The place of the action among the turn's actions.
        pool: The values of the split.
        seed: The random seed.

    Returns:
        The tampered action; None where there are fewer wrong values than are needed.
    """
    action = turn.actions[index]
    digest = hashlib.sha256(f"{seed}\0{turn.turn_id}\0{index}".encode()).digest()
    draw = int.from_bytes(digest[:8])
    for values in _sources(turn, action, pool):
        start = draw % max(1, len(values))
        ordered = (values[(start + i) % len(values)] for i in range(len(values)))
        wrong = list(islice(_wrong(turn, action, ordered), len(action.values)))
        if len(wrong) == len(action.values):
            return msgspec.structs.replace(action, values=wrong, canonical_values=wrong)
    return None


def _sources(turn: Turn, action: Action, pool: Pool) -> Iterator[Values]:
    """The values that an action could be tampered with; the second where the first do not do."""
    slot = turn.slot(action)
    if slot and slot.is_categorical:
        known = ("True", "False") if slot.is_boolean else slot.possible_values
        yield sorted((value, ()) for value in known)
    elif action.act == "INFORM_COUNT":
        yield _COUNTS
    else:
        yield pool.by_service.get((action.service, action.slot), ())
        yield pool.by_slot.get(action.slot, ())


def _wrong(
    turn: Turn, action: Action, values: Iterable[tuple[str, Collection[str]]]
) -> Iterator[str]:
    """Those of some values that are wrong for an action and not said around it."""
    right = {value.lower() for value in (*action.values, *_canonical(action))}
    said = f"{turn.utterance}\n{turn.prompt}"
    for value, canonical in values:
        same = right.intersection((value.lower(), *map(str.lower, canonical)))
        if not same and not (contains(said, value) and contains_words(said, value)):
            yield value


def _canonical(action: Action) -> list[str]:
    """The canonical form of each value; the value itself where the action has none."""
    same = len(action.canonical_values) == len(action.values)
    return action.canonical_values if same else action.values
