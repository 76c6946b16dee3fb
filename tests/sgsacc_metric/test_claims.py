"""Asking a model of entailment: pairs, claims in two waves, and verdicts on utterances."""

from __future__ import annotations

import pytest

from sgdx_metric.errors import ScoreError
from sgsacc_metric.claims import Claim, Judgement, context_of, judge_claims
from sgsacc_metric.gold import Options, judge_gold, judge_utterances
from sgsacc_metric.nli import Judge, clearest, entails, nli_name

from .turns import NO, YES, Script, act, turn


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


@pytest.mark.parametrize("answer", [[0.5, 0.5], [2.5, -0.5, 0.0], [float("nan"), 0, 0]])
def test_answers_that_are_no_probabilities(answer: list[float]) -> None:
    with pytest.raises(ScoreError, match="^nli: "):
        Judge(lambda pairs: [answer]).ask([("a", "b")])


def test_names_of_models() -> None:
    assert nli_name(None) == "none"
    assert nli_name(Script({})) == "script"
    assert nli_name(lambda pairs: pairs) == "function:<lambda>"


def test_premises_in_context() -> None:
    of = turn(act("GOODBYE"), prompt=" Thanks, bye. ")
    assert context_of(of, of.actions[0], "Bye!") == "Thanks, bye. Bye!"
    assert context_of(turn(prompt=""), act("CONFIRM", "city", "Rome"), "Rome?") == (
        "City of the hotel. Rome?"
    )
    assert context_of(turn(prompt=""), act("GOODBYE"), "Bye!") is None


def test_only_what_fails_alone_is_asked_in_context() -> None:
    script = Script({("a", "x"): YES, ("b", "x"): NO, ("c b", "x"): YES, ("d", "x"): NO})
    claims = [Claim("a", "c a", ["x"]), Claim("b", "c b", ["x"]), Claim("d", None, ["x"])]
    judgements = judge_claims([*claims, Claim("e", "c e", [])], Judge(script))
    assert judgements == [
        Judgement((YES,)),
        Judgement((NO,), (YES,)),
        Judgement((NO,)),
        Judgement(()),
    ]
    assert [judgement.entailed for judgement in judgements] == [True, True, False, False]
    assert script.calls == [[("a", "x"), ("b", "x"), ("d", "x")], [("c b", "x")]]


def test_a_turn_without_a_judged_action_passes() -> None:
    of = turn(act("NOTIFY_SUCCESS"))
    judge = Judge(Script({}))
    gold = judge_gold([of], judge, Options())
    (verdict,) = judge_utterances([of], gold, {"v1": [""]}, judge)["v1"]
    assert verdict.faithful and gold[0].valid and not gold[0].judged and judge.asked == 0
