"""Every schema slot of every frame: what it scores and whether it counts as active."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import Bools, Floats, Ints, encode_alike, explode, flags, integers, search, strings
from .errors import ScoreError
from .fuzzy import fuzzy_scores


class SlotValues(NamedTuple):
    """The values of many frames' slots, laid end to end."""

    # The frame and the name of each slot that has values [assigned slots].
    frame: Ints
    slot: pa.Array
    # Which of these slots each value is of, in order, and the value [values].
    parent: Ints
    value: pa.Array


class SchemaSlots:
    """The slots of the frames' schemas, laid end to end: frame, name, is categorical [slots]."""

    def __init__(self, schemas: pa.Array, frame_id: pa.Array) -> None:
        """Lay out the column `schema_slots` of frames; a schema may have a slot once."""
        self.frame, slots = explode(schemas)
        self.name = strings(pc.struct_field(slots, "name"))
        self.categorical: Bools = flags(pc.struct_field(slots, "is_categorical"))
        self._distinct = self.name.unique()
        # A slot of a frame is one number, by which it is found.
        key = self.frame * len(self._distinct) + self.code(self.name)
        self._order = np.argsort(key, kind="stable")
        self._ascending = key[self._order]
        _check_once(self._ascending, self._order, self.frame, self.name, frame_id, "schema")

    def code(self, name: pa.Array) -> Ints:
        """The positions of names among the distinct ones of all schemas; -1 of unknown ones."""
        return integers(pc.index_in(name, value_set=self._distinct))

    def find(self, frame: Ints, name: pa.Array) -> Ints:
        """The position of the slots of names in frames' schemas; -1 where there is none [slots].

        A frame of -1 has no slots.
        """
        code = self.code(name)
        key = np.where((frame >= 0) & (code >= 0), frame * len(self._distinct) + code, -1)
        position = search(self._ascending, key)
        return np.where(position < 0, -1, np.append(self._order, -1)[position])


class SlotScores(NamedTuple):
    """What the slots of the frames' schemas score, each [schema slots of all frames]."""

    score: Floats
    # The same where a value that is a canonical one of the reference is right too.
    canonical: Floats
    # Whether the reference gives the slot a value, and whether either side changes it.
    active: Bools
    changed: Bools
    # How many predicted slots are unknown to their schema.
    ignored: int


def slot_values(states: pa.Array, frame_id: pa.Array, side: str) -> SlotValues:
    """Lay out a column of states, such as `slot_values`; each slot there once, and with a value."""
    # Two explosions: states into slots, and those into values.
    frame, slots = explode(states)
    name = strings(pc.struct_field(slots, "slot"))
    parent, values = explode(pc.struct_field(slots, "values"))
    names = name.dictionary_encode()
    key = frame * len(names.dictionary) + integers(names.indices)
    order = np.argsort(key, kind="stable")
    _check_once(key[order], order, frame, name, frame_id, side)
    empty = np.flatnonzero(np.bincount(parent, minlength=len(name)) == 0)
    if len(empty):
        where = int(empty[0])
        raise ScoreError(
            f"{side} of frame {frame_id[int(frame[where])]} has the slot '{name[where]}' without "
            "a value, expected one at least"
        )
    return SlotValues(frame, name, parent, strings(values))


def _check_once(
    ascending: Ints, order: Ints, frame: Ints, name: pa.Array, frame_id: pa.Array, side: str
) -> None:
    """Raise ScoreError if a frame has a slot twice, of which a number stands for both [slots]."""
    again = np.flatnonzero(ascending[1:] == ascending[:-1])
    if len(again):
        where = int(order[again[0] + 1])
        raise ScoreError(
            f"{side} of frame {frame_id[int(frame[where])]} has the slot '{name[where]}' twice"
        )


