"""Why a frame or a call scores what it does, slot by slot, and which flip."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdx_eval.explain import find_flips
from sgdx_eval.tasks.states import STATES, explain
from sgdx_metric.scoring import score_frames
from sgdx_metric.signature import Rules

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
        STATES,
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
    lines = explain(FRAME, {"original": of_gold}, {"original": of_guess}, STATES, rules)
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
    items = STATES.item_table(true, guesses, Rules())
    (flip,) = find_flips(items)
    assert (flip.item, flip.right, flip.wrong) == (FRAME, ["v1"], ["original", "v2"])
    ((before, after),) = flip.changes
    assert (before.slot, before.predicted, before.score) == ("town", ["Rome"], 1)
    assert (after.slot, after.predicted) == ("city", ["Oslo"])
    assert after.score == pytest.approx(0.25)
    assert len(items.ids) == 2
