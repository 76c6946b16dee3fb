"""F1 of the requested slots and of the tagged spans of each frame."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .columns import Floats, Ints, column, encode_alike, explode, flags, safe_divide, strings
from .errors import ScoreError
from .slots import SchemaSlots

# Items of many frames, laid end to end: the frame of each item, and a code that equal items share;
# each array is [items].
Items = tuple[Ints, Ints]
_KINDS = ("f1", "precision", "recall")


def requested_slots(reference: pa.Table, predicted: pa.Table) -> dict[str, Floats]:
    """`requested_slots_f1`, `_precision` and `_recall` of each frame, in [0, 1] [frames]."""
    true_frame, true_name = explode(column(reference, "requested_slots"))
    frame, name = explode(column(predicted, "requested_slots"))
    _, (true_code, code) = encode_alike(true_name, name)
    scores = _f1((true_frame, true_code), (frame, code), len(reference))
    return {f"requested_slots_{kind}": values for kind, values in zip(_KINDS, scores)}


def slot_tagging(
    reference: pa.Table, predicted: pa.Table, schema: SchemaSlots
) -> dict[str, Floats]:
    """`slot_tagging_f1`, `_precision` and `_recall`, in [0, 1] or NaN without spans [frames].

    A span of a free-form slot counts as its slot and its text, so the same words elsewhere in the
    utterance are as good.
    """
    tagged = flags(column(predicted, "slots").is_valid())
    scores = (np.full(len(reference), np.nan),) * 3
    if tagged.any():
        if any(reference[name].null_count for name in ("slots", "utterance")):
            raise ScoreError(
                "the predictions have spans ('slots'); to score them every reference needs "
                "'slots' and 'utterance'"
            )
        texts = strings(column(reference, "utterance")).to_pylist()
        scores = _f1(*_spans((reference, predicted), schema, texts), len(reference))
    kinds = zip(_KINDS, scores)
    return {f"slot_tagging_{kind}": np.where(tagged, values, np.nan) for kind, values in kinds}


def _spans(
    sides: tuple[pa.Table, pa.Table], schema: SchemaSlots, texts: list[str]
) -> tuple[Items, Items]:
    """The spans of free-form slots of each side as items; equal items share slot and text."""
    frames, names, tagged = [], [], []
    for side in sides:
        frame, spans = explode(column(side, "slots"))
        name = strings(pc.struct_field(spans, "slot"))
        slot = schema.find(frame, name)
        free = np.flatnonzero((slot >= 0) & ~np.append(schema.categorical, True)[slot])
        start, end = (
            pc.struct_field(spans, key).take(pa.array(free)).to_pylist()
            for key in ("start", "exclusive_end")
        )
        frames.append(frame[free])
        names.append(schema.code(name)[free])
        tagged.append([texts[i][a:b] for i, a, b in zip(frame[free].tolist(), start, end)])
    distinct, codes = encode_alike(*(pa.array(side_texts, pa.string()) for side_texts in tagged))
    true, predicted = (
        (frame, name * len(distinct) + code) for frame, name, code in zip(frames, names, codes)
    )
    return true, predicted


def _f1(true: Items, predicted: Items, count: int) -> tuple[Floats, Floats, Floats]:
    """F1, precision and recall of each frame's multiset of items, in [0, 1] [frames] each."""
    frame = np.concatenate([true[0], predicted[0]])
    code = np.concatenate([true[1], predicted[1]])
    width = 1 + int(code.max(initial=0))
    item, inverse = np.unique(frame * width + code, return_inverse=True)
    in_true = np.bincount(inverse[: len(true[0])], minlength=len(item))
    in_predicted = np.bincount(inverse[len(true[0]) :], minlength=len(item))
    hits = np.bincount(item // width, np.minimum(in_true, in_predicted), count)
    precision = safe_divide(hits, np.bincount(predicted[0], minlength=count), 1.0)
    recall = safe_divide(hits, np.bincount(true[0], minlength=count), 1.0)
    return safe_divide(2 * precision * recall, precision + recall, 0.0), precision, recall
