"""The gold side, branch by branch, and as few questions to a model as the benchmark says."""

from __future__ import annotations

from baselines.copies.derived import derived
from sgdx_dataset import open_release
from sgdx_eval.tasks.turns import read_turns, turns_of
from sgsacc_metric.faithful import judge_utterances
from sgsacc_metric.gold import GoldAction, Options, judge_gold
from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.nli import Judge

from .slow import VARIANTS, fast, plain
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


def test_verdicts_do_not_depend_on_validation() -> None:
    """Of all turns of the sample under all copies: the same references, the same verdicts.

    Validation of a turn means that its gold utterance is faithful.
    """
    turns = read_turns(turns_of(open_release("sample"), "test"), "original")
    utterances = {
        "gold": [one.utterance for one in turns],
        "derived": [derived(one) for one in turns],
        "empty": ["" for _ in turns],
    }
    golds, faithful = [], []
    for options in (Options(), Options(validate=False)):
        judge = Judge(LexicalNli())
        gold = judge_gold(turns, judge, options)
        verdicts = judge_utterances(turns, gold, utterances, judge)
        golds.append(gold)
        faithful.append({name: [v.faithful for v in column] for name, column in verdicts.items()})
    references = [[[a.reference for a in one.actions] for one in gold] for gold in golds]
    assert references[0] == references[1] and faithful[0] == faithful[1]
    valid = [one.valid for one in golds[0]]
    assert 0 < sum(valid) < len(valid) and len({*map(tuple, faithful[0].values())}) == 3
    assert all(f for f, is_valid in zip(faithful[0]["gold"], valid, strict=True) if is_valid)


def test_a_fifth_of_the_pairs_of_the_plain_way() -> None:
    references = turns_of(open_release("sample"), "test")
    turns = read_turns(references, "original")
    said = {name: [derived(turn) for turn in read_turns(references, name)] for name in VARIANTS}
    ours, sent = fast(turns, said, LexicalNli())
    theirs, plainly = plain(turns, said, LexicalNli())
    assert ours == theirs
    assert plainly >= 5 * sent
