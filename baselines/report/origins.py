"""Who said a slot's value first: the user, the system, another service's state, or nobody."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sgdx_metric.columns import Ints

from .data import Turns

ORIGINS = ("the user", "the system", "another service", "dontcare", "nobody, word for word")
RULE = (
    "A value counts as dontcare where the reference says so; else as the user's where the user "
    "says one of its spoken variants word for word in the turn in which the slot takes it; else "
    "as another service's where a state of another service of the dialogue had it in an earlier "
    "turn; else as the system's where an earlier system turn says it; else as the user's where an "
    "earlier user turn says it; else nobody says it word for word, as with most yes-or-no values."
)
_USER, _SYSTEM, _OTHER, _DONTCARE, _NOBODY = range(len(ORIGINS))


class FrameState(NamedTuple):
    """The reference state of a frame.

    Attributes:
        position: The frame's position among the frames that were scored.
        dialogue: The id of the dialogue.
        turn: The index of the turn in the dialogue.
        service: The original name of the service.
        values: The spoken variants of each slot's value.
    """

    position: int
    dialogue: str
    turn: int
    service: str
    values: Mapping[str, Sequence[str]]


def read_states(references: pa.Table) -> list[FrameState]:
    """The reference states of frame rows, in the order of dialogues and turns."""
    rows = zip(references["frame_id"].to_pylist(), references["slot_values"].to_pylist())
    states = []
    for position, (frame_id, slot_values) in enumerate(rows):
        dialogue, turn, service = frame_id.rsplit("/", 2)
        values = {item["slot"]: item["values"] for item in slot_values}
        states.append(FrameState(position, dialogue, int(turn), service, values))
    return sorted(states, key=lambda one: (one.dialogue, one.turn, one.service))


def value_origins(states: Sequence[FrameState], turns: Mapping[str, Turns]) -> dict[int, list[int]]:
    """Who said each value of each state, by ``RULE``.

    Args:
        states: What ``read_states`` returned.
        turns: The turns of every dialogue, by its id.

    Returns:
        For the position of each frame, a position in ``ORIGINS`` for each slot of its state, in the
        order of the state.
    """
    found: dict[int, list[int]] = {}
    held: dict[tuple[str, str], tuple[set[str], int]] = {}  # by service and slot: values, origin
    seen: list[tuple[int, str, str]] = []  # turn, service and value
    dialogue = ""
    for state in states:
        if state.dialogue != dialogue:
            dialogue, held, seen = state.dialogue, {}, []
        said = [(who, _words(text)) for who, text in turns.get(dialogue, [])[: state.turn + 1]]
        now: dict[str, tuple[set[str], int]] = {}
        for slot, values in state.values.items():
            before, origin = held.get((state.service, slot), (set(), _NOBODY))
            if not before & set(values):
                origin = _origin(values, state, said, seen)
            now[slot] = set(values), origin
            seen += [(state.turn, state.service, value) for value in values]
        held = {key: kept for key, kept in held.items() if key[0] != state.service}
        held |= {(state.service, slot): kept for slot, kept in now.items()}
        found[state.position] = [origin for _, origin in now.values()]
    return found


def _origin(
    values: Sequence[str],
    state: FrameState,
    said: Sequence[tuple[str, str]],
    seen: Sequence[tuple[int, str, str]],
) -> int:
    """Who said a value that a slot takes in this state's turn."""
    if "dontcare" in values[:1]:
        return _DONTCARE
    wanted = {words for value in values if (words := _words(value)) != "  "}
    if said and any(one in said[-1][1] for one in wanted):
        return _USER
    others = {v for turn, service, v in seen if service != state.service and turn < state.turn}
    if others & set(values):
        return _OTHER
    for speaker, origin in (("SYSTEM", _SYSTEM), ("USER", _USER)):
        if any(one in text for who, text in said if who == speaker for one in wanted):
            return origin
    return _NOBODY


@cache
def _words(text: str) -> str:
    """The words of a text in lower case, each between spaces, so that whole words are found."""
    words = re.findall(r"[^\W_]+", text.lower())
    return f" {' '.join(words)} "


def slot_origins(
    states: Sequence[FrameState],
    origins: Mapping[int, Sequence[int]],
    slot_names: Mapping[str, Sequence[str]],
    first_slot: Ints,
    count: int,
) -> Ints:
    """Who said each slot's value, laid out as the slots of all frames.

    Args:
        states: What ``read_states`` returned.
        origins: What ``value_origins`` returned.
        slot_names: The slots of each service's schema in the states' words, by original name.
        first_slot: Where each frame's slots begin [frames].
        count: How many slots there are in all frames.

    Returns:
        Positions in ``ORIGINS``, -1 for a slot without a value [slots of all frames].
    """
    places = {
        service: {name: i for i, name in enumerate(names)} for service, names in slot_names.items()
    }
    found = np.full(count, -1)
    for state in states:
        of = places[state.service]
        for slot, origin in zip(state.values, origins[state.position]):
            if slot in of:
                found[first_slot[state.position] + of[slot]] = origin
    return found
