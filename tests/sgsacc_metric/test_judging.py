"""What a model of entailment is asked, on the gold side and of utterances, and what follows."""

from __future__ import annotations

import pytest

from baselines.copies import derived
from sgdx_dataset import open_release
from sgdx_eval.tasks.turns import read_turns, turns_of
from sgsacc_metric.claims import Claim, Judgement, context_of, judge_claims
from sgsacc_metric.gold import GoldAction, Options, judge_gold, judge_utterances
from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.nli import Judge, Probabilities, clearest, entails

from .slow import VARIANTS, fast, plain
from .turns import CONTEXT, GOLD, LONG, NO, SHORT, YES, Script, act, turn


@pytest.mark.parametrize(
    ("answers", "index"),
    [
        ([(0.48, 0.50, 0.02), (0.45, 0.30, 0.25)], 1),  # entailed, though less probable
        ([(0.45, 0.30, 0.25), (0.6, 0.3, 0.1)], 1),
        ([NO, (0.48, 0.50, 0.02), NO], 1),
        ([YES, YES], 0),
    ],
)
def test_the_clearest_sentence(answers: list[Probabilities], index: int) -> None:
    assert clearest(answers) == index


def test_premises_in_context() -> None:
    of = turn(act("GOODBYE"), prompt=" Thanks, bye. ")
    assert context_of(of, of.actions[0], "Bye!") == "Thanks, bye. Bye!"
    rome = act("CONFIRM", "city", "Rome")
    assert context_of(turn(prompt=""), rome, "Rome?") == "City of the hotel. Rome?"
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


def test_what_needs_no_model_is_not_asked() -> None:
    """An action with one sentence, without validation, and a turn that nothing is judged of."""
    of = [turn(act("OFFER_INTENT", "intent", "BookHotel"), act("NOTIFY_SUCCESS"))]
    of.append(turn(act("NOTIFY_SUCCESS"), turn_id="1_00000/3"))
    judge = Judge(Script({}))
    gold = judge_gold(of, judge, Options(validate=False))
    assert [action.reference for action in gold[0].actions] == ["Intent is Book Hotel.", ""]
    assert [one.judged for one in gold] == [True, False] and all(one.valid for one in gold)
    (verdict,) = judge_utterances(of[1:], gold[1:], {"v1": [""]}, judge)["v1"]
    assert verdict.faithful and judge.asked == judge.sent == 0


def test_the_gold_utterance_alone_decides_what_is_the_reference() -> None:
    """Context would prefer the other sentence, and says only whether the reference is entailed."""
    answers = {(GOLD, LONG): NO, (GOLD, SHORT): (0.4, 0.5, 0.1), (CONTEXT, SHORT): YES}
    script = Script(answers)
    (gold,) = judge_gold([turn()], Judge(script), Options())
    assert gold.actions[0] == GoldAction(SHORT, entailed=True)  # no other city: nothing is tampered
    assert script.calls == [[(GOLD, LONG), (GOLD, SHORT)], [(CONTEXT, SHORT)]]
    (gold,) = judge_gold([turn()], Judge(Script(answers)), Options(context=False))
    assert gold.actions[0] == GoldAction(SHORT, entailed=False) and not gold.valid
    (gold,) = judge_gold([turn()], Judge(Script(answers)), Options(validate=False))
    assert gold.actions[0] == GoldAction(SHORT)


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


def test_a_fifth_of_the_pairs_of_the_plain_way() -> None:
    references = turns_of(open_release("sample"), "test")
    turns = read_turns(references, "original")
    said = {name: [derived(turn) for turn in read_turns(references, name)] for name in VARIANTS}
    ours, sent = fast(turns, said, LexicalNli())
    theirs, plainly = plain(turns, said, LexicalNli())
    assert ours == theirs
    assert plainly >= 5 * sent


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("A hotel in Rome?", "City of the hotel is Rome.", True),
        ("A hotel in Pisa?", "City of the hotel is Rome.", False),
        ("Rome or Pisa?", "Cities are Rome and Pisa.", True),
        ("It has wifi.", "Has wifi? Yes.", True),
        ("It has no wifi.", "Has wifi? Yes.", False),
        ("It doesn\N{RIGHT SINGLE QUOTATION MARK}t have wifi.", "Has wifi? No.", True),
        ("Goodbye then.", "Have a good day.", True),
        ("A hotel in Rome?", "Have a good day.", False),
        ("Anything else?", "What else do you need?", True),
        ("", "City is Rome.", False),
    ],
)
def test_the_comparison_of_words(premise: str, hypothesis: str, expected: bool) -> None:
    ((entailment, neutral, contradiction),) = LexicalNli()([(premise, hypothesis)]).tolist()
    assert entails((entailment, neutral, contradiction)) == expected
    assert entailment + neutral + contradiction == pytest.approx(1)


def test_the_comparison_of_words_takes_the_share_of_content_words() -> None:
    half = LexicalNli()([("The old town.", "Request old harbour.")])
    assert half.tolist() == [pytest.approx([0.05 + 0.9 / 4, 0.9 - 0.85 / 4, 0.05 - 0.05 / 4])]
    assert LexicalNli()([]).shape == (0, 3)
