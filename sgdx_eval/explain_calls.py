"""One call taken apart: the expected call and the predicted one under every schema variant."""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.calls import CALL_REFERENCE, DONTCARE, score_calls
from sgdx_metric.signature import Rules

from .explain import Line, Row, TaskLines, judge_values


def _frame_lines(
    variant: str, reference: Row, predicted: Row, scores: Mapping[str, float]
) -> Iterator[Line]:
    """The line of the whole call."""
    yield Line(-3, "call", variant, "", [], [], scores["call_accuracy"], "product")


def _slot_lines(
    variant: str, reference: Row, predicted: Row, aspects: list[str], rules: Rules
) -> Iterator[Line]:
    """The line of the function, a line for each slot of the schema, and for other parameters."""
    true, call = reference["service_call"], predicted["service_call"]
    yield _function_line(variant, reference["service"], true["method"], call)
    state = {item["slot"]: item["values"] for item in reference["slot_values"]}
    true_values = {item["slot"]: item["value"] for item in true["parameters"]}
    predicted_values = {item["slot"]: item["value"] for item in (call or {}).get("parameters", ())}
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

    Args:
        spoken: The values of the state, which was spoken; [] where the call has no such parameter.
        canonical: The value in the call; None likewise.
        value: The predicted value; None for none.
        categorical: Whether the slot is categorical.
        rules: How values are compared.
    """
    is_dontcare = value is not None and value.strip().lower() == DONTCARE
    guess = [] if value is None or is_dontcare else [value]
    score, why = judge_values(spoken, guess, categorical, rules)
    if guess and guess[0] == canonical and score < 1:
        return 1.0, "canonical value"
    return score, f"{why}: counts as left out" if is_dontcare else why


def only_called(frames: pa.Table, frame_id: str, variant: str) -> pa.Table:
    """The frame rows that a call follows.

    Args:
        frames: The frame rows of a dialogue.
        frame_id: The frame that is asked for.
        variant: The variant, for the error message.

    Raises:
        SgdxError: It is one of the frames, and no call follows it.
    """
    called = frames.filter(frames["service_call"].is_valid())
    ids = called["frame_id"].to_pylist()
    if frame_id not in ids and frame_id in frames["frame_id"].to_pylist():
        raise SgdxError(
            f"references for {variant}: found no call after frame {frame_id}, expected one of the "
            f"{len(ids)} frames of its dialogue that a call follows: {', '.join(ids)}"
        )
    return called


CALL_LINES = TaskLines(
    accuracy="call_accuracy",
    unit="call",
    references=CALL_REFERENCE,
    columns=("service", "schema_slots", "slot_values", "service_call"),
    score=score_calls,
    frame_lines=_frame_lines,
    slot_lines=_slot_lines,
)
