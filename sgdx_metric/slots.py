"""Every schema slot of every frame: what it scores and whether it counts as active."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .change import changed_slots
from .columns import Bools, Floats, Ints, SlotValues, encode, locate
from .fuzzy import fuzzy_scores
from .rows import ScoreError


@dataclass(frozen=True)
class SchemaSlots:
    """All slots of the frames' schemas, laid end to end.

    Attributes:
        frame: The position of each slot's frame [schema slots of all frames].
        name: The slots' names [schema slots of all frames].
        categorical: Whether a slot is categorical [schema slots of all frames].
    """

    frame: Ints
    name: pa.Array
    categorical: Bools

    def only(self, mask: Bools) -> "SchemaSlots":
        """Some of the slots."""
        return SchemaSlots(
            self.frame[mask], self.name.filter(pa.array(mask)), self.categorical[mask]
        )


# `pa.array` would import pandas here, before the command has it left out (`__main__`).
_NO_TEXTS = pa.nulls(0, pa.string())
_NONE = SlotValues(np.zeros(0, np.int64), _NO_TEXTS, np.zeros(0, np.int64), _NO_TEXTS)


@dataclass(frozen=True)
class SlotScores:
    """What the slots of the frames' schemas score.

    Attributes:
        score: The scores in [0, 1] [schema slots of all frames].
        active: Whether the reference gives the slot a value [schema slots of all frames].
        canonical: The scores where a predicted value that is a canonical one of the reference
            is right too [schema slots of all frames].
        changed: Whether the reference or the prediction changes the slot [schema slots of all
            frames].
        ignored: How many predicted slots are unknown to their schema.
    """

    score: Floats
    canonical: Floats
    active: Bools
    changed: Bools
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

    Args:
        schema: The slots of the frames' schemas.
        reference, predicted: The values of both sides.
        frame_id: The frames' ids, for the error message [frames].
        use_fuzzy_match: As in `Rules`.
        previous: What `previous_frames` returned [frames]; None where no frame follows another.
        canonical: What values of the reference are to the API, beside the values themselves.

    Raises:
        ScoreError: A frame assigns the same slot twice or without a value, or its schema has a slot
            twice. The official scorer stops at a slot without a value, or counts it as wrong.
    """
    # A slot of a frame is known by one number, frame * width + name, so that joining the schema's
    # slots with the assignments of both states is a search among sorted numbers.
    _, names = encode(schema.name, reference.slot, predicted.slot, canonical.slot)
    width = 1 + max((int(codes.max()) for codes in names if len(codes)), default=0)
    slot_key = schema.frame * width + names[0]
    reference_key = reference.frame * width + names[1]
    predicted_key = predicted.frame * width + names[2]
    _check_once(schema.frame, schema.name, slot_key, frame_id, "schema")
    _check_once(reference.frame, reference.slot, reference_key, frame_id, "reference")
    _check_once(predicted.frame, predicted.slot, predicted_key, frame_id, "prediction")
    _check_values(reference, frame_id, "reference")
    _check_values(predicted, frame_id, "prediction")

    # From assignments to slots (`_at`) and back (`_of`); -1 where there is no partner.
    reference_at = locate(slot_key, reference_key)
    predicted_at = locate(slot_key, predicted_key)
    reference_of = _invert(reference_at, len(slot_key))
    predicted_of = _invert(predicted_at, len(slot_key))
    active = reference_of >= 0

    score = np.where(active | (predicted_of >= 0), 0.0, 1.0)
    texts = reference.value, predicted.value, canonical.value
    vocabulary, (reference_code, predicted_code, canonical_code) = encode(*texts)
    # The appended -1 is what an index of -1, a slot without a predicted value, points at.
    hypothesis = np.append(predicted_code[predicted.first()], -1)[predicted_of]
    both = active & (predicted_of >= 0)

    exact = np.flatnonzero(both & schema.categorical)
    truth = reference_code[reference.first()]
    score[exact] = truth[reference_of[exact]] == hypothesis[exact]

    # Every spoken variant of a free-form slot is compared on its own; the best score counts.
    slot = reference_at[reference.parent]
    spoken = np.flatnonzero(np.append(both & ~schema.categorical, False)[slot])
    slot = slot[spoken]
    left, right = reference_code[spoken], hypothesis[slot]
    match = fuzzy_scores(vocabulary.to_pylist(), left, right) if use_fuzzy_match else left == right
    np.maximum.at(score, slot, match)

    with_canonical = score.copy()
    slot = locate(slot_key, canonical.frame * width + names[3])[canonical.parent]
    with_canonical[slot[(slot >= 0) & (canonical_code == hypothesis[slot])]] = 1.0

    last = np.full(len(schema.frame), -1) if previous is None else previous[schema.frame]
    before = locate(slot_key, last * width + names[0])
    changed = changed_slots(before, reference_at[reference.parent], reference_code)
    changed |= changed_slots(before, predicted_at, predicted_code[predicted.first()])
    return SlotScores(score, with_canonical, active, changed, int(np.sum(predicted_at < 0)))


def _invert(at: Ints, length: int) -> Ints:
    """The index in `at` that holds each number below `length`; -1 where none does [length]."""
    inverse = np.full(length, -1)
    defined = np.flatnonzero(at >= 0)
    inverse[at[defined]] = defined
    return inverse


def _check_once(frame: Ints, slot: pa.Array, key: Ints, frame_id: pa.Array, side: str) -> None:
    """Raise ScoreError if a frame has a slot twice: if two slots of it share a key [slots]."""
    unique, count = np.unique(key, return_counts=True)
    if len(unique) < len(key):
        where = int(np.flatnonzero(key == unique[count > 1][0])[0])
        raise ScoreError(
            f"{side} of frame {frame_id[int(frame[where])]} has the slot '{slot[where]}' twice"
        )


def _check_values(values: SlotValues, frame_id: pa.Array, side: str) -> None:
    """Raise ScoreError if a slot is there without a value."""
    empty = np.flatnonzero(np.bincount(values.parent, minlength=len(values.slot)) == 0)
    if len(empty):
        where = int(empty[0])
        raise ScoreError(
            f"{side} of frame {frame_id[int(values.frame[where])]} has the slot "
            f"'{values.slot[where]}' without a value, expected one at least"
        )
