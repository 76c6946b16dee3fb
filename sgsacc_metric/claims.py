"""Claims that an utterance words an action, decided in two steps: alone, then in its context."""

from collections.abc import Sequence
from dataclasses import dataclass

from .candidates import clean
from .nli import Judge, Probabilities, entails
from .rows import Action, Turn


@dataclass(frozen=True)
class Claim:
    """That an utterance entails one of some sentences.

    Attributes:
        alone: The utterance.
        in_context: The utterance with what was said before it; None to judge it alone only.
        sentences: The sentences, of which there may be none.
    """

    alone: str
    in_context: str | None
    sentences: Sequence[str]


@dataclass(frozen=True)
class Finding:
    """What a model of entailment says of a claim's sentences.

    Attributes:
        alone: Of each sentence, given the utterance alone.
        in_context: Of each sentence, given the utterance in its context; empty where that was not
            asked, because the utterance alone entails one of them or there is no context.
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

    def best(self) -> int:
        """The place of the sentence that is entailed most clearly; the first among equals.

        A sentence that is entailed goes before one that is not, however probable: with the
        probabilities .48 entailment, .50 neutral it is not, and with .45, .30 it is. So the best
        sentence is entailed exactly where any is.
        """

        def clear(place: int) -> tuple[bool, bool, float]:
            alone = self.alone[place]
            context = self.in_context[place] if self.in_context else alone
            in_context = not entails(alone) and entails(context)
            return entails(alone), in_context, (context if in_context else alone)[0]

        return max(range(len(self.alone)), key=lambda place: (*clear(place), -place))


def context_of(turn: Turn, action: Action, utterance: str) -> str | None:
    """An utterance with the previous turn and the slot's description before it.

    This is `<previous turn> <slot description>. <utterance>`, as in Figure 1 of the paper; an
    action without a slot in the schema has the previous turn only.

    Returns:
        The text; None where there is neither, so that it would be the utterance alone.
    """
    slot = turn.slot(action)
    description = clean(slot.description) if slot else ""
    parts = [turn.prompt.strip(), f"{description}." if description else ""]
    before = " ".join(part for part in parts if part)
    return f"{before} {utterance}".rstrip() if before else None


def settle(claims: Sequence[Claim], judge: Judge) -> list[Finding]:
    """Decide claims in two waves: all of them alone, and then in context those that failed.

    Args:
        claims: The claims, in any order.
        judge: Whom to ask.

    Returns:
        A finding for each claim.
    """
    judge.ask((claim.alone, sentence) for claim in claims for sentence in claim.sentences)
    alone = [
        Finding(tuple(judge[claim.alone, sentence] for sentence in claim.sentences))
        for claim in claims
    ]
    open_claims = [
        i
        for i, (claim, finding) in enumerate(zip(claims, alone, strict=True))
        if claim.in_context is not None and not finding.entailed
    ]
    judge.ask(
        (claims[i].in_context or "", sentence)
        for i in open_claims
        for sentence in claims[i].sentences
    )
    for i in open_claims:
        premise = claims[i].in_context or ""
        in_context = tuple(judge[premise, sentence] for sentence in claims[i].sentences)
        alone[i] = Finding(alone[i].alone, in_context)
    return alone
