"""Pairs of a response and a statement about it, for people to judge beside the model.

Section 2.2 of Chen, Lin and Byrne 2023 (arXiv 2301.12568) has three people judge 400 pairs of
validated turns and 25 that failed validation. How the pairs were drawn could not be looked up. Here
half of the 400 state what is right and half what is wrong, so that neither answer is the rule.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from .claims import Claim, context_of, judge_claims
from .gold import GoldTurn, Options
from .nli import Judge
from .rows import Turn

# Where a statement comes from: it is the reference of an action of a valid turn, or a sentence of
# such an action with wrong values, or the reference of an action that failed validation.
REFERENCE, TAMPERED, FAILED = STRATA = ("reference", "tampered", "failed")
# How many pairs of each stratum the paper's numbers come to.
PAPER_PAIRS = (200, 200, 25)


class JudgedPair(msgspec.Struct, frozen=True):
    """A response, a statement, and whether the model says that the one entails the other.

    Attributes:
        pair: A name of the pair, eight hexadecimal digits.
        stratum: One of `STRATA`.
        turn_id: The turn.
        action: The index of the action in the turn that the statement is about.
        variant: The wording that the generator of the response was given.
        before: What the user said before; empty where the model judges without context.
        response: What the generator said.
        statement: The sentence.
        entailed: The verdict of the model, as SGSAcc has it: of the response alone, or else in its
            context.
    """

    pair: str
    stratum: str
    turn_id: str
    action: int
    variant: str
    before: str
    response: str
    statement: str
    entailed: bool


def draw_pairs(
    turns: Sequence[Turn],
    gold: Sequence[GoldTurn],
    utterances: Mapping[str, Sequence[str]],
    judge: Judge,
    options: Options,
    numbers: Sequence[int] = PAPER_PAIRS,
) -> list[JudgedPair]:
    """Draw pairs for people to judge, and have the model judge them.

    A SHA-256 of the seed and the pair decides which are drawn, so that the draw does not depend on
    the order of turns or on the machine. Equal texts are drawn once.

    Args:
        turns: Turns under the evaluator's wording [turns].
        gold: Their gold side, with validation [turns].
        utterances: The system's utterances, by variant [turns].
        judge: The model of entailment.
        options: How SGSAcc is computed; its seed is that of the draw too.
        numbers: How many pairs of each of `STRATA` are wanted.

    Returns:
        The pairs, mixed; fewer of a stratum where there are not as many.
    """
    remaining = dict(zip(STRATA, numbers, strict=True))
    all_pairs = sorted(_pairs(turns, gold, utterances, options), key=lambda pair: pair.pair)
    drawn: list[JudgedPair] = []
    texts = set()
    for pair in all_pairs:
        text = (pair.before, pair.response, pair.statement)
        if remaining[pair.stratum] and text not in texts:
            texts.add(text)
            remaining[pair.stratum] -= 1
            drawn.append(pair)
    by_id = {turn.turn_id: turn for turn in turns}
    claims = []
    for pair in drawn:
        turn = by_id[pair.turn_id]
        context = context_of(turn, turn.actions[pair.action], pair.response)
        claims.append(Claim(pair.response, context if options.context else None, [pair.statement]))
    return [
        msgspec.structs.replace(pair, pair=pair.pair[:8], entailed=judgement.entailed)
        for pair, judgement in zip(drawn, judge_claims(claims, judge), strict=True)
    ]


def _pairs(
    turns: Sequence[Turn],
    gold: Sequence[GoldTurn],
    utterances: Mapping[str, Sequence[str]],
    options: Options,
) -> Iterator[JudgedPair]:
    """All pairs that may be drawn, not judged yet, each named by its whole digest."""
    for i, (turn, gold_turn) in enumerate(zip(turns, gold, strict=True)):
        before = turn.prompt.strip() if options.context else ""
        for index, action in enumerate(gold_turn.actions):
            statements = {}
            if gold_turn.valid and action.reference:
                statements = {REFERENCE: action.reference}
                statements |= {TAMPERED: action.tampered[0]} if action.tampered else {}
            elif action.failed:
                statements = {FAILED: action.reference}
            for stratum, statement in statements.items():
                for variant, of_variant in utterances.items():
                    facts = (str(options.seed), turn.turn_id, str(index), variant, stratum)
                    digest = hashlib.sha256("\0".join(facts).encode()).hexdigest()
                    yield JudgedPair(
                        digest, stratum, turn.turn_id, index, variant, before, of_variant[i],
                        statement, False,
                    )  # fmt: skip
