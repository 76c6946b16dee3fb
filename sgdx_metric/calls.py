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
    absent,
    align,
    column,
    encode,
    field,
    flags,
    frame_ids,
    positions,
    sorted_ids,
    strings,
)
from .errors import ScoreError
from .figures import case_figures, over_variants, variant_differences, variant_figures, with_tasks
from .robustness import frame_scores
from .rows import REFERENCE
from .scoring import CANONICAL
from .signature import OFFICIAL, Rules, Setup, signature
from .slots import SchemaSlots, score_slots
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
    ids, predicted_ids = frame_ids(references), frame_ids(predictions)
    gold = references.filter(pc.is_valid(column(references, "service_call")))
    if not gold.num_rows:
        raise ScoreError(f"references for {variant}: found no call, expected one at least")
    order = sorted_ids(gold)
    if absent(predicted_ids, ids):
        positions(predicted_ids, ids, whose, "calls")  # it raises the named error
    called = predictions.filter(pc.is_in(predicted_ids, value_set=order))
    true = align(gold, order, f"references for {variant}", "calls")
    predicted = align(called, order, whose, "calls")
    services = strings(true.aligned("service"))
    true_calls, calls = true.aligned("service_call"), predicted.aligned("service_call")
    same_service = _equal(field(calls, "service"), services)
    name = same_service & _equal(field(calls, "method"), field(true_calls, "method"))
    arguments = _arguments(true, true_calls, calls, same_service, order, rules)
    scores = {
        "call_name_accuracy": name.astype(np.float64),
        "call_argument_accuracy": arguments,
        "call_accuracy": name * arguments,
    }
    seen = flags(true.aligned("seen"))
    return CallScores(order, seen, scores, _decision(predictions, order))


def _equal(left: pa.Array, right: pa.Array) -> Bools:
    """Where two columns of text are equal; a missing one equals nothing."""
    return flags(pc.equal(strings(left), strings(right)).fill_null(False))


def _arguments(
    true: AlignedRows,
    true_calls: pa.Array,
    calls: pa.Array,
    same_service: Bools,
    order: pa.Array,
    rules: Rules,
) -> Floats:
    """The argument accuracy of each call, in [0, 1] [calls]."""
    rows, listed = true.exploded("schema_slots")
    categorical = flags(field(listed, "is_categorical"))
    schema = SchemaSlots(rows, field(listed, "name"), categorical, order)
    said = {
        (i, assignment["slot"]): assignment["values"]
        for i, values in enumerate(true.aligned("slot_values").to_pylist())
        for assignment in values
    }
    canonical = _parameters(true_calls.to_pylist())
    spoken = [(i, slot, said.get((i, slot), values)) for i, slot, values in canonical]
    made = [call if ok else None for call, ok in zip(calls.to_pylist(), same_service)]
    sides = (_laid_out(side) for side in (spoken, _parameters(made), canonical))
    reference, predicted, also_right = sides
    is_fuzzy = rules.use_fuzzy_match
    scores = score_slots(schema, reference, predicted, order, is_fuzzy, canonical=also_right)
    product = same_service.astype(np.float64)
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


def _laid_out(arguments: list[_Argument]) -> SlotValues:
    return SlotValues(
        np.array([frame for frame, _, _ in arguments], dtype=np.int64),
        encode(pa.array([slot for _, slot, _ in arguments], pa.string())),
        np.repeat(np.arange(len(arguments)), [len(values) for _, _, values in arguments]),
        pa.array([value for _, _, values in arguments for value in values], pa.string()),
    )


def _turns(frame_ids: pa.Array) -> pa.Array:
    """The turn of each frame, as `<dialogue>/<turn>`."""
    return pc.replace_substring_regex(frame_ids, "/[^/]*$", "")


def _decision(predicted: pa.Table, gold: pa.Array) -> dict[str, float | None] | None:
    """Precision and recall of the decision to call, over turns, whatever service the call is of."""
    turns = _turns(frame_ids(predicted)).dictionary_encode()
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
