"""Verdicts on generated utterances, with a model of entailment that is a script."""

from __future__ import annotations

from sgsacc_metric.faithful import judge_utterances
from sgsacc_metric.gold import Options, judge_gold
from sgsacc_metric.nli import Judge

from .turns import GOLD, LONG, NO, PLAIN, SHORT, YES, Script, act, turn


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
