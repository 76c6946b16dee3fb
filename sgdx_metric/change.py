"""Which slots change from a frame to the next one of the same service, in reference or prediction.

Joint goal accuracy counts an early mistake again in every later turn, as a state carries it along.
What is scored of the change alone counts it once. Published as turn match, the limit of flexible
goal accuracy in which an earlier mistake costs nothing (Dey et al. 2022, "Towards Fair Evaluation
of Dialogue State Tracking by Flexible Incorporation of Turn-level Performances", arXiv 2204.03375).
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import Bools, Ints, locate

_FRAME_ID = "^(?P<dialogue>.*)/(?P<turn>[0-9]{1,9})/(?P<service>[^/]*)$"


def previous_frames(frame_id: pa.Array) -> Ints:
    """The frame of the same dialogue and service in the last turn before that has one.

    Args:
        frame_id: Distinct ids `<dialogue>/<turn>/<original service>` in any order [frames].

    Returns:
        Its position; -1 where there is none, and where an id names no turn [frames].
    """
    parts = pc.extract_regex(frame_id, _FRAME_ID)
    dialogue, turn, service = (pc.struct_field(parts, name) for name in range(3))
    series = pc.binary_join_element_wise(dialogue, service, "/").dictionary_encode().indices
    code = _integers(series)
    order = np.lexsort((_integers(turn), code))
    follows = (code[order][1:] == code[order][:-1]) & (code[order][1:] >= 0)
    previous = np.full(len(frame_id), -1)
    previous[order[1:][follows]] = order[:-1][follows]
    return previous


def _integers(array: pa.Array) -> Ints:
    """Numbers, or text of digits, as numpy; -1 where there is none."""
    integers = array.cast(pa.int64()).fill_null(-1)
    return np.asarray(integers.to_numpy(zero_copy_only=False))


def changed_slots(previous: Ints, slot: Ints, value: Ints) -> Bools:
    """Whether one side, the reference or the prediction, changes each slot of the schema.

    A slot changes where it gets a value, loses its value, or has none of the values that it had in
    the frame before. A reference lists every spoken variant of a value, so that one more variant is
    no change.

    Args:
        previous: The position of the same slot in the frame before; -1 for none [slots].
        slot: The position of each value's slot; -1 for one that the schema lacks [values].
        value: Codes that equal values share [values].

    Returns:
        Whether it changes; without a frame before, whether it has a value [slots].
    """
    slot, value = slot[slot >= 0], value[slot >= 0]
    width = 1 + int(value.max(initial=0))
    # A value and its slot are one number; -1 as the slot before gives one that no slot has.
    stays = locate(slot * width + value, previous[slot] * width + value) >= 0
    has_value = np.bincount(slot, minlength=len(previous)) > 0
    keeps_value = np.bincount(slot, stays, len(previous)) > 0
    # The appended False is what an index of -1 points at.
    had_value = np.append(has_value, False)[previous]
    return np.asarray(np.where(has_value, ~keeps_value, had_value))
