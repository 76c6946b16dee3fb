"""Whether a system calls the right API with the right arguments, in place of its dialogue state.

It is scored in the frames after whose user turn the system makes a call. Only turns followed by a
gold call are scored, so reluctance to call is not counted as misreading.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .bootstrap import Statistics, bootstrap
from .columns import (
    AlignedRows,
    Bools,
    Floats,
    Ints,
    SlotValues,
    align,
    column,
    field,
    flags,
    positions,
    strings,
)
from .robustness import dialogue_sums, headline_statistics, with_drop
from .rows import REFERENCE, ScoreError
from .signature import OFFICIAL, Rules, Setup, signature
from .slots import SchemaSlots, score_slots
from .units import ALL, SEEN, UNSEEN, FrameIndex, index_frames
from .variants import ORIGINAL

CALL_METRICS = ("call_name_accuracy", "call_argument_accuracy", "call_accuracy")
# The names in the report of calls of the statistics that are named after joint goal accuracy.
_STATISTIC_NAMES = {
    "jga_orig": "original",
    "jga_v1-5": "v1-5",
    "drop": "drop",
    "ss_jga": "sensitivity",
    "jga_worst": "worst",
    "flips": "flips",
}
_PARAMETERS = pa.list_(pa.struct([("slot", pa.string()), ("value", pa.string())]))
# Gold calls are of the frame's own service; a predicted call says which service it is of.
CALL_REFERENCE = REFERENCE.append(
    pa.field("service_call", pa.struct([("method", pa.string()), ("parameters", _PARAMETERS)]))
)
CALL_PREDICTION = pa.schema(
    {
        "frame_id": pa.string(),
        "variant": pa.string(),
        "service_call": pa.struct(
            [("service", pa.string()), ("method", pa.string()), ("parameters", _PARAMETERS)]
        ),
    }
)


@dataclass(frozen=True)
class CallScores:
    """The scores of one variant's gold calls, sorted by `frame_id`.

    Attributes:
        frame_id: The ids of the frames that a call follows [calls].
        seen: Whether the service is in the original train split [calls].
        scores: For each of CALL_METRICS, values in [0, 1] [calls].
        decision: `precision` and `recall` of the decision to call, over all frames that are
            predicted; None where all of them are followed by a call, as there is nothing to decide.
    """

    frame_id: pa.Array
    seen: Bools
    scores: dict[str, Floats]
    decision: dict[str, float | None] | None


def score_calls(
    references: pa.Table, predictions: pa.Table, variant: str, rules: Rules = OFFICIAL
) -> CallScores:
    """Score one variant's calls.

    `call_name_accuracy` is 1 where the call is of the right service and intent.
    `call_argument_accuracy` is the product over the schema's slots: 1 where neither call has the
    slot and 0 where only one has it. Where both have it, a categorical slot scores 1 if the values
    are equal; a free-form slot scores the official fuzzy match with the best of the state's spoken
    values, or 1 if it equals the canonical value of the gold call. It is 0 for a call of another
    service. `call_accuracy` is the product of both.

    Args:
        references: Frame rows with `service_call`, in any order.
        predictions: Rows of CALL_PREDICTION: one at least for each frame that a call follows.
        variant: The variant's name, for error messages.
        rules: How free-form values are compared.

    Raises:
        ScoreError: Frames are missing, there twice or unknown, or no frame is followed by a call.
    """
    whose = f"predictions for {variant}"
    ids = strings(column(references, "frame_id"))
    gold = references.filter(pc.is_valid(column(references, "service_call")))
    if not gold.num_rows:
        raise ScoreError(f"references for {variant}: found no call, expected one at least")
    order = strings(column(gold, "frame_id"))
    order = order.take(pc.sort_indices(order))
    known_predictions = predictions.filter(pc.is_in(column(predictions, "frame_id"), value_set=ids))
    if known_predictions.num_rows < predictions.num_rows:  # it raises the named error
        positions(strings(column(predictions, "frame_id")), ids, whose)
    call_predictions = known_predictions.filter(
        pc.is_in(column(known_predictions, "frame_id"), value_set=order)
    )
    true = align(gold, order, f"references for {variant}")
    predicted = align(call_predictions, order, whose)
    services = strings(true.aligned("service"))
    true_calls, calls = true.aligned("service_call"), predicted.aligned("service_call")
    same_service = _equal(field(calls, "service"), services)
    name = same_service & _equal(field(calls, "method"), field(true_calls, "method"))
    arguments = _arguments(true, true_calls, calls, same_service, rules)
    scores = {
        "call_name_accuracy": name.astype(np.float64),
        "call_argument_accuracy": arguments,
        "call_accuracy": name * arguments,
    }
    return CallScores(
        order, flags(true.aligned("seen")), scores, _decision(known_predictions, order)
    )


def frame_ids_of(table: pa.Table) -> pa.Array:
    """The frame ids of rows [rows]."""
    return strings(column(table, "frame_id"))


def _equal(left: pa.Array, right: pa.Array) -> Bools:
    """Where two columns of text are equal; a missing one equals nothing."""
    return flags(pc.equal(strings(left), strings(right)).fill_null(False))


def _arguments(
    true: AlignedRows, true_calls: pa.Array, calls: pa.Array, same_service: Bools, rules: Rules
) -> Floats:
    """The argument accuracy of each call, in [0, 1] [calls]."""
    rows, listed = true.exploded("schema_slots")
    categorical = flags(field(listed, "is_categorical"))
    schema = SchemaSlots(rows, strings(field(listed, "name")), categorical)
    frame, canonical = _parameters(true_calls.to_pylist())
    state = dict[tuple[int, str], list[str]]()
    for i, values in enumerate(true.aligned("slot_values").to_pylist()):
        state |= {(i, assignment["slot"]): assignment["values"] for assignment in values}
    spoken = [state.get((i, slot), [value]) for i, (slot, value) in zip(frame, canonical)]
    names = [slot for slot, _ in canonical]
    predicted_calls = calls.to_pylist()
    predicted_frame, predicted_parameters = _parameters(
        [c if ok else None for c, ok in zip(predicted_calls, same_service)]
    )
    predicted = _values(
        predicted_frame,
        [slot for slot, _ in predicted_parameters],
        [[value] for _, value in predicted_parameters],
    )
    comparisons = (
        (_values(frame, names, spoken), rules.use_fuzzy_match),
        (_values(frame, names, [[value] for _, value in canonical]), False),
    )
    slots = [
        score_slots(schema, reference, predicted, frame_ids_of(true.table), fuzzy).score
        for reference, fuzzy in comparisons
    ]
    product = same_service.astype(np.float64)
    np.multiply.at(product, schema.frame, np.maximum(*slots))
    return product


def _parameters(calls: list[dict[str, Any] | None]) -> tuple[list[int], list[tuple[str, str]]]:
    """The frame, and the slot and value, of each parameter of some calls, laid end to end."""
    parameters = [
        (i, (parameter["slot"], parameter["value"]))
        for i, call in enumerate(calls)
        for parameter in (call or {}).get("parameters") or ()
    ]
    return [i for i, _ in parameters], [pair for _, pair in parameters]


def _values(frame: list[int], slots: list[str], values: list[list[str]]) -> SlotValues:
    parents = [i for i, slot_values in enumerate(values) for _ in slot_values]
    return SlotValues(
        np.array(frame, dtype=np.int64),
        pa.array(slots, pa.string()),
        np.array(parents, dtype=np.int64),
        pa.array([value for slot_values in values for value in slot_values], pa.string()),
    )


def _decision(predicted: pa.Table, gold: pa.Array) -> dict[str, float | None] | None:
    """How often a call is right to be made, and how often one is made where it should be."""
    called = flags(column(predicted, "service_call").is_valid())
    needed = flags(pc.is_in(frame_ids_of(predicted), value_set=gold))
    if needed.all():
        return None
    hits = int((called & needed).sum())
    return {
        "precision": hits / int(called.sum()) if called.any() else None,
        "recall": hits / int(needed.sum()),
    }


def report_calls(
    variants: Mapping[str, CallScores], dialogues: int, setup: Setup
) -> dict[str, Any]:
    """Sum up one system's calls under one or more schema variants.

    Args:
        variants: The scores by variant.
        dialogues: How many dialogues the references have.
        setup: Which data was scored and how.

    Returns:
        `calls`: for each of CALL_METRICS the accuracies `by_variant`, `original`, their mean
        `v1-5`, the `drop` between the two, the `sensitivity`, the `worst` case and the `flips`,
        as of joint goal accuracy, with 95 % intervals in `confidence`; the same for `seen` and
        `unseen` services. `decision` by variant; `frames`, how many calls there are; `signature`.
        What is undefined is None.

    Raises:
        ScoreError: The variants have calls in different frames.
    """
    names = sorted(variants, key=lambda name: (name != ORIGINAL, name))
    first = variants[names[0]]
    for name in names[1:]:
        if not variants[name].frame_id.equals(first.frame_id):
            raise ScoreError(f"{name}: the calls are not in the frames of those of {names[0]}")
    frame_index = index_frames(first.frame_id, first.seen)
    groups = frame_index.groups()
    rules = setup.rules
    return {
        "calls": {
            metric: _of_metric(
                {v: variants[v].scores[metric] for v in names}, frame_index, groups, rules
            )
            for metric in CALL_METRICS
        },
        "decision": {name: variants[name].decision for name in names},
        "frames": {group: len(groups[group]) for group in (ALL, SEEN, UNSEEN)},
        "signature": signature(names, len(first.seen), dialogues, setup, task="calls"),
    }


def _of_metric(
    scores: Mapping[str, Floats], frame_index: FrameIndex, groups: Mapping[str, Ints], rules: Rules
) -> dict[str, Any]:
    """The figures of one metric, for all, seen and unseen services."""
    scores_by_group = {
        group: _of_group(scores, frame_index, groups[group], rules) for group in (ALL, SEEN, UNSEEN)
    }
    return {**scores_by_group.pop(ALL), **scores_by_group}


def _of_group(
    scores: Mapping[str, Floats], frame_index: FrameIndex, members: Ints, rules: Rules
) -> dict[str, Any]:
    names = list(scores)
    sums = dialogue_sums(scores, frame_index, members, rules)

    def statistic(weights: Floats) -> Statistics:
        return with_drop(headline_statistics(sums.means(weights), names))

    count = len(sums.total)
    whole = statistic(np.ones((1, count))) if count else {}
    intervals = bootstrap(statistic, count)
    return {
        "by_variant": {
            v: float(s[members].mean()) if len(members) else None for v, s in scores.items()
        },
        **{shown: _number(whole.get(key)) for key, shown in _STATISTIC_NAMES.items()},
        "confidence": {shown: intervals.get(key) for key, shown in _STATISTIC_NAMES.items()},
    }


def _number(values: Floats | None) -> float | None:
    return None if values is None or np.isnan(values[0]) else float(values[0])
