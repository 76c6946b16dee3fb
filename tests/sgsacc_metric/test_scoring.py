"""Counts of single turns, the slot error rate's edges, and predictions that do not fit."""

from __future__ import annotations

import pytest

from sgdx_metric.errors import ScoreError
from sgsacc_metric.rows import Prediction
from sgsacc_metric.scoring import utterances_by_variant
from sgsacc_metric.ser import checked_values, contains, contains_words

from .turns import act, four_turns, turn


def test_predictions_that_do_not_fit() -> None:
    turns = four_turns()[:2]
    rows = [Prediction(one.turn_id, "v1", "x") for one in turns]
    for predicted, fault in (
        ([*rows, rows[0]], "predictions for v1: turn 1_00000/1"),
        ([*rows, Prediction("9/9", "v1", "x")], "predictions for v1: turn 9/9"),
        (rows[:1], "1 of 2 turns .* 1_00000/3"),
        ([], "no predictions"),
    ):
        with pytest.raises(ScoreError, match=fault):
            utterances_by_variant(turns, predicted)


def test_which_values_are_looked_for() -> None:
    of = turn(
        act("CONFIRM", "city", "Rome"),
        act("OFFER", "star_rating", "3"),
        act("INFORM", "has_wifi", "True"),
        act("INFORM_COUNT", "count", "9"),
        act("OFFER_INTENT", "intent", "BookHotel"),
        act("CONFIRM", "intent", "rent"),
        act("REQUEST", "city", "Pisa", "Siena"),
        act("REQUEST", "city"),
        act("GOODBYE"),
        act("INFORM", "street", "Via Roma"),
    )
    assert checked_values(of) == ["Rome", "Pisa", "Siena"]


@pytest.mark.parametrize(
    ("utterance", "value", "inside", "as_words"),
    [
        ("I found ROME for you", "Rome", True, True),
        ("It leaves at 12:30", "2", True, False),
        ("It leaves at 12:30", "30", True, True),
        ("That is $45 a day", "$45", True, True),
        ("It leaves at half past six", "6:30 pm", False, False),
    ],
)
def test_values_in_utterances(utterance: str, value: str, inside: bool, as_words: bool) -> None:
    assert contains(utterance, value) == inside
    assert contains_words(utterance, value) == as_words
