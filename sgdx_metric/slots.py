"""Every schema slot of every frame: what it scores and whether it counts as active."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import (
    Bools,
    Coded,
    Floats,
    Index,
    Ints,
    SlotValues,
    encode,
    encode_alike,
    integers,
)
from .errors import ScoreError
from .fuzzy import fuzzy_scores

_FRAME_ID = "^(?P<dialogue>.*)/(?P<turn>[0-9]{1,9})/(?P<service>[^/]*)$"


class SchemaSlots:
    """The slots of the frames' schemas, end to end: frame, name, is categorical [slots]."""

    def __init__(self, frame: Ints, name: pa.Array, categorical: Bools, frame_id: pa.Array) -> None:
        """Lay out the slots of frames; a frame's schema may have a slot once."""
        self.frame, self.name, self.categorical = frame, encode(name), categorical
        # A slot of a frame is known by one number, so that it is found among sorted numbers.
        self._index = Index(frame * len(self.name.distinct) + self.name.code)
        _check_once(self._index, frame, self.name, frame_id, "schema")

    def find(self, frame: Ints, name: Coded) -> Ints:
        """The position of the slots of names in frames' schemas; -1 where there is none [slots]."""
        position = integers(pc.index_in(name.distinct, value_set=self.name.distinct))
        known = position[name.code]
        slot = self._index.locate(frame * len(self.name.distinct) + known)
        return np.where((frame >= 0) & (known >= 0), slot, -1)


# `pa.array` would import pandas here, before the command has it left out (`__main__`).
_NO_TEXTS = pa.nulls(0, pa.string())
_NO_NUMBERS = np.zeros(0, np.int64)
_NONE = SlotValues(_NO_NUMBERS, Coded(_NO_TEXTS, _NO_NUMBERS), _NO_NUMBERS, _NO_TEXTS)


@dataclass(frozen=True)
class SlotScores:
    """What the slots of the frames' schemas score, each [schema slots of all frames]."""

    score: Floats
    # The same where a value that is a canonical one of the reference is right too.
    canonical: Floats
    # Whether the reference gives the slot a value, and whether either side changes it.
    active: Bools
    changed: Bools
    # How many predicted slots are unknown to their schema.
    ignored: int


def score_slots(
    schema: SchemaSlots,
    reference: SlotValues,
    predicted: SlotValues,
    frame_id: pa.Array,
    use_fuzzy_match: bool = True,
    previous: Ints | None = None,
    canonical: SlotValues = _NONE,
) -> SlotScores:
    """Compare the predicted with the reference state, slot by slot of the schema.

    A slot scores 1 where neither side has a value, and 0 where only one side has. Where both have
    values, a categorical slot scores 1 if their first values are equal, and else 0; a free-form
    slot scores the best fuzzy match of the first predicted value with any of the reference's spoken
    variants, or, without fuzzy match, 1 if it equals one of them and else 0. Predicted slots that
    the schema lacks are ignored.
    """
    for side, values in (("reference", reference), ("prediction", predicted)):
        _check_values(values, frame_id, side)

    # From assignments to slots (`_at`) and back (`_of`); -1 where there is no partner.
    count = len(schema.frame)
    reference_at = schema.find(reference.frame, reference.slot)
    predicted_at = schema.find(predicted.frame, predicted.slot)
    reference_of, predicted_of = _invert(reference_at, count), _invert(predicted_at, count)
    active = reference_of >= 0

    score = np.where(active | (predicted_of >= 0), 0.0, 1.0)
    texts = reference.value, predicted.value, canonical.value
    vocabulary, (reference_code, predicted_code, canonical_code) = encode_alike(*texts)
    # The appended -1 is what an index of -1, a slot without a predicted value, points at.
    predicted_first = predicted_code[predicted.first()]
    hypothesis = np.append(predicted_first, -1)[predicted_of]
    both = active & (predicted_of >= 0)

    exact = np.flatnonzero(both & schema.categorical)
    truth = reference_code[reference.first()]
    score[exact] = truth[reference_of[exact]] == hypothesis[exact]

    # Every spoken variant of a free-form slot is compared on its own; the best score counts.
    slot = reference_at[reference.parent]
    spoken = np.flatnonzero(np.append(both & ~schema.categorical, False)[slot])
    left, right = reference_code[spoken], hypothesis[slot[spoken]]
    match = fuzzy_scores(vocabulary.to_pylist(), left, right) if use_fuzzy_match else left == right
    np.maximum.at(score, slot[spoken], match)

    with_canonical = score.copy()
    canonical_at = schema.find(canonical.frame, canonical.slot)[canonical.parent]
    is_canonical = (canonical_at >= 0) & (canonical_code == hypothesis[canonical_at])
    with_canonical[canonical_at[is_canonical]] = 1.0

    none = np.full(len(frame_id), -1)
    following = none if previous is None else _invert(previous, len(previous))
    reference_after = schema.find(following[reference.frame], reference.slot)
    predicted_after = schema.find(following[predicted.frame], predicted.slot)
    changed = changed_slots(reference_after[reference.parent], slot, reference_code, count)
    changed |= changed_slots(predicted_after, predicted_at, predicted_first, count)
    return SlotScores(score, with_canonical, active, changed, int(np.sum(predicted_at < 0)))


