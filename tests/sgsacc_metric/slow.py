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


class Counted:
    """A model of entailment that counts the pairs it is sent, one at a time or many."""

    def __init__(self, nli: Nli) -> None:
        self.nli = nli
        self.pairs = 0

    def one(self, premise: str, sentence: str) -> Probabilities:
        """What the model says of one pair."""
        self.pairs += 1
        entailment, neutral, contradiction = self.nli([(premise, sentence)])[0]
        return entailment, neutral, contradiction


def plain(
    turns: Sequence[Turn], utterances: Mapping[str, Sequence[str]], nli: Nli
) -> tuple[Verdicts, int]:
    """The verdicts in the plain way, and how many pairs they take."""
    counted, pool = Counted(nli), ValuePool.from_turns(turns)
    found: Verdicts = {}
    for variant, said in utterances.items():
        found[variant] = []
        for turn, utterance in zip(turns, said, strict=True):
            of_actions = [
                _plain_action(turn, index, utterance, pool, counted)
                for index in range(len(turn.actions))
            ]
            faithful, valid = (all(one[side] for one in of_actions) for side in (0, 1))
            found[variant].append((faithful, valid))
    return found, counted.pairs


def _plain_action(
    turn: Turn, index: int, utterance: str, pool: ValuePool, counted: Counted
) -> tuple[bool, bool]:
    """Whether an utterance is faithful to an action, and whether the action is valid."""
    action = turn.actions[index]
    sentences = candidates(turn, action)
    if not sentences:
        return True, True
    best, best_key = 0, (False, -1.0)
    for i, sentence in enumerate(sentences):
        alone = counted.one(turn.utterance, sentence)
        if (entails(alone), alone[0]) > best_key:
            best, best_key = i, (entails(alone), alone[0])
    gold = _both(turn, action, turn.utterance, sentences[best], counted)
    wrong = tamper(turn, index, pool)
    bad = [one for one in candidates(turn, wrong) if one not in sentences] if wrong else []
    fooled = [_both(turn, action, turn.utterance, one, counted) for one in bad]
    said = _both(turn, action, utterance, sentences[best], counted)
    valid = _any([gold]) and not _any(fooled)
    return _any([said]), valid


def _both(
    turn: Turn, action: Action, utterance: str, sentence: str, counted: Counted
) -> tuple[Probabilities, Probabilities]:
    """What the model says of a sentence given the utterance alone, and in its context."""
    context = context_of(turn, action, utterance)
    alone = counted.one(utterance, sentence)
    return alone, alone if context is None else counted.one(context, sentence)


def _any(answers: Sequence[tuple[Probabilities, Probabilities]]) -> bool:
    return any(entails(one) for both in answers for one in both)


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
