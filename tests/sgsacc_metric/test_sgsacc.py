"""The gold side and the verdicts, branch by branch, with a model of entailment that is a script."""

from __future__ import annotations

import pytest

from sgdx_metric.rows import ScoreError
from sgsacc_metric.claims import context_of
from sgsacc_metric.faithful import judge_utterances
from sgsacc_metric.gold import GoldAction, Options, judge_gold
from sgsacc_metric.nli import Judge, entails

from .turns import NO, YES, Script, act, turn

GOLD = "A hotel in Rome?"
LONG, SHORT = "City of the hotel is Rome.", "City is Rome."
CONTEXT = "Find me a hotel. City of the hotel. A hotel in Rome?"
PLAIN = Options(validate=False, context=False)


def test_entailment_has_to_be_the_highest() -> None:
    assert entails((0.45, 0.30, 0.25))
    assert not entails((0.48, 0.50, 0.02))
    assert not entails((0.5, 0.5, 0.0))
    assert entails((0.51, 0.0, 0.49)) and not entails((0.5, 0.0, 0.5))  # of two classes


def test_a_reference_that_is_entailed_beats_one_that_is_more_probable() -> None:
    script = Script({(GOLD, LONG): (0.48, 0.50, 0.02), (GOLD, SHORT): (0.45, 0.30, 0.25)})
    (gold,) = judge_gold([turn()], Judge(script), PLAIN)
    assert gold.actions == [GoldAction(SHORT)]


def test_the_first_of_equal_candidates_is_taken() -> None:
    (gold,) = judge_gold([turn()], Judge(Script({(GOLD, LONG): YES, (GOLD, SHORT): YES})), PLAIN)
    assert gold.actions[0].reference == LONG


def test_one_candidate_is_not_asked_about_without_validation() -> None:
    of = turn(act("OFFER_INTENT", "intent", "BookHotel"), act("NOTIFY_SUCCESS"))
    judge = Judge(Script({}))
    (gold,) = judge_gold([of], judge, PLAIN)
    assert [action.reference for action in gold.actions] == ["Intent is BookHotel.", ""]
    assert judge.sent == 0 and gold.judged and gold.valid


def test_context_decides_where_the_utterance_alone_does_not() -> None:
    answers = {(GOLD, LONG): NO, (GOLD, SHORT): (0.4, 0.5, 0.1)}
    in_context = {(CONTEXT, LONG): YES, (CONTEXT, SHORT): NO}
    script = Script(answers | in_context)
    (gold,) = judge_gold([turn()], Judge(script), Options())
    assert gold.actions[0] == GoldAction(LONG, entailed=True)  # no other city: nothing is tampered
    assert [len(call) for call in script.calls] == [2, 2]
    (gold,) = judge_gold([turn()], Judge(Script(answers)), Options(context=False))
    assert gold.actions[0] == GoldAction(SHORT, entailed=False) and not gold.valid


def test_validation_with_a_tampered_action() -> None:
    of = turn(act("CONFIRM", "has_wifi", "True"), utterance="With wifi?", prompt="")
    right = ["Whether the hotel has wifi? Yes.", "Has wifi? Yes.", "Does has wifi."]
    wrong = ["Whether the hotel has wifi? No.", "Has wifi? No.", "Has not wifi."]
    context = "Whether the hotel has wifi. With wifi?"
    answers = {("With wifi?", one): YES for one in right}
    answers |= {(premise, one): NO for one in wrong for premise in ("With wifi?", context)}
    (gold,) = judge_gold([of], Judge(Script(answers)), Options())
    assert gold.actions == [GoldAction(right[0], True, wrong, False)] and gold.valid
    fooled = answers | {(context, wrong[2]): YES}
    (gold,) = judge_gold([of], Judge(Script(fooled)), Options())
    assert gold.actions[0].fooled and not gold.valid


def test_premises_in_context() -> None:
    of = turn(act("GOODBYE"), prompt=" Thanks, bye. ")
    assert context_of(of, of.actions[0], "Bye!") == "Thanks, bye. Bye!"
    assert context_of(turn(prompt=""), act("CONFIRM", "city", "Rome"), "Rome?") == (
        "City of the hotel. Rome?"
    )
    assert context_of(turn(prompt=""), act("GOODBYE"), "Bye!") is None


def test_verdicts_of_generated_utterances_in_two_waves() -> None:
    of = turn(act("CONFIRM", "city", "Rome"), act("GOODBYE"), act("NOTIFY_SUCCESS"))
    bye = ["Have a good day.", "Bye bye.", "See you."]
    gold_answers = {(GOLD, LONG): YES, (GOLD, SHORT): NO}
    gold_answers |= {(GOLD, one): YES if one == "See you." else NO for one in bye}
    gold = judge_gold([of], Judge(Script(gold_answers)), PLAIN)
    said = {"original": ["Rome. See you!"], "v1": ["See you!"], "v2": [""]}
    answers = {
        ("Rome. See you!", LONG): YES,
        ("Rome. See you!", "See you."): YES,
        ("See you!", LONG): NO,
        ("See you!", "See you."): YES,
        ("", LONG): NO,
        ("", "See you."): NO,
        ("Find me a hotel. City of the hotel. See you!", LONG): YES,
        ("Find me a hotel. City of the hotel.", LONG): NO,
        ("Find me a hotel.", "See you."): NO,
    }
    script = Script(answers)
    found = judge_utterances([of], gold, said, Judge(script))
    assert [found[name][0].faithful for name in said] == [True, True, False]
    assert [found[name][0].faithful_alone for name in said] == [True, False, False]
    assert found["v1"][0].judgements[2] is None
    assert [len(call) for call in script.calls] == [6, 3]


def test_a_turn_without_a_judged_action_passes() -> None:
    of = turn(act("NOTIFY_SUCCESS"))
    judge = Judge(Script({}))
    gold = judge_gold([of], judge, Options())
    (verdict,) = judge_utterances([of], gold, {"v1": [""]}, judge)["v1"]
    assert verdict.faithful and gold[0].valid and not gold[0].judged and judge.asked == 0


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
