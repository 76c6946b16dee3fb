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
    Ints,
    SlotValues,
    align,
    column,
    encode,
    field,
    flags,
    positions,
    strings,
)
from .core import Sample, Scores
from .report import check_same_frames
from .robustness import RIGHT
from .rows import REFERENCE, ScoreError
from .scoring import CANONICAL
from .signature import OFFICIAL, Rules, Setup, signature
from .slots import SchemaSlots, score_slots
from .units import ALL, SEEN, UNSEEN, FrameIndex, index_frames
from .variants import ORIGINAL, PAPER_VARIANTS
from .wording_figures import (
    case_differences,
    case_figures,
    case_scores,
    over_wordings,
    wording_figures,
)

CALL_METRICS = ("call_name_accuracy", "call_argument_accuracy", "call_accuracy")
CALL, TASK_SUCCESS = "call_accuracy", "task_success"
# The metrics that systems are compared by, of which the first decides.
COMPARED = (CALL, TASK_SUCCESS, "call_name_accuracy", "call_argument_accuracy")
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
class CallScores:
    """The scores of one variant's gold calls, sorted by `frame_id`.

    Attributes:
        frame_id: The ids of the frames that a call follows [calls].
        seen: Whether the service is in the original train split [calls].
        scores: For each of CALL_METRICS, values in [0, 1] [calls].
        decision: `precision` and `recall` of the decision to call, over all turns that are
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
    values, or 1 if it equals the canonical value of the gold call. A parameter that is `dontcare`
    counts as left out: no call of SGD has one, as the API is then called without it. The score is
    0 for a call of another service. `call_accuracy` is the product of both.

    Args:
        references: Frame rows with `service_call`, in any order.
        predictions: Rows of CALL_PREDICTION: one at least for each frame that a call follows.
        variant: The variant's name, for error messages.
        rules: How free-form values are compared.

    Raises:
        ScoreError: Calls are missing, there twice or unknown, or no frame is followed by a call.
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
    """The frame, and the slot and value, of each parameter of some calls, laid end to end.

    Parameters that are `dontcare` are left out.
    """
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
    """How often a call is right to be made, and how often one is made where it should be.

    A turn may have frames of several services, of which one alone is that of the call: the decision
    is of turns.

    Args:
        predicted: The predictions of all frames.
        gold: The ids of the frames that a call follows.
    """
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


def report_calls(
    variants: Mapping[str, CallScores], dialogues: int, setup: Setup
) -> dict[str, Any]:
    """Sum up one system's calls under one or more schema variants.

    Args:
        variants: The scores by variant.
        dialogues: How many dialogues the references have.
        setup: Which data was scored and how.

    Returns:
        `calls`: for each of CALL_METRICS, and for TASK_SUCCESS, what `over_wordings` returns, and
        the same for `seen` and `unseen` services; for `call_accuracy` also `by_service`, by the
        services' original names, the figures without intervals and the number of `frames`.
        `differences`: `call_accuracy` under each wording against the original. `decision` by
        variant; `frames`, how many calls there are;
        `dialogues`, how many dialogues have one; `signature`. What is undefined is None.

        The task of a dialogue is a success where every call of it is right, which is one with an
        accuracy of 0.5 or more; of the seen services, where every call of these is.

    Raises:
        ScoreError: The variants have calls in different frames.
    """
    names = sorted(variants, key=lambda name: (name != ORIGINAL, name))
    check_same_frames(variants)
    first = variants[names[0]]
    frame_index = index_frames(first.frame_id, first.seen)
    groups = frame_index.groups()
    accuracy = {name: variants[name].scores[CALL] for name in names}
    zero_mean = setup.rules.zero_mean
    of_metrics = {
        metric: _of_groups(
            {name: variants[name].scores[metric] for name in names}, frame_index, setup, False
        )
        for metric in CALL_METRICS
    }
    of_metrics[TASK_SUCCESS] = _of_groups(accuracy, frame_index, setup, True)
    every = case_scores(accuracy, frame_index.dialogue, zero_mean)
    of_metrics[CALL]["differences"] = case_differences(every)
    of_metrics[CALL]["by_service"] = {
        service: {
            **wording_figures(
                case_scores(
                    {name: row[groups[service]] for name, row in accuracy.items()},
                    frame_index.dialogue[groups[service]],
                    zero_mean,
                )
            ),
            "frames": len(groups[service]),
        }
        for service in frame_index.services()
    }
    return {
        "calls": of_metrics,
        "differences": of_metrics[CALL]["differences"],
        "decision": {name: variants[name].decision for name in names},
        "frames": {group: len(groups[group]) for group in (ALL, SEEN, UNSEEN)},
        "dialogues": len(np.unique(frame_index.dialogue)),
        "signature": signature(names, len(first.seen), dialogues, setup, task="calls"),
    }


def _of_groups(
    scores: Mapping[str, Floats], frame_index: FrameIndex, setup: Setup, of_tasks: bool
) -> dict[str, Any]:
    """The figures of calls, or of the tasks of their dialogues, for all, seen and unseen services.

    Args:
        scores: The scores of the calls by wording; for tasks, their accuracies [calls].
        frame_index: Where the calls belong.
        setup: How they were scored.
        of_tasks: Whether the figures are of tasks.
    """
    groups = frame_index.groups()
    figures = {}
    for group in (ALL, SEEN, UNSEEN):
        members = groups[group]
        dialogue = frame_index.dialogue[members]
        of_group = {name: row[members] for name, row in scores.items()}
        if of_tasks:
            of_group = {name: task_success(row, dialogue) for name, row in of_group.items()}
            dialogue = np.unique(dialogue)
        of_cases = case_scores(of_group, dialogue, setup.rules.zero_mean)
        figures[group] = over_wordings(of_cases, setup.over)
    return {**figures.pop(ALL), **figures}


def task_success(accuracy: Floats, dialogue: Ints) -> Floats:
    """1 for each dialogue all of whose calls are right, else 0 [dialogues].

    Args:
        accuracy: The accuracy of each call in [0, 1]; 0.5 and more is right [calls].
        dialogue: The number of each call's dialogue [calls].
    """
    dialogues, position = np.unique(dialogue, return_inverse=True)
    wrong = np.bincount(position, accuracy < RIGHT, len(dialogues))
    success: Floats = (wrong == 0).astype(np.float64)
    return success


def call_samples(
    tables: Mapping[str, Mapping[str, Floats]], dialogue: Ints, zero_mean: str = "0"
) -> tuple[Sample, Sample]:
    """Some calls, and the tasks of their dialogues, summed up for the figures of COMPARED.

    Args:
        tables: The scores by metric of CALL_METRICS, and by wording [calls].
        dialogue: The number of each call's dialogue [calls].
        zero_mean: As in `Rules`.

    Returns:
        A sample of the calls and one of the dialogues, whose figures have keys such as
        `call_accuracy.drop`. Where all wordings but the original are v1 to v5, their mean is
        `reworded` alone.
    """
    wordings = list(tables[CALL])
    success = {name: task_success(row, dialogue) for name, row in tables[CALL].items()}
    rows = {metric: np.stack(list(by_wording.values())) for metric, by_wording in tables.items()}
    calls = Scores(wordings, dialogue, rows, zero_mean)
    tasks = Scores(
        wordings, np.unique(dialogue), {TASK_SUCCESS: np.stack([*success.values()])}, zero_mean
    )
    is_paper = {*wordings} - {ORIGINAL} == {*PAPER_VARIANTS}

    def sample(scores: Scores) -> Sample:
        figures = {
            key: figure
            for metric in scores.metrics
            for key, figure in case_figures(scores, metric, f"{metric}.").items()
            if not (is_paper and key.endswith(".v1-5"))
        }
        return Sample(scores, figures)

    return sample(calls), sample(tasks)
