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
    Bools,
    Floats,
    absent,
    align,
    column,
    flags,
    misalignment,
    sorted_ids,
    strings,
)
from .errors import ScoreError
from .figures import case_figures, over_variants, variant_differences, variant_figures, with_tasks
from .robustness import frame_scores
from .rows import REFERENCE
from .scoring import CANONICAL
from .signature import OFFICIAL, Rules, Setup, signature
from .slots import SchemaSlots, SlotValues, check_once, score_slots
from .statistics import Figure
from .units import ALL, SEEN, UNSEEN, ScoredFrames, Scores
from .variants import ORIGINAL, PAPER_VARIANTS

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
# The frame, the slot and the values of an argument.
_Argument = tuple[int, str, list[str]]
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
    ids, predicted_ids = (strings(column(side, "frame_id")) for side in (references, predictions))
    gold = references.filter(pc.is_valid(column(references, "service_call")))
    if not gold.num_rows:
        raise ScoreError(f"references for {variant}: found no call, expected one at least")
    if absent(predicted_ids, ids):
        raise ScoreError(f"{whose}: {misalignment(predicted_ids, ids, 'calls')}")
    order = sorted_ids(gold)
    called = predictions.filter(pc.is_in(predicted_ids, value_set=order))
    true = align(gold, order, f"references for {variant}", "calls")
    predicted = align(called, order, whose, "calls")
    true_calls, calls = (column(side, "service_call") for side in (true, predicted))
    is_same = _equal(pc.struct_field(calls, "service"), column(true, "service"))
    methods = (pc.struct_field(side, "method") for side in (calls, true_calls))
    name = is_same & _equal(*methods)
    arguments = _arguments(true, true_calls, calls, is_same, order, rules)
    scores = {
        "call_name_accuracy": name.astype(np.float64),
        "call_argument_accuracy": arguments,
        "call_accuracy": name * arguments,
    }
    return CallScores(order, flags(column(true, "seen")), scores, _decision(predictions, order))


def _equal(left: pa.Array, right: pa.Array) -> Bools:
    """Where two columns of text are equal; a missing one equals nothing."""
    return flags(pc.equal(strings(left), strings(right)).fill_null(False))


def _arguments(
    true: pa.Table,
    true_calls: pa.Array,
    calls: pa.Array,
    is_same: Bools,
    order: pa.Array,
    rules: Rules,
) -> Floats:
    """The argument accuracy of each call, in [0, 1], 0 where it is of another service [calls]."""
    schema = SchemaSlots(column(true, "schema_slots"), order)
    said = {
        (i, assignment["slot"]): assignment["values"]
        for i, values in enumerate(column(true, "slot_values").to_pylist())
        for assignment in values
    }
    canonical = _parameters(true_calls.to_pylist())
    spoken = [(i, slot, said.get((i, slot)) or values) for i, slot, values in canonical]
    made = _parameters([call if ok else None for call, ok in zip(calls.to_pylist(), is_same)])
    reference, predicted, also_right = (
        SlotValues(
            np.array([frame for frame, _, _ in side], dtype=np.int64),
            pa.array([slot for _, slot, _ in side], pa.string()),
            np.repeat(np.arange(len(side)), [len(values) for _, _, values in side]),
            pa.array([value for _, _, values in side for value in values], pa.string()),
        )
        for side in (spoken, made, canonical)
    )
    for values, whose in ((reference, "reference"), (predicted, "prediction")):
        check_once(values.frame, values.slot, order, whose)
    scores = score_slots(schema, reference, predicted, rules.use_fuzzy_match, canonical=also_right)
    product = is_same.astype(np.float64)
    np.multiply.at(product, schema.frame, scores.canonical)
    return product


def _parameters(calls: list[dict[str, Any] | None]) -> list[_Argument]:
    """The parameters of calls that are not `dontcare`, end to end."""
    return [
        (i, parameter["slot"], [parameter["value"]])
        for i, call in enumerate(calls)
        for parameter in (call or {}).get("parameters") or ()
        if parameter["value"].strip().lower() != DONTCARE
    ]


def _decision(predicted: pa.Table, gold: pa.Array) -> dict[str, float | None] | None:
    """Precision and recall of the decision to call, over turns, whatever service the call is of."""
    predicted_ids = strings(column(predicted, "frame_id"))
    of_predicted, of_gold = (
        pc.replace_substring_regex(ids, "/[^/]*$", "") for ids in (predicted_ids, gold)
    )
    turns = of_predicted.dictionary_encode()
    turn = turns.indices.to_numpy(zero_copy_only=False)
    made = flags(column(predicted, "service_call").is_valid())
    called = np.bincount(turn, made, len(turns.dictionary)) > 0
    needed = flags(pc.is_in(turns.dictionary, value_set=of_gold))
    if needed.all():
        return None
    hits = int((called & needed).sum())
    return {
        "precision": hits / int(called.sum()) if called.any() else None,
        "recall": hits / int(needed.sum()),
    }


def call_figures(scores: Scores) -> list[Figure]:
    """The figures of COMPARED, with keys such as `call_accuracy.drop`."""
    # Where all variants but the original are v1 to v5, their mean is `reworded` alone.
    is_paper = {*scores.variants} - {ORIGINAL} == {*PAPER_VARIANTS}
    return [
        figure
        for metric in COMPARED
        for figure in case_figures(scores, metric, *TITLES[metric])
        if not (is_paper and figure.key.endswith(".v1-5"))
    ]


def report_calls(
    variants: Mapping[str, CallScores], dialogues: int, setup: Setup
) -> dict[str, Any]:
    """Sum up one system's calls under one or more schema variants, as scores.json has them.

    The task of a dialogue is a success where every call of it is right, which is one with an
    accuracy of 0.5 or more; of the seen services, where every call of these is.
    """
    scores = frame_scores(variants, CALL_METRICS, setup.rules)
    names = list(scores.variants)
    groups = scores.items.groups()
    main = {name: with_tasks(scores.only(groups[name]), (CALL,)) for name in (ALL, SEEN, UNSEEN)}
    of_metrics: dict[str, dict[str, Any]] = {}
    for metric in (*CALL_METRICS, TASK_SUCCESS):
        figures = {name: over_variants(main[name], metric) for name in main}
        of_metrics[metric] = {**figures.pop(ALL), **figures}
    of_metrics[CALL]["differences"] = variant_differences(scores, CALL)
    of_metrics[CALL]["by_service"] = {
        name: {
            **variant_figures(scores.only(groups[name]), CALL),
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
