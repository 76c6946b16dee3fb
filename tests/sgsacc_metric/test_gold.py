"""The gold side, branch by branch, and as few questions to a model as the benchmark says."""

from __future__ import annotations

from baselines.copies import derived
from sgdx_dataset import open_release
from sgdx_eval.tasks.turns import read_turns, turns_of
from sgsacc_metric.gold import GoldAction, Options, judge_gold
from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.nli import Judge

from .slow import VARIANTS, fast, plain
from .turns import CONTEXT, GOLD, LONG, NO, PLAIN, SHORT, YES, Script, act, turn


def test_one_candidate_is_not_asked_about_without_validation() -> None:
    of = turn(act("OFFER_INTENT", "intent", "BookHotel"), act("NOTIFY_SUCCESS"))
    judge = Judge(Script({}))
    (gold,) = judge_gold([of], judge, PLAIN)
    assert [action.reference for action in gold.actions] == ["Intent is Book Hotel.", ""]
    assert judge.sent == 0 and gold.judged and gold.valid


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
