"""Asking a model of entailment: each pair once, and answers that are probabilities."""

from __future__ import annotations

import pytest

from sgdx_metric.rows import ScoreError
from sgsacc_metric.faithful import judge_utterances
from sgsacc_metric.gold import judge_gold
from sgsacc_metric.nli import Judge, clearest, entails, nli_name

from .turns import GOLD, LONG, NO, PLAIN, SHORT, YES, Script, turn


def test_entailment_has_to_be_the_highest() -> None:
    assert entails((0.45, 0.30, 0.25))
    assert not entails((0.48, 0.50, 0.02))
    assert not entails((0.5, 0.5, 0.0))
    assert entails((0.51, 0.0, 0.49)) and not entails((0.5, 0.0, 0.5))  # of two classes


def test_the_clearest_sentence() -> None:
    """An entailed sentence first, then the more probable, then the first."""
    entailed, clearer, probable = (0.45, 0.30, 0.25), (0.6, 0.3, 0.1), (0.48, 0.50, 0.02)
    assert clearest([probable, entailed]) == 1
    assert clearest([entailed, clearer]) == 1
    assert clearest([NO, probable, NO]) == 1
    assert clearest([clearer, clearer]) == 0


def test_distinct_pairs_are_sent_once() -> None:
    script = Script({(GOLD, LONG): YES, (GOLD, SHORT): NO})
    judge = Judge(script)
    turns = [turn(turn_id=f"{i}/1") for i in range(5)]
    gold = judge_gold(turns, judge, PLAIN)
    judge_utterances(turns, gold, {"v1": [GOLD] * 5, "v2": [GOLD] * 5}, judge, context=False)
    assert (judge.asked, judge.sent) == (20, 2)
    assert script.calls == [[(GOLD, LONG), (GOLD, SHORT)]]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[0.5, 0.5]], r"found an array of shape \(1, 2\) for 1 pairs, expected \(1, 3\)"),
        ([[2.5, -0.5, 0.0]], "found a number outside"),
        ([[float("nan"), 0, 0]], "found a number outside"),
    ],
)
def test_answers_that_are_no_probabilities(answer: list[list[float]], message: str) -> None:
    with pytest.raises(ScoreError, match=message):
        Judge(lambda pairs: answer).ask([("a", "b")])


def test_names_of_models() -> None:
    assert nli_name(None) == "none"
    assert nli_name(Script({})) == "script"
    assert nli_name(lambda pairs: pairs) == "function:<lambda>"
