"""Whether an utterance is faithful: it entails the reference sentence of every judged action."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .claims import Claim, Judgement, context_of, judge_claims
from .gold import GoldTurn
from .nli import Judge
from .rows import Turn


@dataclass(frozen=True)
class TurnVerdict:
    """The judgement of each action of a turn on an utterance; None where it is not judged."""

    judgements: tuple[Judgement | None, ...]

    @property
    def faithful(self) -> bool:
        """Whether every judged action's reference is entailed, alone or in context."""
        return all(judgement.entailed for judgement in self.judgements if judgement)


def judge_utterances(
    turns: Sequence[Turn],
    gold: Sequence[GoldTurn],
    utterances: Mapping[str, Sequence[str]],
    judge: Judge,
    context: bool = True,
) -> dict[str, list[TurnVerdict]]:
    """Judge utterances, by variant [turns], in turns with their gold side [turns]."""
    claims = [
        Claim(
            utterance,
            context_of(turn, action, utterance) if context else None,
            (gold_action.reference,),
        )
        for of_variant in utterances.values()
        for turn, gold_turn, utterance in zip(turns, gold, of_variant, strict=True)
        for action, gold_action in zip(turn.actions, gold_turn.actions, strict=True)
        if gold_action.reference
    ]
    # Taken below in the order in which the claims were made.
    judgements = iter(judge_claims(claims, judge))
    return {
        variant: [
            TurnVerdict(
                tuple(next(judgements) if action.reference else None for action in turn.actions)
            )
            for turn in gold
        ]
        for variant in utterances
    }
