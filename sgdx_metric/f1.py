"""F1 of the requested slots and of the tagged spans of each frame."""

import numpy as np
import pyarrow as pa

from .columns import Floats, Ints, Side, encode, field, flags, over, strings
from .rows import ScoreError
from .slots import SchemaSlots, locate

# Items of many frames, flat: the frame of each and a code that equal items share [items].
Items = tuple[Ints, Ints]
_ENDS = ("start", "exclusive_end")


def requested_slots(reference: Side, predicted: Side) -> dict[str, Floats]:
    """`requested_slots_f1`, `_precision` and `_recall` [frames]."""
    true_frame, true_name = reference.exploded("requested_slots")
    frame, name = predicted.exploded("requested_slots")
    _, (true_code, code) = encode(strings(true_name), strings(name))
    return _f1("requested_slots", (true_frame, true_code), (frame, code), reference.count)


def slot_tagging(reference: Side, predicted: Side, schema: SchemaSlots) -> dict[str, Floats]:
    """`slot_tagging_f1`, `_precision` and `_recall` [frames], NaN where no spans are predicted.

    Spans of free-form slots count as (slot, text), so the same words elsewhere are as good.

    Raises:
        ScoreError: spans are predicted, and the references have no spans or utterances.
    """
    tagged = flags(predicted.aligned("slots").is_valid())
    if not tagged.any():
        undefined = np.full(reference.count, np.nan)
        return {f"slot_tagging_{part}": undefined for part in ("f1", "precision", "recall")}
    if reference.lacks("slots") or reference.lacks("utterance"):
        raise ScoreError(
            "the predictions have spans ('slots'); to score them every reference needs "
            "'slots' and 'utterance'"
        )
    free = schema.only(~schema.categorical)
    texts = strings(reference.aligned("utterance")).to_pylist()
    true, tags = _spans((reference, predicted), free, texts)
    scores = _f1("slot_tagging", true, tags, reference.count)
    return {metric: np.where(tagged, values, np.nan) for metric, values in scores.items()}


def _spans(sides: tuple[Side, Side], free: SchemaSlots, texts: list[str]) -> list[Items]:
    """Each side's spans of free-form slots as items, (slot, text) being what must be equal."""
    exploded = [side.exploded("slots") for side in sides]
    names = [strings(field(spans, "slot")) for _, spans in exploded]
    _, (known, *codes) = encode(free.name, *names)
    width = 1 + max(int(code.max(initial=0)) for code in (known, *codes))
    seen: dict[tuple[int, str], int] = {}
    items = []
    for (frame, spans), code in zip(exploded, codes):
        kept = np.flatnonzero(locate(free.frame * width + known, frame * width + code) >= 0)
        ends = (field(spans, key).take(pa.array(kept)).to_pylist() for key in _ENDS)
        tagged = [
            seen.setdefault((slot, texts[i][start:end]), len(seen))
            for slot, i, start, end in zip(code[kept].tolist(), frame[kept].tolist(), *ends)
        ]
        items.append((frame[kept], np.array(tagged, dtype=np.int64)))
    return items


def _f1(prefix: str, true: Items, predicted: Items, count: int) -> dict[str, Floats]:
    """F1, precision and recall of each frame's multiset of items [frames].

    Precision is 1 where nothing is predicted and recall 1 where nothing is true, so that nothing
    against nothing scores 1.
    """
    frame = np.concatenate([true[0], predicted[0]])
    code = np.concatenate([true[1], predicted[1]])
    width = 1 + int(code.max(initial=0))
    item, inverse = np.unique(frame * width + code, return_inverse=True)
    in_true = np.bincount(inverse[: len(true[0])], minlength=len(item))
    in_predicted = np.bincount(inverse[len(true[0]) :], minlength=len(item))
    hits = np.bincount(item // width, np.minimum(in_true, in_predicted), count)
    precision = over(hits, np.bincount(predicted[0], minlength=count), 1.0)
    recall = over(hits, np.bincount(true[0], minlength=count), 1.0)
    f1 = over(2 * precision * recall, precision + recall, 0.0)
    return {f"{prefix}_f1": f1, f"{prefix}_precision": precision, f"{prefix}_recall": recall}
