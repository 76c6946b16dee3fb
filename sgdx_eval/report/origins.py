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
    "A value has one source, which is the first of these that applies. It is dontcare in the "
    "reference. The user says one of its spoken forms word for word in the turn in which the "
    "slot takes it. The state of another service had it in an earlier turn. The system said it "
    "in an earlier turn. The user said it in an earlier turn. Otherwise nobody says it word for "
    "word, as with most yes-or-no values."
)
_USER, _SYSTEM, _OTHER, _DONTCARE, _NOBODY = range(len(ORIGINS))


class ReferenceState(NamedTuple):
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


def read_states(references: pa.Table) -> list[ReferenceState]:
    """The reference states of frame rows, in the order of dialogues and turns."""
    rows = zip(references["frame_id"].to_pylist(), references["slot_values"].to_pylist())
    states = []
    for position, (frame_id, slot_values) in enumerate(rows):
        dialogue, turn, service = frame_id.rsplit("/", 2)
        values = {item["slot"]: item["values"] for item in slot_values}
        states.append(ReferenceState(position, dialogue, int(turn), service, values))
    return sorted(states, key=lambda state: (state.dialogue, state.turn, state.service))


def value_origins(
    states: Sequence[ReferenceState], turns: Mapping[str, Turns]
) -> dict[int, list[int]]:
    """Who said each value of each state, by ``RULE``.

    Args:
        states: What ``read_states`` returned.
        turns: The turns of every dialogue, by its id.

    Returns:
        For the position of each frame, the origin of each slot of its state, as a position in
        ``ORIGINS``, in the order of the state.
    """
    origins: dict[int, list[int]] = {}
    held: dict[tuple[str, str], _Held] = {}  # by service and slot
    history: list[tuple[int, str, str]] = []  # turn, service and value of all states so far
    dialogue = ""
    for state in states:
        if state.dialogue != dialogue:
            dialogue, held, history = state.dialogue, {}, []
        heard = [(who, _words(text)) for who, text in turns.get(dialogue, [])[: state.turn + 1]]
        now: dict[tuple[str, str], _Held] = {}
        for slot, values in state.values.items():
            before = held.get((state.service, slot))
            if before is not None and before.values & set(values):
                origin = before.origin  # the value is the same, so it was said when it was new
            else:
                origin = _origin(values, state, heard, history)
            now[state.service, slot] = _Held(set(values), origin)
            history += [(state.turn, state.service, value) for value in values]
        # What the service held before and holds no longer is new when it comes again.
        held = {key: slot for key, slot in held.items() if key[0] != state.service} | now
        origins[state.position] = [slot.origin for slot in now.values()]
    return origins


class _Held(NamedTuple):
    """The value that a slot has: its spoken variants, and who said it."""

    values: set[str]
    origin: int


def _origin(
    values: Sequence[str],
    state: ReferenceState,
    heard: Sequence[tuple[str, str]],
    history: Sequence[tuple[int, str, str]],
) -> int:
    """Who said a value that a slot takes in this state's turn.

    Args:
        values: The spoken variants of the value.
        state: The state.
        heard: The speaker and the words of each turn up to this one.
        history: The turn, service and value of the dialogue's states up to this one.
    """
    if "dontcare" in values[:1]:
        return _DONTCARE
    phrases = {words for value in values if (words := _words(value)) != "  "}
    if heard and any(phrase in heard[-1][1] for phrase in phrases):
        return _USER
    others = {v for turn, service, v in history if service != state.service and turn < state.turn}
    if others & set(values):
        return _OTHER
    for speaker, origin in (("SYSTEM", _SYSTEM), ("USER", _USER)):
        if any(phrase in text for who, text in heard if who == speaker for phrase in phrases):
            return origin
    return _NOBODY


@cache
def _words(text: str) -> str:
    """The words of a text in lower case, each between spaces, so that whole words are found."""
    words = re.findall(r"[^\W_]+", text.lower())
    return f" {' '.join(words)} "


def slot_origins(
    states: Sequence[ReferenceState],
    origins: Mapping[int, Sequence[int]],
    slot_names: Mapping[str, Sequence[str]],
    slot_frame: Ints,
) -> Ints:
    """Who said each slot's value, laid out as the slots of all frames.

    Args:
        states: What ``read_states`` returned.
        origins: What ``value_origins`` returned.
        slot_names: The slots of each service's schema in the states' words, by original name.
        slot_frame: The position of each slot's frame, as in ``SlotLayout`` [slots of all frames].

    Returns:
        Positions in ``ORIGINS``, -1 for a slot without a value [slots of all frames].
    """
    positions = {
        service: {name: i for i, name in enumerate(names)} for service, names in slot_names.items()
    }
    laid_out = np.full(len(slot_frame), -1)
    for state in states:
        position = positions[state.service]
        first_slot = np.searchsorted(slot_frame, state.position)
        for slot, origin in zip(state.values, origins[state.position]):
            if slot in position:
                laid_out[first_slot + position[slot]] = origin
    return laid_out