def score_slots(
    schema: SchemaSlots,
    reference: SlotValues,
    predicted: SlotValues,
    use_fuzzy_match: bool = True,
    previous: Ints | None = None,
    canonical: SlotValues | None = None,
) -> SlotScores:
    """Compare the predicted with the reference state, slot by slot of the schema.

    A slot scores 1 where neither side has a value, and 0 where only one side has. Where both have
    values, a categorical slot scores 1 if their first values are equal, and else 0; a free-form
    slot scores the best fuzzy match of the first predicted value with any of the reference's spoken
    variants, or, without fuzzy match, 1 if it equals one of them and else 0. Predicted slots that
    the schema lacks are ignored.

    Args:
        previous: The frame before of the same dialogue and service; -1 for none [frames]. Without
            it no slot counts as changed.
        canonical: The values that are right too, in `SlotScores.canonical` alone.
    """
    # Where each slot that has values is in the schema, and back; -1 where there is no partner.
    count = len(schema.frame)
    reference_at = schema.find(reference.frame, reference.slot)
    predicted_at = schema.find(predicted.frame, predicted.slot)
    reference_of, predicted_of = _invert(reference_at, count), _invert(predicted_at, count)
    active = reference_of >= 0
    both = active & (predicted_of >= 0)
    score = np.where(active | (predicted_of >= 0), 0.0, 1.0)

    also_right = canonical.value if canonical else pa.nulls(0, pa.string())
    texts = reference.value, predicted.value, also_right
    vocabulary, (reference_code, predicted_code, canonical_code) = encode_alike(*texts)
    # The first value decides. The appended -1 is what a slot without a predicted value points at.
    truth, predicted_first = (
        code[np.flatnonzero(np.diff(side.parent, prepend=-1))]
        for side, code in ((reference, reference_code), (predicted, predicted_code))
    )
    hypothesis = np.append(predicted_first, -1)[predicted_of]
    exact = np.flatnonzero(both & schema.categorical)
    score[exact] = truth[reference_of[exact]] == hypothesis[exact]

    # Every spoken variant of a free-form slot is compared on its own; the best score counts.
    slot = reference_at[reference.parent]
    spoken = np.flatnonzero(np.append(both & ~schema.categorical, False)[slot])
    left, right = reference_code[spoken], hypothesis[slot[spoken]]
    match = fuzzy_scores(vocabulary.to_pylist(), left, right) if use_fuzzy_match else left == right
    np.maximum.at(score, slot[spoken], match)

    with_canonical = score.copy()
    if canonical:
        canonical_at = schema.find(canonical.frame, canonical.slot)[canonical.parent]
        known = np.flatnonzero(canonical_at >= 0)
        at, code = canonical_at[known], canonical_code[known]
        with_canonical[at[code == hypothesis[at]]] = 1.0

    changed = np.zeros(count, dtype=bool)
    if previous is not None:
        # A value's slot in the frame that follows tells what the slot had before.
        following = _invert(previous, len(previous))
        after = schema.find(following[reference.frame], reference.slot)[reference.parent]
        predicted_after = schema.find(following[predicted.frame], predicted.slot)
        changed = changed_slots(after, slot, reference_code, count)
        changed |= changed_slots(predicted_after, predicted_at, predicted_first, count)
    return SlotScores(score, with_canonical, active, changed, int(np.sum(predicted_at < 0)))


def _invert(at: Ints, length: int) -> Ints:
    """The index in `at` that holds each number below `length`; -1 where none does [length]."""
    inverse = np.full(length, -1)
    defined = np.flatnonzero(at >= 0)
    inverse[at[defined]] = defined
    return inverse


@lru_cache(maxsize=1)  # The variants of a split have the same frames.
def previous_frames(frame_ids: tuple[str, ...]) -> Ints:
    """The last frame before of the same dialogue and service; -1 for none [frames]."""
    parts = pc.extract_regex(
        pa.array(frame_ids, pa.string()),
        "^(?P<dialogue>.*)/(?P<turn>[0-9]{1,9})/(?P<service>[^/]*)$",
    )
    dialogue, turn, service = (pc.struct_field(parts, name) for name in range(3))
    series = pc.binary_join_element_wise(dialogue, service, "/").dictionary_encode().indices
    code = integers(series)
    order = np.lexsort((integers(turn), code))
    follows = (code[order][1:] == code[order][:-1]) & (code[order][1:] >= 0)
    previous = np.full(len(frame_ids), -1)
    previous[order[1:][follows]] = order[:-1][follows]
    return previous


def changed_slots(after: Ints, slot: Ints, value: Ints, count: int) -> Bools:
    """Whether one side, the reference or the prediction, changes each slot of the schema [slots].

    What is scored of changes alone counts an early mistake once and not in every later turn. It is
    published as turn match (Dey et al. 2022, "Towards Fair Evaluation of Dialogue State Tracking by
    Flexible Incorporation of Turn-level Performances", arXiv 2204.03375).

    A slot changes where it gets a value, loses its value, or has none of the values that it had in
    the frame before. A reference lists every spoken variant of a value, so that one more variant is
    no change. `after` is the same slot in the next frame, `slot` the value's own; -1 for none, and
    `value` a code that equal values share [values] each.
    """
    known, kept = slot >= 0, after >= 0
    # A value and its slot are one number.
    width = 1 + int(value.max(initial=0))
    values = np.sort(slot[known] * width + value[known])
    stays = search(values, after[kept] * width + value[kept]) >= 0
    has_value, had_value, keeps_value = (
        np.bincount(slots, minlength=count) > 0
        for slots in (slot[known], after[kept], after[kept][stays])
    )
    return np.asarray(np.where(has_value, ~keeps_value, had_value))
