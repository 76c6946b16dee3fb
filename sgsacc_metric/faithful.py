"""Whether what was generated is faithful: it entails the reference of every judged action."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .claims import Claim, Finding, context_of, settle
from .gold import GoldTurn
from .nli import Judge
from .rows import Turn


@dataclass(frozen=True)
class Verdict:
    """What is found of one generated utterance.

    Attributes:
        findings: Of each action of the turn; None where the action is not judged.
    """

    findings: tuple[Finding | None, ...]

    @property
    def faithful(self) -> bool:
        """Whether every judged action's reference is entailed, alone or in context."""
        return all(finding.entailed for finding in self.findings if finding)

    @property
    def faithful_alone(self) -> bool:
        """Whether the utterance alone entails every judged action's reference."""
        return all(finding.entailed_alone for finding in self.findings if finding)


def judge_utterances(
    turns: Sequence[Turn],
    gold: Sequence[GoldTurn],
    utterances: Mapping[str, Sequence[str]],
    judge: Judge,
    context: bool = True,
) -> dict[str, list[Verdict]]:
    """Judge what a system said under one or more wordings, with two questions to the model at most.

    Args:
        turns: Turns under the evaluator's wording [turns].
        gold: The gold side of the same turns [turns].
        utterances: What the system said in each turn, by variant [turns].
        judge: Whom to ask.
        context: Whether an utterance is looked at again in its context.

    Returns:
        The verdicts by variant [turns].
    """
    claims = []
    for said in utterances.values():
        for turn, reference, utterance in zip(turns, gold, said, strict=True):
            for action, wanted in zip(turn.actions, reference.actions, strict=True):
                if wanted.reference:
                    in_context = context_of(turn, action, utterance) if context else None
                    claims.append(Claim(utterance, in_context, (wanted.reference,)))
    found = iter(settle(claims, judge))
    return {
        variant: [
            Verdict(tuple(next(found) if wanted.reference else None for wanted in of_turn.actions))
            for of_turn in gold
        ]
        for variant in utterances
    }