def _invert(at: Ints, length: int) -> Ints:
    """The index in `at` that holds each number below `length`; -1 where none does [length]."""
    inverse = np.full(length, -1)
    defined = np.flatnonzero(at >= 0)
    inverse[at[defined]] = defined
    return inverse


def _check_once(index: Index, frame: Ints, slot: Coded, frame_id: pa.Array, side: str) -> None:
    """Raise ScoreError if a frame has a slot twice: if two slots of it share a key [slots]."""
    where = index.repeated()
    if where is not None:
        name = slot.distinct[int(slot.code[where])]
        raise ScoreError(
            f"{side} of frame {frame_id[int(frame[where])]} has the slot '{name}' twice"
        )


def _check_values(values: SlotValues, frame_id: pa.Array, side: str) -> None:
    """Raise ScoreError if a frame has a slot twice, or without a value."""
    slot = values.slot
    index = Index(values.frame * len(slot.distinct) + slot.code)
    _check_once(index, values.frame, slot, frame_id, side)
    empty = np.flatnonzero(np.bincount(values.parent, minlength=len(slot.code)) == 0)
    if len(empty):
        where = int(empty[0])
        raise ScoreError(
            f"{side} of frame {frame_id[int(values.frame[where])]} has the slot "
            f"'{slot.distinct[int(slot.code[where])]}' without a value, expected one at least"
        )


def previous_frames(frame_id: pa.Array) -> Ints:
    """The last frame before of the same dialogue and service; -1 for none [frames]."""
    return _previous(tuple(frame_id.to_pylist()))


@lru_cache(maxsize=1)  # The variants of a split have the same frames.
def _previous(frame_ids: tuple[str, ...]) -> Ints:
    frame_id = pa.array(frame_ids, pa.string())
    parts = pc.extract_regex(frame_id, _FRAME_ID)
    dialogue, turn, service = (pc.struct_field(parts, name) for name in range(3))
    series = pc.binary_join_element_wise(dialogue, service, "/").dictionary_encode().indices
    code = integers(series)
    order = np.lexsort((integers(turn), code))
    follows = (code[order][1:] == code[order][:-1]) & (code[order][1:] >= 0)
    previous = np.full(len(frame_id), -1)
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
    values = Index(slot[known] * width + value[known])
    stays = values.locate(after[kept] * width + value[kept]) >= 0
    has_value, had_value, keeps_value = (
        np.bincount(slots, minlength=count) > 0
        for slots in (slot[known], after[kept], after[kept][stays])
    )
    return np.asarray(np.where(has_value, ~keeps_value, had_value))
