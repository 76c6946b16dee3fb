"""The canonical values of a state: what its spoken values are to an API, `2019-03-01` for a date.

A state has values as they were said. What they stand for is in the dialogue acts, which give each
value beside its canonical one. Values are matched through the whole dialogue up to a turn, as they
are carried from one service to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..release.dialogue import AnyFrame, Dialogue
from .arrays import list_array


class SaidValues(NamedTuple):
    """Values of dialogue acts, each with its canonical value."""

    turn: np.ndarray  # the turn of each value; turns of all dialogues are laid end to end [values]
    value: pa.StringArray  # as they were said [values]
    canonical: pa.StringArray  # [values]


class StateValues(NamedTuple):
    """Values of states."""

    turn: np.ndarray  # [values]
    assignment: np.ndarray  # that each value belongs to, never decreasing [values]
    value: pa.StringArray  # [values]
    assignments: int  # how many there are


def canonical_values(
    said: SaidValues, states: StateValues, dialogue_of_turn: np.ndarray
) -> pa.ListArray:
    """The canonical values of each assignment's values that are none of these [assignments]."""
    differs = pc.not_equal(said.value, said.canonical)
    turn_said = said.turn[differs.to_numpy(zero_copy_only=False)]
    texts = [said.value.filter(differs), said.canonical.filter(differs), states.value]
    encoded = pa.concat_arrays(texts).dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    value_said, canonical, value = np.split(codes, np.cumsum([len(text) for text in texts])[:-1])
    width = len(encoded.dictionary) + 1

    key_said = dialogue_of_turn[turn_said] * width + value_said
    order = np.argsort(key_said, kind="stable")
    key = dialogue_of_turn[states.turn] * width + value
    first = np.searchsorted(key_said[order], key, "left")
    counts = np.searchsorted(key_said[order], key, "right") - first
    # Each value of a state, once for each time that its dialogue has said it.
    repeated = np.repeat(np.arange(len(key)), counts)
    within = np.arange(len(repeated)) - np.repeat(np.cumsum(counts) - counts, counts)
    match = order[first[repeated] + within]
    before = turn_said[match] <= states.turn[repeated]
    pairs = np.unique(states.assignment[repeated[before]] * width + canonical[match[before]])
    new = pairs[~np.isin(pairs, states.assignment * width + value)]
    lengths = np.bincount(new // width, minlength=states.assignments)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return list_array(offsets, encoded.dictionary.take(pa.array(new % width)))


def of_dialogues(dialogues: Sequence[Dialogue[AnyFrame]]) -> pa.ListArray:
    """The canonical values of all slots that states of users' frames set, laid end to end."""
    turns = [turn for dialogue in dialogues for turn in dialogue.turns]
    acts = [
        (i, action)
        for i, turn in enumerate(turns)
        for frame in turn.frames
        for action in frame.actions
        if len(action.values) == len(action.canonical_values)
    ]
    said = SaidValues(
        np.repeat([i for i, _ in acts], [len(action.values) for _, action in acts]).astype(int),
        pa.array([value for _, action in acts for value in action.values], pa.string()),
        pa.array([value for _, action in acts for value in action.canonical_values], pa.string()),
    )
    assigned = [
        (i, values)
        for i, turn in enumerate(turns)
        for frame in turn.frames
        if frame.state is not None and turn.speaker == "USER"
        for values in frame.state.slot_values.values()
    ]
    lengths = [len(values) for _, values in assigned]
    states = StateValues(
        np.repeat([i for i, _ in assigned], lengths).astype(int),
        np.repeat(np.arange(len(assigned)), lengths),
        pa.array([value for _, values in assigned for value in values], pa.string()),
        len(assigned),
    )
    lengths_of_dialogues = [len(dialogue.turns) for dialogue in dialogues]
    return canonical_values(
        said, states, np.repeat(np.arange(len(dialogues)), lengths_of_dialogues)
    )


def of_turns(turn_lists: pa.ListArray) -> pa.ListArray:
    """The canonical values of all slots that the states in the turns set, laid end to end."""
    frame_lists = pc.struct_field(turn_lists.flatten(), "frames")
    frames = frame_lists.flatten()
    turn_of_frame = pc.list_parent_indices(frame_lists).to_numpy()
    action_lists = pc.struct_field(frames, "actions")
    actions = action_lists.flatten()
    turn_of_action = turn_of_frame[pc.list_parent_indices(action_lists).to_numpy()]
    value_lists, canonical_lists = (
        pc.struct_field(actions, name) for name in ("values", "canonical_values")
    )
    paired = pc.equal(value_lists.value_lengths(), canonical_lists.value_lengths())
    value_lists, canonical_lists = value_lists.filter(paired), canonical_lists.filter(paired)
    turn_of_action = turn_of_action[paired.to_numpy(zero_copy_only=False)]
    said = SaidValues(
        turn_of_action[pc.list_parent_indices(value_lists).to_numpy()],
        value_lists.flatten(),
        canonical_lists.flatten(),
    )
    assignment_lists = pc.struct_field(pc.struct_field(frames, "state"), "slot_values")
    values = pc.struct_field(assignment_lists.flatten(), "values")
    turn_of_assignment = turn_of_frame[pc.list_parent_indices(assignment_lists).to_numpy()]
    assignment = pc.list_parent_indices(values).to_numpy()
    states = StateValues(turn_of_assignment[assignment], assignment, values.flatten(), len(values))
    return canonical_values(said, states, pc.list_parent_indices(turn_lists).to_numpy())
