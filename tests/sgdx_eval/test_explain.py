"""Why a frame or a call scores what it does, slot by slot, and which flip."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdx_eval.explain import find_flips
from sgdx_eval.tasks.calls import Calls
from sgdx_eval.tasks.frames import explain
from sgdx_eval.tasks.states import States
from sgdx_metric.calls import CALL_PREDICTION, CALL_REFERENCE
from sgdx_metric.scoring import score_frames
from sgdx_metric.signature import Rules

from ..sgdx_metric import call_rows
from ..sgdx_metric.call_rows import call
from ..sgdx_metric.frames import prediction, prediction_table, reference, reference_table

FRAME = "1_00000/0/Hotels_1"


def test_variants_line_up_by_the_place_in_the_schema() -> None:
    names = {"original": {"city": False, "stars": True}, "v1": {"town": False, "class": True}}
    references = {
        "original": reference({"city": ["Rome"]}, schema=names["original"]),
        "v1": reference({"town": ["Rome"]}, schema=names["v1"], service="Hotels_11"),
    }
    predictions = {
        "original": prediction({"city": ["Rome"], "stars": ["3"]}),
        "v1": prediction({"town": ["Paris"]}, active_intent="NONE", requested_slots=["class"]),
    }
    lines = explain(
        FRAME,
        {name: reference_table(row) for name, row in references.items()},
        {name: prediction_table(row) for name, row in predictions.items()},
        States(),
    )
    assert [(line.aspect, line.variant, line.slot, line.score) for line in lines] == [
        ("joint goal", "original", "", 0),
        ("joint goal", "v1", "", pytest.approx(0.22)),
        ("active intent", "original", "", 1),
        ("active intent", "v1", "", 0),
        ("requested slots", "original", "", 1),
        ("requested slots", "v1", "", 0),
        ("city", "original", "city", 1),
        ("city", "v1", "town", pytest.approx(0.22)),
        ("stars", "original", "stars", 0),
        ("stars", "v1", "class", 1),
    ]


VALUES = st.lists(st.sampled_from(["Rome", "rome", "Rom", "3", ""]), min_size=1, max_size=2)
STATE = st.dictionaries(st.sampled_from(["city", "name", "stars", "wifi", "pets"]), VALUES)


@given(STATE, STATE, st.booleans())
def test_the_product_of_the_slots_is_the_joint_goal(
    true: dict[str, list[str]], guess: dict[str, list[str]], fuzzy: bool
) -> None:
    rules = Rules(use_fuzzy_match=fuzzy)
    of_gold, of_guess = reference_table(reference(true)), prediction_table(prediction(guess))
    lines = explain(FRAME, {"original": of_gold}, {"original": of_guess}, States(), rules)
    joint = score_frames(of_gold, of_guess, "original", rules).scores["joint_goal_accuracy"][0]
    scores = [line.score for line in lines if line.position >= 0 and line.score is not None]
    assert math.prod(scores) == pytest.approx(joint)
    assert lines[0].score == joint


def test_a_flip_says_under_which_variants_and_what_changed() -> None:
    """The first frame is right under v1 alone, where the city is found; the second is always."""
    schemas = {
        "original": {"city": False, "stars": True},
        "v1": {"town": False, "class": True},
        "v2": {"place": False, "grade": True},
    }
    values = {"original": ["Oslo"], "v1": ["Rome"], "v2": []}
    true, guesses = {}, {}
    for name, schema in schemas.items():
        slot, stars = schema
        rows = [reference({slot: ["Rome"], stars: ["3"]}, f, schema) for f in (FRAME, "9/0/A_1")]
        true[name] = reference_table(*rows)
        found = {slot: values[name]} if values[name] else {}
        guesses[name] = prediction_table(
            prediction({slot: ["Rome"], stars: ["3"]}, "9/0/A_1"),
            prediction({**found, stars: ["3"]}, FRAME),
        )
    items = States().item_table(true, guesses, Rules())
    (flip,) = find_flips(items)
    assert (flip.item, flip.right, flip.wrong) == (FRAME, ["v1"], ["original", "v2"])
    ((before, after),) = flip.changes
    assert (before.slot, before.predicted, before.score) == ("town", ["Rome"], 1)
    assert (after.slot, after.predicted) == ("city", ["Oslo"])
    assert after.score == pytest.approx(0.25)
    assert len(items.ids) == 2


# ---- calls

RIGHT = {"time": "6:15 pm", "riders": "2"}


def lines_of(made: dict[str, Any] | None, rules: Rules | None = None) -> list[tuple[Any, ...]]:
    """Aspect, expected, given, score and reason of each line about a call."""
    gold = call_rows.reference(0, call_rows.GOLD, **call_rows.STATE)
    true = {"original": call_rows.table([gold], CALL_REFERENCE)}
    row = {"frame_id": "0/0/Cabs_1", "variant": "original", "service_call": made}
    predicted = {"original": call_rows.table([row], CALL_PREDICTION)}
    lines = explain("0/0/Cabs_1", true, predicted, Calls(), rules or Rules())
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
    if wrong[-1].startswith("fuzzy"):
        exact = lines_of(made, Rules(use_fuzzy_match=False))
        assert (*wrong[:3], 0, "differs") in exact and exact[0][3] == 0
