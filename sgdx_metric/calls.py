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

from .columns import (
    AlignedRows,
    Bools,
    Floats,
    SlotValues,
    align,
    column,
    encode,
    field,
    flags,
    positions,
    strings,
)
from .core import Figure, Scores
from .report import frame_scores, wording_differences
from .rows import REFERENCE, ScoreError
from .scoring import CANONICAL
from .signature import OFFICIAL, Rules, Setup, signature
from .slots import SchemaSlots, score_slots
from .units import ALL, SEEN, UNSEEN, ScoredFrames
from .variants import ORIGINAL, PAPER_VARIANTS
from .wording_figures import case_figures, over_wordings, with_tasks, wording_figures

CALL_METRICS = ("call_name_accuracy", "call_argument_accuracy", "call_accuracy")
CALL, TASK_SUCCESS = "call_accuracy", "task_success"
# The metrics that systems are compared by, of which the first decides.
COMPARED = (CALL, TASK_SUCCESS, "call_name_accuracy", "call_argument_accuracy")
# What each is called, and what that means.
TITLES = {
    CALL: ("call", "call: the right function with the right arguments."),
    TASK_SUCCESS: ("task", "task: all calls of a dialogue are right."),
    "call_name_accuracy": ("name", "name: the right function."),
    "call_argument_accuracy": ("arguments", "arguments: all are right."),
}
DONTCARE = "dontcare"
_PARAMETERS = pa.list_(pa.struct([("slot", pa.string()), ("value", pa.string())]))
# Gold calls are of the frame's own service; a predicted call says which service it is of.
_CALL = pa.struct([("method", pa.string()), ("parameters", _PARAMETERS)])
CALL_REFERENCE = pa.schema(
    [*(column for column in REFERENCE if column.name != CANONICAL), ("service_call", _CALL)]
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
class CallScores(ScoredFrames):
    """The scores by each of CALL_METRICS of the frames that a gold call follows."""

    # `precision` and `recall` of the decision to call, over all turns that are predicted; None
    # where all of them are followed by a call, as there is nothing to decide.
    decision: Mapping[str, float | None] | None


def score_calls(
    references: pa.Table, predictions: pa.Table, variant: str, rules: Rules = OFFICIAL
) -> CallScores:
    """Score one variant's calls: one prediction at least for each frame that a call follows.

    `call_name_accuracy` is 1 where the call is of the right service and intent.
    `call_argument_accuracy` is the product over the schema's slots: 1 where neither call has the
    slot and 0 where only one has it. Where both have it, a categorical slot scores 1 if the values
    are equal; a free-form slot scores the official fuzzy match with the best of the state's spoken
    values, or 1 if it equals the canonical value of the gold call. A parameter that is `dontcare`
    counts as left out: no call of SGD has one, as the API is then called without it. The score is
    0 for a call of another service. `call_accuracy` is the product of both.
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
        positions(strings(column(predictions, "frame_id")), ids, whose, "calls")
    call_predictions = known_predictions.filter(
        pc.is_in(column(known_predictions, "frame_id"), value_set=order)
    )
    true = align(gold, order, f"references for {variant}", "calls")
    predicted = align(call_predictions, order, whose, "calls")
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
    frame_id = frame_ids_of(true.table)
    schema = SchemaSlots(rows, field(listed, "name"), categorical, frame_id)
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
        score_slots(schema, reference, predicted, frame_id, fuzzy).score
        for reference, fuzzy in comparisons
    ]
    product = same_service.astype(np.float64)
    np.multiply.at(product, schema.frame, np.maximum(*slots))
    return product


def _parameters(calls: list[dict[str, Any] | None]) -> tuple[list[int], list[tuple[str, str]]]:
    """The frame, and the slot and value, of each parameter that is not `dontcare`, end to end."""
    parameters = [
        (i, (parameter["slot"], parameter["value"]))
        for i, call in enumerate(calls)
        for parameter in (call or {}).get("parameters") or ()
        if parameter["value"].strip().lower() != DONTCARE
    ]
    return [i for i, _ in parameters], [pair for _, pair in parameters]


def _values(frame: list[int], slots: list[str], values: list[list[str]]) -> SlotValues:
    parents = [i for i, slot_values in enumerate(values) for _ in slot_values]
    return SlotValues(
        np.array(frame, dtype=np.int64),
        encode(pa.array(slots, pa.string())),
        np.array(parents, dtype=np.int64),
        pa.array([value for slot_values in values for value in slot_values], pa.string()),
    )


def _turns(frame_ids: pa.Array) -> pa.Array:
    """The turn of each frame, as `<dialogue>/<turn>`."""
    return pc.replace_substring_regex(frame_ids, "/[^/]*$", "")


def _decision(predicted: pa.Table, gold: pa.Array) -> dict[str, float | None] | None:
    """Precision and recall of the decision to call, over turns, whatever service the call is of."""
    turns = _turns(frame_ids_of(predicted)).dictionary_encode()
    turn = turns.indices.to_numpy(zero_copy_only=False)
    made = flags(column(predicted, "service_call").is_valid())
    called = np.bincount(turn, made, len(turns.dictionary)) > 0
    needed = flags(pc.is_in(turns.dictionary, value_set=_turns(gold)))
    if needed.all():
        return None
    hits = int((called & needed).sum())
    return {
        "precision": hits / int(called.sum()) if called.any() else None,
        "recall": hits / int(needed.sum()),
    }


def call_figures(scores: Scores) -> list[Figure]:
    """The figures of COMPARED, with keys such as `call_accuracy.drop`."""
    # Where all wordings but the original are v1 to v5, their mean is `reworded` alone.
    is_paper = {*scores.wordings} - {ORIGINAL} == {*PAPER_VARIANTS}
    return [
        figure
        for metric in COMPARED
        for figure in case_figures(scores, metric, *TITLES[metric])
        if not (is_paper and figure.key.endswith(".v1-5"))
    ]


def wordings_drawn(scores: Scores) -> list[Figure]:
    """The means over wordings, of which wordings can be drawn; `.v1-5` where there are others."""
    reworded = [name for name in scores.wordings if name != ORIGINAL]
    kinds = (".reworded", ".v1-5") if {*PAPER_VARIANTS} < {*reworded} else (".reworded",)
    return [figure for figure in call_figures(scores) if figure.key.endswith(kinds)]


def report_calls(
    variants: Mapping[str, CallScores], dialogues: int, setup: Setup
) -> dict[str, Any]:
    """Sum up one system's calls under one or more schema variants, as scores.json has them.

    The task of a dialogue is a success where every call of it is right, which is one with an
    accuracy of 0.5 or more; of the seen services, where every call of these is.
    """
    scores = frame_scores(variants, CALL_METRICS, setup.rules)
    names = list(scores.wordings)
    groups = scores.items.groups()
    main = {name: with_tasks(scores.only(groups[name]), (CALL,)) for name in (ALL, SEEN, UNSEEN)}
    of_metrics: dict[str, dict[str, Any]] = {}
    for metric in (*CALL_METRICS, TASK_SUCCESS):
        figures = {name: over_wordings(main[name], metric, setup.over) for name in main}
        of_metrics[metric] = {**figures.pop(ALL), **figures}
    of_metrics[CALL]["differences"] = wording_differences(scores, CALL)
    of_metrics[CALL]["by_service"] = {
        name: {
            **wording_figures(scores.only(groups[name]), CALL),
            "frames": len(groups[name]),
        }
        for name in scores.items.services()
    }
    return {
        "calls": of_metrics,
        "differences": of_metrics[CALL]["differences"],
        "decision": {name: variants[name].decision for name in names},
        "frames": {group: len(groups[group]) for group in main},
        "dialogues": len(np.unique(scores.items.dialogue)),
        "signature": signature(names, len(groups[ALL]), dialogues, setup, task="calls"),
    }
