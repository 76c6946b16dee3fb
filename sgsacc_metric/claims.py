"""Claims that an utterance puts an action into words, judged alone and then in context."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .candidates import clean
from .nli import Judge, Probabilities, entails
from .rows import Action, Turn


class Claim(NamedTuple):
    """The claim that an utterance entails at least one of some sentences."""

    alone: str
    in_context: str | None  # the utterance after what precedes it; None to judge it alone only
    sentences: Sequence[str]


@dataclass(frozen=True)
class Judgement:
    """The probabilities that a model of entailment gives to each of a claim's sentences."""

    alone: tuple[Probabilities, ...]
    # Empty where it was not asked: the utterance alone entails one of the sentences, or there is
    # no context.
    in_context: tuple[Probabilities, ...] = ()

    @property
    def entailed_alone(self) -> bool:
        """Whether the utterance alone entails one of the sentences."""
        return any(map(entails, self.alone))

    @property
    def entailed(self) -> bool:
        """Whether the utterance, alone or in its context, entails one of the sentences."""
        return any(map(entails, (*self.alone, *self.in_context)))


def context_of(turn: Turn, action: Action, utterance: str) -> str | None:
    """`<previous turn> <slot description>. <utterance>`, as in Figure 1 of the paper, if any."""
    slot = turn.slot(action)
    description = clean(slot.description) if slot else ""
    parts = [turn.prompt.strip(), f"{description}." if description else ""]
    context = " ".join(filter(None, parts))
    return f"{context} {utterance}".rstrip() if context else None


def judge_claims(claims: Sequence[Claim], judge: Judge) -> list[Judgement]:
    """Judge claims in two large waves: all of them alone, and in context those that failed."""
    judge.ask((claim.alone, sentence) for claim in claims for sentence in claim.sentences)
    judgements = [Judgement(tuple(judge[c.alone, s] for s in c.sentences)) for c in claims]
    contexts = {
        i: claim.in_context
        for i, claim in enumerate(claims)
        if claim.in_context is not None and not judgements[i].entailed
    }
    judge.ask((context, s) for i, context in contexts.items() for s in claims[i].sentences)
    for i, context in contexts.items():
        found = tuple(judge[context, sentence] for sentence in claims[i].sentences)
        judgements[i] = replace(judgements[i], in_context=found)
    return judgements
