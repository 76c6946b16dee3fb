"""Claims that an utterance puts an action into words, judged alone and then in context."""

from collections.abc import Sequence
from dataclasses import dataclass

from .candidates import clean
from .nli import Judge, Probabilities, entails
from .rows import Action, Turn


@dataclass(frozen=True)
class Claim:
    """The claim that an utterance entails at least one of some sentences.

    Attributes:
        alone: The utterance.
        in_context: The utterance after the words that precede it; None to judge it alone only.
        sentences: The sentences; there may be none.
    """

    alone: str
    in_context: str | None
    sentences: Sequence[str]


@dataclass(frozen=True)
class Judgement:
    """The probabilities that a model of entailment gives to a claim's sentences.

    Attributes:
        alone: Of each sentence, given the utterance alone.
        in_context: Of each sentence, given the utterance in its context. It is empty where that was
            not asked: the utterance alone entails one of the sentences, or there is no context.
    """

    alone: tuple[Probabilities, ...]
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
    """An utterance with the previous turn and the slot's description before it.

    This is `<previous turn> <slot description>. <utterance>`, as in Figure 1 of the paper. For an
    action without a slot in the schema, only the previous turn stands before the utterance.

    Returns:
        The text; None where there is neither, so that it would be the utterance alone.
    """
    slot = turn.slot(action)
    description = clean(slot.description) if slot else ""
    parts = [turn.prompt.strip(), f"{description}." if description else ""]
    context = " ".join(part for part in parts if part)
    return f"{context} {utterance}".rstrip() if context else None


def judge_claims(claims: Sequence[Claim], judge: Judge) -> list[Judgement]:
    """Judge claims in two waves: all of them alone, and then in context those that failed.

    Two waves let the model answer all pairs of a wave in large batches.

    Returns:
        A judgement of each claim.
    """
    judge.ask((claim.alone, sentence) for claim in claims for sentence in claim.sentences)
    judgements = [
        Judgement(tuple(judge[claim.alone, sentence] for sentence in claim.sentences))
        for claim in claims
    ]
    contexts = {
        i: claim.in_context
        for i, (claim, judgement) in enumerate(zip(claims, judgements, strict=True))
        if claim.in_context is not None and not judgement.entailed
    }
    judge.ask(
        (context, sentence) for i, context in contexts.items() for sentence in claims[i].sentences
    )
    for i, context in contexts.items():
        in_context = tuple(judge[context, sentence] for sentence in claims[i].sentences)
        judgements[i] = Judgement(judgements[i].alone, in_context)
    return judgements
