"""Who said a slot's value first: the user, the system, another service's state, or nobody."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sgdx_eval.references import Turns

ORIGINS = ("the user", "the system", "another service", "dontcare", "nobody, word for word")
RULE = (
    "A value has one source, which is the first of these that applies. It is dontcare in the "
    "reference. The user says one of its spoken forms word for word in the turn in which the "
    "slot takes it. The state of another service had it in an earlier turn. The system said it "
    "in an earlier turn. The user said it in an earlier turn. Otherwise nobody says it word for "
    "word, as with most yes-or-no values."
)
_USER, _SYSTEM, _OTHER, _DONTCARE, _NOBODY = range(len(ORIGINS))


class State(NamedTuple):
    """The reference state of a frame."""

    # The position of the frame among those that were scored.
    frame: int
    turn: int
    # The original name of the service.
    service: str
    # The spoken variants of each slot's value.
    values: Mapping[str, Sequence[str]]


def read_states(
    frame_ids: Iterable[str], slot_values: Iterable[Iterable[Mapping[str, Sequence[str]]]]
) -> dict[str, list[State]]:
    """The states of each dialogue, by its id, in the order of turns and services."""
    states: dict[str, list[State]] = {}
    for frame, (frame_id, listed) in enumerate(zip(frame_ids, slot_values)):
        dialogue_id, turn, service = frame_id.rsplit("/", 2)
        values = {str(item["slot"]): item["values"] for item in listed}
        states.setdefault(dialogue_id, []).append(State(frame, int(turn), service, values))
    for of_dialogue in states.values():
        of_dialogue.sort(key=lambda state: (state.turn, state.service))
    return states


def values_elsewhere(states: Sequence[State], service: str, before_turn: int) -> set[str]:
    """The values that other services of a dialogue have before a turn."""
    return {
        value
        for state in states
        if state.service != service and state.turn < before_turn
        for spoken in state.values.values()
        for value in spoken
    }


def find_origins(states: Sequence[State], turns: Turns) -> dict[tuple[int, str], int]:
    """Who said each value of a dialogue's states: positions in ``ORIGINS`` by frame and slot."""
    heard = [(speaker, _words(utterance)) for speaker, utterance in turns]
    origins: dict[tuple[int, str], int] = {}
    previous: dict[str, State] = {}  # the state of each service's frame before
    for state in states:
        before = previous.get(state.service)
        for slot, values in state.values.items():
            if before and set(before.values.get(slot, ())) & set(values):
                # The value is the same, so it was said when it was new.
                origin = origins[before.frame, slot]
            else:
                origin = _origin(values, state, states, heard[: state.turn + 1])
            origins[state.frame, slot] = origin
        previous[state.service] = state
    return origins


def _origin(
    values: Sequence[str], new_in: State, states: Sequence[State], heard: Sequence[tuple[str, str]]
) -> int:
    """Who said a value, of which there are spoken variants; ``heard`` ends with its turn."""
    if "dontcare" in values[:1]:
        return _DONTCARE
    phrases = {words for value in values if (words := _words(value)) != "  "}
    if heard and any(phrase in heard[-1][1] for phrase in phrases):
        return _USER
    if values_elsewhere(states, new_in.service, new_in.turn) & set(values):
        return _OTHER
    for speaker, origin in (("SYSTEM", _SYSTEM), ("USER", _USER)):
        if any(phrase in text for who, text in heard if who == speaker for phrase in phrases):
            return origin
    return _NOBODY


def _words(text: str) -> str:
    """The words of a text in lower case, each between spaces, so that whole words are found."""
    words = re.findall(r"[^\W_]+", text.lower())
    return f" {' '.join(words)} "
