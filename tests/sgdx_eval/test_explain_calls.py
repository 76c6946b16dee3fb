"""Explanations of calls: literal lines, flips, and the command on calls of the sample."""

from __future__ import annotations

from typing import Any

import pytest

from sgdx_eval.tasks.calls import Calls
from sgdx_eval.tasks.frames import explain
from sgdx_metric.calls import CALL_PREDICTION, CALL_REFERENCE
from sgdx_metric.signature import Rules

from ..sgdx_metric.call_rows import GOLD, STATE, call, reference, table

FRAME = "0/0/Cabs_1"
RIGHT = {"time": "6:15 pm", "riders": "2"}


def lines_of(made: dict[str, Any] | None, rules: Rules | None = None) -> list[tuple[Any, ...]]:
    """Aspect, expected, given, score and reason of each line."""
    true = table([reference(0, GOLD, **STATE)], CALL_REFERENCE)
    row = {"frame_id": FRAME, "variant": "original", "service_call": made}
    predicted = table([row], CALL_PREDICTION)
    lines = explain(FRAME, {"original": true}, {"original": predicted}, Calls(), rules or Rules())
    return [(line.aspect, line.reference, line.predicted, line.score, line.why) for line in lines]


TIME = ["quarter past six", "6:15 pm", "18:15"]  # as it was spoken, and the canonical value
ORDER = ["Cabs_1.OrderCab"]


def test_a_right_call() -> None:
    assert lines_of(call("OrderCab", **RIGHT)) == [
        ("call", [], [], 1, "product"),
        ("function", ORDER, ORDER, 1, "equal"),
        ("time", TIME, ["6:15 pm"], 1, "equal"),
        ("riders", ["2"], ["2"], 1, "equal"),
    ]
    assert lines_of(call("OrderCab", time="18:15", riders="2"))[2] == (
        "time", TIME, ["18:15"], 1, "canonical value",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        (call("CancelCab", **RIGHT),
         ("function", ORDER, ["Cabs_1.CancelCab"], 0, "another intent")),
        (None, ("function", ORDER, [], 0, "no call")),
        (None, ("time", TIME, [], 0, "missing")),
        (call("OrderCab", "Zoos_1", time="6:15 pm"),
         ("function", ORDER, ["Zoos_1.OrderCab"], 0, "another API")),
        (call("OrderCab", "Zoos_1", time="6:15 pm"), ("time", TIME, [], 0, "missing")),
        (call("OrderCab", "Zoos_1", time="6:15 pm"),
         ("time", [], ["6:15 pm"], None, "of another API")),
        (call("OrderCab", time="6:15 pm", riders="two"), ("riders", ["2"], ["two"], 0, "differs")),
        (call("OrderCab", **RIGHT, shared="True"), ("shared", [], ["True"], 0, "extra")),
        (call("OrderCab", **RIGHT, shared="dontcare"),
         ("shared", [], ["dontcare"], 1, "no value: counts as left out")),
        (call("OrderCab", time="dontcare", riders="2"),
         ("time", TIME, ["dontcare"], 0, "missing: counts as left out")),
        (call("OrderCab", **RIGHT, colour="red"),
         ("colour", [], ["red"], None, "ignored: not a slot")),
        (call("OrderCab", time="6:15 am", riders="2"),
         ("time", TIME, ["6:15 am"], pytest.approx(0.86), 'fuzzy 86 against "6:15 pm"')),
    ],
)  # fmt: skip
def test_what_is_wrong(made: dict[str, Any] | None, wrong: tuple[Any, ...]) -> None:
    assert wrong in lines_of(made)


def test_without_fuzzy_match() -> None:
    lines = lines_of(call("OrderCab", time="6:15 am", riders="2"), Rules(use_fuzzy_match=False))
    assert ("time", TIME, ["6:15 am"], 0, "differs") in lines
    assert lines[0] == ("call", [], [], 0, "product")
