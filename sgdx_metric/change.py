"""Which slots change from a frame to the next one of the same service, in reference or prediction.

Joint goal accuracy counts an early mistake again in every later turn, as a state carries it along.
What is scored of the change alone counts it once. Published as turn match, the limit of flexible
goal accuracy in which an earlier mistake costs nothing (Dey et al. 2022, "Towards Fair Evaluation
of Dialogue State Tracking by Flexible Incorporation of Turn-level Performances", arXiv 2204.03375).
"""

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import Bools, Index, Ints, integers

_FRAME_ID = "^(?P<dialogue>.*)/(?P<turn>[0-9]{1,9})/(?P<service>[^/]*)$"


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
