"""Whether a system calls the right API with the right arguments, in place of its dialogue state.

It is scored in the frames after whose user turn the system makes a call. Only turns followed by a
gold call are scored, so reluctance to call is not counted as misreading.

`over_wordings` and `differences` sum up scores of anything under any set of wordings, and serve the
cases of other APIs too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .bootstrap import (
    DIALOGUES,
    RESAMPLES,
    Interval,
    Statistics,
    Sums,
    bootstrap,
    compared,
    crossed_intervals,
    sums_by_dialogue,
)
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
from .robustness import RIGHT, flipped, mean_defined, variation, worst_case
from .rows import REFERENCE, ScoreError
from .signature import OFFICIAL, Rules, Setup, signature
from .slots import SchemaSlots, score_slots
from .units import ALL, SEEN, UNSEEN, FrameIndex, index_frames
from .variants import ORIGINAL, PAPER_VARIANTS

CALL_METRICS = ("call_name_accuracy", "call_argument_accuracy", "call_accuracy")
TASK_SUCCESS = "task_success"
DONTCARE = "dontcare"
# The figures of a metric over wordings, which have 95 % intervals.
FIGURES = ("original", "reworded", "v1-5", "drop", "sensitivity", "worst", "flips")
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
    values, or 1 if it equals the canonical value of the gold call. A parameter that is `dontcare`
    counts as left out: no call of SGD has one, as the API is then called without it. The score is
    0 for a call of another service. `call_accuracy` is the product of both.

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
        `calls`: for each of CALL_METRICS, and for TASK_SUCCESS, what `over_wordings` returns, and
        the same for `seen` and `unseen` services. `differences`: `call_accuracy` under each
        wording against the original. `decision` by variant; `frames`, how many calls there are;
        `dialogues`, how many dialogues have one; `signature`. What is undefined is None.

        The task of a dialogue is a success where every call of it is right, which is one with an
        accuracy of 0.5 or more; of the seen services, where every call of these is.

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
    accuracy = {name: variants[name].scores["call_accuracy"] for name in names}
    of_metrics = {
        metric: _of_metric(
            {name: variants[name].scores[metric] for name in names}, frame_index, groups, setup
        )
        for metric in CALL_METRICS
    }
    of_metrics[TASK_SUCCESS] = _of_task(accuracy, frame_index, groups, setup)
    of_metrics["call_accuracy"]["differences"] = differences(accuracy, frame_index.dialogue)
    return {
        "calls": of_metrics,
        "differences": of_metrics["call_accuracy"]["differences"],
        "decision": {name: variants[name].decision for name in names},
        "frames": {group: len(groups[group]) for group in (ALL, SEEN, UNSEEN)},
        "dialogues": len(np.unique(frame_index.dialogue)),
        "signature": signature(names, len(first.seen), dialogues, setup, task="calls"),
    }


def _of_metric(
    scores: Mapping[str, Floats],
    frame_index: FrameIndex,
    groups: Mapping[str, Ints],
    setup: Setup,
) -> dict[str, Any]:
    """The figures of one metric, for all, seen and unseen services."""
    figures = {
        group: over_wordings(
            {name: of_variant[groups[group]] for name, of_variant in scores.items()},
            frame_index.dialogue[groups[group]],
            setup.rules.zero_mean,
            setup.over,
        )
        for group in (ALL, SEEN, UNSEEN)
    }
    return {**figures.pop(ALL), **figures}


def _of_task(
    scores: Mapping[str, Floats],
    frame_index: FrameIndex,
    groups: Mapping[str, Ints],
    setup: Setup,
) -> dict[str, Any]:
    """The figures of the success of whole dialogues, for all, seen and unseen services."""
    figures = {}
    for group in (ALL, SEEN, UNSEEN):
        members = groups[group]
        dialogue = frame_index.dialogue[members]
        success = {
            name: task_success(of_variant[members], dialogue) for name, of_variant in scores.items()
        }
        figures[group] = over_wordings(
            success, np.unique(dialogue), setup.rules.zero_mean, setup.over
        )
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


def over_wordings(
    scores: Mapping[str, Floats], dialogue: Ints, zero_mean: str = "0", over: str = DIALOGUES
) -> dict[str, Any]:
    """Sum up the scores of the same cases under any wordings.

    Args:
        scores: Scores in [0, 1] by wording, NaN where undefined [cases].
        dialogue: The number of each case's dialogue; what is drawn for intervals are dialogues.
            Cases on their own are each a dialogue [cases].
        zero_mean: What the sensitivity makes of a case that scores 0 throughout, as in `Rules`.
        over: What the intervals are over: "dialogues", "wordings" or "both". Over wordings all but
            the original are drawn, and figures that are no means over wordings have no interval.

    Returns:
        `by_variant`, the mean under each wording; `original`; `reworded`, the mean over all other
        wordings of their means; `v1-5`, the same over v1 to v5, where all five are given; `drop`,
        `reworded` less `original`, and its `p`; `sensitivity` over the wordings but the original;
        `worst`, the mean of each case's least score, and `flips`, the share of cases that are right
        under one wording and wrong under another, both over all wordings; and in `confidence` the
        95 % interval of each of FIGURES. What is undefined, or needs a wording that is not there,
        is None: `sensitivity`, `worst` and `flips` need two.
    """
    names = list(scores)
    sums = _dialogue_sums(scores, dialogue, zero_mean)
    count = len(sums.total)

    def statistic(weights: Floats) -> Statistics:
        return _statistics(sums.means(weights), names)

    whole = statistic(np.ones((1, count))) if count else {}
    intervals = bootstrap(statistic, count) if over == DIALOGUES else _crossed(sums, names, over)
    return {
        "by_variant": {name: mean_defined(of_variant) for name, of_variant in scores.items()},
        **{key: _number(whole.get(key)) for key in FIGURES},
        "p": _p_of_drop(sums, names),
        "confidence": {key: intervals.get(key) for key in FIGURES},
    }


def _crossed(sums: Sums, names: list[str], over: str) -> dict[str, Interval]:
    """The intervals of the means over wordings, where wordings are drawn.

    Args:
        sums: What `_dialogue_sums` returned.
        names: The wordings, in the order of the first rows.
        over: "wordings" or "both".
    """
    reworded = [i for i, name in enumerate(names) if name != ORIGINAL]
    are_papers = sorted(names[i] for i in reworded) == sorted(PAPER_VARIANTS)

    def statistic(weights: Floats, shares: Floats) -> Statistics:
        means = sums.means(weights)
        statistics = {"reworded": (means[:, reworded] * shares).sum(axis=1)}
        if are_papers:
            statistics["v1-5"] = statistics["reworded"]
        if ORIGINAL in names:
            statistics["original"] = means[:, names.index(ORIGINAL)]
            statistics["drop"] = statistics["reworded"] - statistics["original"]
        return statistics

    return crossed_intervals(statistic, len(sums.total), len(reworded), over)


def differences(scores: Mapping[str, Floats], dialogue: Ints) -> dict[str, dict[str, float | None]]:
    """How far the scores under each wording are from those under the original.

    Args:
        scores, dialogue: As for `over_wordings` [cases].

    Returns:
        For each wording but the original `difference`, its 95 % interval from `low` to `high`, and
        `p` of paired approximate randomisation; None without the original.
    """
    names = list(scores)
    others = [name for name in names if name != ORIGINAL]
    comparisons: dict[str, Any] = {}
    if ORIGINAL in names and others and len(dialogue):
        sums = _dialogue_sums(scores, dialogue, "0")
        original = sums.only([names.index(ORIGINAL)] * len(others))
        comparisons = compared(
            original,
            sums.only([names.index(name) for name in others]),
            lambda means: {name: means[..., i] for i, name in enumerate(others)},
            RESAMPLES,
        )
    undefined = {"difference": None, "interval": None, "p": None}
    of_wordings = {}
    for name in others:
        against = comparisons.get(name, undefined)
        low, high = against["interval"] or (None, None)
        of_wordings[name] = {
            "difference": against["difference"],
            "low": low,
            "high": high,
            "p": against["p"],
        }
    return of_wordings


def _dialogue_sums(scores: Mapping[str, Floats], dialogue: Ints, zero_mean: str) -> Sums:
    """Sums over each dialogue, of the scores by wording and then of what they say together.

    The rows are the wordings in their order, and then variation, worst case and flips.
    """
    by_variant = np.stack(list(scores.values()))
    reworded = [name != ORIGINAL for name in scores]
    rows = np.vstack(
        [
            by_variant,
            variation(by_variant[reworded], zero_mean),
            worst_case(by_variant),
            flipped(by_variant),
        ]
    )
    return sums_by_dialogue(rows, dialogue)


def _statistics(means: Floats, names: list[str]) -> Statistics:
    """Those of FIGURES that the wordings give [draws].

    Args:
        means: Means of the rows of `_dialogue_sums` [draws, rows].
        names: The wordings, in the order of the first rows.
    """
    reworded = [i for i, name in enumerate(names) if name != ORIGINAL]
    paper = [i for i, name in enumerate(names) if name in PAPER_VARIANTS]
    statistics = {}
    if ORIGINAL in names:
        statistics["original"] = means[..., names.index(ORIGINAL)]
    if reworded:
        statistics["reworded"] = means[..., reworded].mean(axis=-1)
    if len(paper) == len(PAPER_VARIANTS):
        statistics["v1-5"] = means[..., paper].mean(axis=-1)
    if len(statistics) > 1 and ORIGINAL in names:
        statistics["drop"] = statistics["reworded"] - statistics["original"]
    if len(reworded) > 1:
        statistics["sensitivity"] = means[..., len(names)]
    if len(names) > 1:
        statistics["worst"] = means[..., len(names) + 1]
        statistics["flips"] = means[..., len(names) + 2]
    return statistics


def _p_of_drop(sums: Sums, names: list[str]) -> float | None:
    """The p-value of the drop, for which a dialogue's two sides change places as a whole."""
    others = [i for i, name in enumerate(names) if name != ORIGINAL]
    if ORIGINAL not in names or not others or not len(sums.total):
        return None
    original = sums.only([names.index(ORIGINAL)] * len(others))
    drop = compared(
        original, sums.only(others), lambda means: {"drop": means.mean(axis=-1)}, RESAMPLES
    )["drop"]
    p: float | None = drop["p"]
    return p


def _number(values: Floats | None) -> float | None:
    return None if values is None or np.isnan(values[0]) else float(values[0])
