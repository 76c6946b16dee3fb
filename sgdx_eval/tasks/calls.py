"""Calls: a call is right where function and arguments are, a task where all its calls are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.calls import (
    CALL,
    CALL_METRICS,
    CALL_PREDICTION,
    CALL_REFERENCE,
    DONTCARE,
    TASK_SUCCESS,
    TITLES,
    CallScores,
    call_figures,
    report_calls,
    score_calls,
)
from sgdx_metric.figures import FIGURES, under_each, with_tasks
from sgdx_metric.signature import Rules, Setup
from sgdx_metric.statistics import Figure
from sgdx_metric.units import ALL, SEEN, UNSEEN, Scores

from ..explain import Line, Row, judge_values
from ..tables import Table, percent, table
from ..task import Changes
from .frames import FrameTask


class CallParameter(msgspec.Struct, gc=False):
    """A parameter of a call."""

    slot: str
    value: str


class PredictedCall(msgspec.Struct, gc=False):
    """A call of a service, under the names of the variant's schema."""

    service: str
    method: str
    parameters: list[CallParameter]


class CallPrediction(msgspec.Struct, gc=False):
    """Which call is predicted to follow a frame's turn; None where none is."""

    frame_id: str
    variant: str
    service_call: PredictedCall | None


class Calls(FrameTask):
    """The calls of SGD's services, in the frames after which one is made."""

    name = "calls"
    unit = "call"
    main = CALL
    title = "Call accuracy"
    deciding = (f"{CALL}.reworded",)
    Prediction = CallPrediction
    predicted = CALL_PREDICTION
    references = CALL_REFERENCE
    # The main metric comes first.
    paired = CALL_METRICS
    explained = ("service", "schema_slots", "slot_values", "service_call")

    def score_rows(
        self, references: pa.Table, predictions: pa.Table, variant: str, rules: Rules
    ) -> CallScores:
        return score_calls(references, predictions, variant, rules)

    def report(
        self, by_variant: Mapping[str, CallScores], dialogues: int, setup: Setup
    ) -> dict[str, Any]:
        return report_calls(by_variant, dialogues, setup)

    def groups_of(self, content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """The figures of each metric, under keys such as `call_accuracy.drop`."""
        return {name: metric_figures(content["calls"], name) for name in (ALL, SEEN, UNSEEN)}

    def by_variant_of(self, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], Changes]:
        """The accuracy of whole calls."""
        return content["calls"][CALL]["by_variant"], content["differences"]

    def is_shown(self, key: str) -> bool:
        """All of calls and tasks, and of names and arguments the means."""
        metric, _, figure = key.partition(".")
        return metric in (CALL, TASK_SUCCESS) or figure in ("original", "reworded", "v1-5")

    def more_tables(self, content: Mapping[str, Any]) -> list[Table]:
        """Tasks, and the decision to call, by variant."""
        decisions = content["decision"]
        decided = ("precision", "recall") if any(decisions.values()) else ()
        rows = [
            [name, percent(mean), *(percent((decisions.get(name) or {}).get(k)) for k in decided)]
            for name, mean in content["calls"][TASK_SUCCESS]["by_variant"].items()
        ]
        title = f"Tasks of {content['dialogues']} dialogues"
        title += ", and the decision to call" if decided else ""
        return [table(f"{title}, by variant", ["variant", "task", *decided], rows)]

    def frame_lines(
        self, variant: str, reference: Row, predicted: Row, scores: Mapping[str, float]
    ) -> Iterator[Line]:
        yield Line(-3, "call", variant, "", [], [], scores["call_accuracy"], "product")

    def slot_lines(
        self, variant: str, reference: Row, predicted: Row, aspects: list[str], rules: Rules
    ) -> Iterator[Line]:
        """The lines of the function, of each slot of the schema, and of other parameters."""
        true, call = reference["service_call"], predicted["service_call"]
        yield _function_line(variant, reference["service"], true["method"], call)
        state = {item["slot"]: item["values"] for item in reference["slot_values"]}
        true_values = {item["slot"]: item["value"] for item in true["parameters"]}
        predicted_values = {
            item["slot"]: item["value"] for item in (call or {}).get("parameters", ())
        }
        is_of_service = call is not None and call["service"] == reference["service"]
        for position, slot in enumerate(reference["schema_slots"]):
            name = slot["name"]
            canonical = true_values.get(name)
            spoken = [] if canonical is None else state.get(name, [canonical])
            value = predicted_values.pop(name, None) if is_of_service else None
            score, why = _judge(spoken, canonical, value, slot["is_categorical"], rules)
            expected = spoken if canonical in (None, *spoken) else [*spoken, canonical]
            given = [] if value is None else [value]
            yield Line(position, aspects[position], variant, name, expected, given, score, why)
        why = "ignored: not a slot" if is_of_service else "of another API"
        for name, value in predicted_values.items():
            yield Line(len(aspects), name, variant, name, [], [value], None, why)

    def called(self, frames: pa.Table, frame_id: str, variant: str) -> pa.Table:
        """The frames that a call follows."""
        called = frames.filter(frames["service_call"].is_valid())
        ids = called["frame_id"].to_pylist()
        if frame_id not in ids and frame_id in frames["frame_id"].to_pylist():
            raise SgdxError(
                f"references for {variant}: found no call after frame {frame_id}, expected one of "
                f"the {len(ids)} frames of its dialogue that a call follows: {', '.join(ids)}"
            )
        return called

    def figures(self, scores: Scores) -> list[Figure]:
        return call_figures(scores)

    def headlines(self, scores: Scores) -> dict[str, list[Figure]]:
        known = [metric for metric in (CALL, TASK_SUCCESS) if metric in scores.metrics]
        return {metric: under_each(scores, metric, TITLES[metric][0]) for metric in known}

    def derived(self, scores: Scores, rules: Rules) -> Scores:
        """The same, and whether the task of each dialogue is a success."""
        return with_tasks(scores, (CALL,))


def _function_line(variant: str, service: str, method: str, call: Row | None) -> Line:
    """The line of the function that is called, as `<service>.<intent>`."""
    expected, given = f"{service}.{method}", ""
    if call is None:
        why = "no call"
    else:
        given = f"{call['service']}.{call['method']}"
        another = "another intent" if call["service"] == service else "another API"
        why = "equal" if given == expected else another
    score = float(given == expected)
    return Line(-2, "function", variant, "", [expected], [given] if given else [], score, why)


def _judge(
    spoken: list[str], canonical: str | None, value: str | None, categorical: bool, rules: Rules
) -> tuple[float, str]:
    """The score of a parameter in [0, 1], and what decided it.

    It is expected as it was `spoken` in the state, or as the call has it; [] and None for none.
    """
    is_dontcare = value is not None and value.strip().lower() == DONTCARE
    guess = [] if value is None or is_dontcare else [value]
    score, why = judge_values(spoken, guess, categorical, rules)
    if guess and guess[0] == canonical and score < 1:
        return 1.0, "canonical value"
    return score, f"{why}: counts as left out" if is_dontcare else why


def metric_figures(metrics: Mapping[str, Any], group: str = ALL) -> dict[str, Any]:
    """The figures of several metrics of a group, whose keys begin with the metric."""
    figures: dict[str, Any] = {"confidence": {}}
    for metric, of_all in metrics.items():
        of_group = of_all if group == ALL else of_all[group]
        for key in FIGURES:
            figures[f"{metric}.{key}"] = of_group[key]
            figures["confidence"][f"{metric}.{key}"] = of_group["confidence"][key]
    return figures
