"""The gold side, branch by branch, with a model of entailment that is a script."""

from __future__ import annotations

from sgsacc_metric.gold import GoldAction, Options, judge_gold
from sgsacc_metric.nli import Judge

from .turns import CONTEXT, GOLD, LONG, NO, PLAIN, SHORT, YES, Script, act, turn


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
