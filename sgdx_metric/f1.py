"""F1 of the requested slots and of the tagged spans of each frame."""

import numpy as np
import pyarrow as pa

from .columns import AlignedRows, Floats, Ints, encode, field, flags, locate, safe_divide, strings
from .rows import ScoreError
from .slots import SchemaSlots

# Items of many frames, laid end to end: the frame of each item, and a code that equal items share;
# each array is [items].
Items = tuple[Ints, Ints]
_ENDS = ("start", "exclusive_end")


def requested_slots(reference: AlignedRows, predicted: AlignedRows) -> dict[str, Floats]:
    """`requested_slots_f1`, `_precision` and `_recall` of each frame, in [0, 1] [frames]."""
    true_frame, true_name = reference.exploded("requested_slots")
    frame, name = predicted.exploded("requested_slots")
    _, (true_code, code) = encode(strings(true_name), strings(name))
    f1, precision, recall = _f1((true_frame, true_code), (frame, code), reference.count)
    return {
        "requested_slots_f1": f1,
        "requested_slots_precision": precision,
        "requested_slots_recall": recall,
    }


def slot_tagging(
    reference: AlignedRows, predicted: AlignedRows, schema: SchemaSlots
) -> dict[str, Floats]:
    """`slot_tagging_f1`, `_precision` and `_recall` of each frame, in [0, 1] [frames].

    They are NaN in frames for which no spans are predicted. A span of a free-form slot counts as
    its slot and its text, so the same words elsewhere in the utterance are as good.

    Raises:
        ScoreError: Spans are predicted, and the references have no spans or no utterances.
    """
    tagged = flags(predicted.aligned("slots").is_valid())
    undefined = np.full(reference.count, np.nan)
    f1, precision, recall = undefined, undefined, undefined
    if tagged.any():
        if reference.lacks("slots") or reference.lacks("utterance"):
            raise ScoreError(
                "the predictions have spans ('slots'); to score them every reference needs "
                "'slots' and 'utterance'"
            )
        free = schema.only(~schema.categorical)
        texts = strings(reference.aligned("utterance")).to_pylist()
        scores = _f1(*_spans((reference, predicted), free, texts), reference.count)
        f1, precision, recall = (np.where(tagged, values, np.nan) for values in scores)
    return {
        "slot_tagging_f1": f1,
        "slot_tagging_precision": precision,
        "slot_tagging_recall": recall,
    }


def _spans(
    sides: tuple[AlignedRows, AlignedRows], free: SchemaSlots, texts: list[str]
) -> tuple[Items, Items]:
    """The spans of free-form slots of each side as items; equal items share slot and text."""
    exploded = [side.exploded("slots") for side in sides]
    names = [strings(field(spans, "slot")) for _, spans in exploded]
    _, (free_code, *codes) = encode(free.name, *names)
    width = 1 + max(int(code.max(initial=0)) for code in (free_code, *codes))
    span_codes: dict[tuple[int, str], int] = {}
    items = []
    for (frame, spans), code in zip(exploded, codes):
        free_spans = np.flatnonzero(
            locate(free.frame * width + free_code, frame * width + code) >= 0
        )
        ends = (field(spans, key).take(pa.array(free_spans)).to_pylist() for key in _ENDS)
        tagged = [
            span_codes.setdefault((slot, texts[i][start:end]), len(span_codes))
            for slot, i, start, end in zip(
                code[free_spans].tolist(), frame[free_spans].tolist(), *ends
            )
        ]
        items.append((frame[free_spans], np.array(tagged, dtype=np.int64)))
    true, predicted = items
    return true, predicted


def _f1(true: Items, predicted: Items, count: int) -> tuple[Floats, Floats, Floats]:
    """F1, precision and recall of each frame's multiset of items, in [0, 1] [frames] each.

    Precision is 1 where nothing is predicted and recall is 1 where nothing is true, so that nothing
    against nothing scores 1.
    """
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
