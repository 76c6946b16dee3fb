"""SGSAcc in the plain way: pair by pair, alone and in context, again for every variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sgsacc_metric.candidates import candidates
from sgsacc_metric.claims import context_of
from sgsacc_metric.gold import Options, judge_gold
from sgsacc_metric.negatives import ValuePool, tamper
from sgsacc_metric.nli import Judge, Nli, Probabilities, entails
from sgsacc_metric.rows import Action, Turn
from sgsacc_metric.scoring import score_turns

VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")
# Of each variant, of each turn: whether it is faithful, and whether it is valid.
Verdicts = dict[str, list[tuple[bool, bool]]]


def plain(
    turns: Sequence[Turn], utterances: Mapping[str, Sequence[str]], nli: Nli
) -> tuple[Verdicts, int]:
    """The verdicts in the plain way, and how many pairs they take."""
    pool, pairs = ValuePool.from_turns(turns), 0

    def ask(premise: str, sentence: str) -> Probabilities:
        nonlocal pairs
        pairs += 1
        entailment, neutral, contradiction = nli([(premise, sentence)])[0]
        return entailment, neutral, contradiction

    def is_said(turn: Turn, action: Action, utterance: str, sentence: str) -> bool:
        """Whether an utterance entails a sentence, alone or in its context."""
        context = context_of(turn, action, utterance)
        answers = [ask(utterance, sentence)]
        answers += [ask(context, sentence)] if context is not None else []
        return any(map(entails, answers))

    def judge(turn: Turn, index: int, utterance: str) -> tuple[bool, bool]:
        """Whether an utterance is faithful to an action, and whether the action is valid."""
        action = turn.actions[index]
        sentences = candidates(turn, action)
        if not sentences:
            return True, True
        alone = [ask(turn.utterance, sentence) for sentence in sentences]
        keys = [(entails(answer), answer[0]) for answer in alone]
        best = sentences[keys.index(max(keys))]
        wrong = tamper(turn, index, pool)
        bad = [one for one in candidates(turn, wrong) if one not in sentences] if wrong else []
        fooled = [is_said(turn, action, turn.utterance, one) for one in bad]
        valid = is_said(turn, action, turn.utterance, best) and not any(fooled)
        return is_said(turn, action, utterance, best), valid

    found: Verdicts = {}
    for variant, said in utterances.items():
        found[variant] = []
        for turn, utterance in zip(turns, said, strict=True):
            of_actions = [judge(turn, index, utterance) for index in range(len(turn.actions))]
            faithful, valid = (all(one[side] for one in of_actions) for side in (0, 1))
            found[variant].append((faithful, valid))
    return found, pairs


def fast(
    turns: Sequence[Turn], utterances: Mapping[str, Sequence[str]], nli: Nli
) -> tuple[Verdicts, int]:
    """The metric's verdicts, and how many pairs they take."""
    judge, options = Judge(nli), Options()
    gold = judge_gold(turns, judge, options)
    scores = score_turns(turns, utterances, gold, judge, options)
    verdicts = {
        variant: [
            (verdict.faithful, turn.valid) for verdict, turn in zip(of.verdicts, gold, strict=True)
        ]
        for variant, of in scores.items()
    }
    return verdicts, judge.sent
