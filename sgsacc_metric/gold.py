"""The gold side of SGSAcc: what each turn has to entail, and whether the model can be relied on.

It depends on the gold utterances alone, so it is made once and serves for every system.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from sgdx_metric.errors import ScoreError
from sgdx_metric.signature import check_choice, check_flags

from .bleu import TOKENIZERS
from .candidates import APPENDIX_B, RULES, candidates
from .claims import Claim, Judgement, context_of, judge_claims
from .negatives import ValuePool, tamper
from .nli import Judge, clearest
from .rows import Turn


@dataclass(frozen=True)
class Options:
    """How SGSAcc and BLEU are computed; the defaults of SGSAcc are the paper's.

    Attributes:
        validate: Whether SGSAcc is also computed over the valid turns alone: those on which the
            model of entailment judges the gold utterance as it should.
        context: Whether an utterance that does not entail a sentence alone is judged again after
            the previous turn and the slot's description. The reference of an action is chosen by
            the gold utterance alone in any case.
        rules: How sentences are made of actions: `appendix-b`, as the paper does, or `extended`.
        seed: The random seed of the tampered actions of validation.
        tokenize, lowercase: sacreBLEU's options of these names.

    Raises:
        ScoreError: A flag is neither true nor false, the rules or the tokenizer are unknown, or the
            seed is no whole number.
    """

    validate: bool = True
    context: bool = True
    rules: str = APPENDIX_B
    seed: int = 0
    tokenize: str = TOKENIZERS[0]
    lowercase: bool = False

    def __post_init__(self) -> None:
        check_flags(validate=self.validate, context=self.context, lowercase=self.lowercase)
        check_choice("tokenize", self.tokenize, TOKENIZERS)
        check_choice("rules", self.rules, RULES)
        if type(self.seed) is not int:
            raise ScoreError(f"seed is {self.seed!r:.60}, expected a whole number")


PAPER = Options()


class GoldAction(msgspec.Struct, frozen=True, rename={"entailed": "found"}):
    """What an utterance has to entail for one action."""

    # The sentence; empty for an action that the rules do not word, which is not judged.
    reference: str
    # Whether the gold utterance, alone or in its context, entails it; None without validation.
    # Files call it `found`.
    entailed: bool | None = None
    # The sentences of the tampered action; empty where there is none.
    tampered: list[str] = []
    # Whether the gold utterance entails one of these; None where there is none.
    fooled: bool | None = None

    @property
    def failed(self) -> bool:
        """Whether the action fails validation."""
        return bool(self.reference) and (self.entailed is False or self.fooled is True)


class GoldTurn(msgspec.Struct, frozen=True):
    """The gold side of one turn: its actions in their order."""

    turn_id: str
    actions: list[GoldAction]

    @property
    def judged(self) -> bool:
        """Whether there is an action that is judged."""
        return any(action.reference for action in self.actions)

    @property
    def valid(self) -> bool:
        """Whether all judged actions pass validation; true of a turn without any."""
        return not any(action.failed for action in self.actions)


@dataclass(frozen=True)
class TurnVerdict:
    """The judgement of each action of a turn on an utterance; None where it is not judged."""

    judgements: tuple[Judgement | None, ...]

    @property
    def faithful(self) -> bool:
        """Whether every judged action's reference is entailed, alone or in context."""
        return all(judgement.entailed for judgement in self.judgements if judgement)


def judge_gold(
    turns: Sequence[Turn], judge: Judge, options: Options, pool: ValuePool | None = None
) -> list[GoldTurn]:
    """Make the gold side of turns; tampered actions take values of the split's `pool`."""
    actions = [(turn, index) for turn in turns for index in range(len(turn.actions))]
    sentences = [candidates(turn, turn.actions[index], options.rules) for turn, index in actions]
    # The reference of an action is the sentence that the gold utterance alone entails most clearly.
    # Of one sentence there is no choice, and the model need not be asked.
    asked = [
        [(turn.utterance, sentence) for sentence in of_action] if len(of_action) > 1 else []
        for (turn, _), of_action in zip(actions, sentences, strict=True)
    ]
    judge.ask(pair for pairs in asked for pair in pairs)
    references = [
        of_action[clearest([judge[pair] for pair in pairs]) if pairs else 0] if of_action else ""
        for of_action, pairs in zip(sentences, asked, strict=True)
    ]
    made = [GoldAction(reference) for reference in references]
    if options.validate:
        # Valid is an action whose reference the gold utterance entails, and of whose tampered self
        # it entails no sentence that the action itself does not have.
        pool = pool or ValuePool.from_turns(turns)
        tampered: list[list[str]] = []
        for (turn, index), own, reference in zip(actions, sentences, references, strict=True):
            wrong = tamper(turn, index, pool, options.seed) if reference else None
            of_wrong = candidates(turn, wrong, options.rules) if wrong else []
            tampered.append([sentence for sentence in of_wrong if sentence not in own])
        contexts = [
            context_of(turn, turn.actions[index], turn.utterance) if options.context else None
            for turn, index in actions
        ]
        claims = [
            Claim(turn.utterance, context, sentences)
            for side in ([[r] if r else [] for r in references], tampered)
            for (turn, _), context, sentences in zip(actions, contexts, side, strict=True)
        ]
        entailed = [judgement.entailed for judgement in judge_claims(claims, judge)]
        right, fooled = entailed[: len(actions)], entailed[len(actions) :]
        made = [
            GoldAction(r, right[i], tampered[i], fooled[i] if tampered[i] else None) if r else gold
            for i, (r, gold) in enumerate(zip(references, made, strict=True))
        ]
    in_order = iter(made)
    return [GoldTurn(turn.turn_id, [next(in_order) for _ in turn.actions]) for turn in turns]


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
    # Taken in the order in which the claims were made.
    judgements = iter(judge_claims(claims, judge))
    return {
        variant: [
            TurnVerdict(tuple(next(judgements) if a.reference else None for a in turn.actions))
            for turn in gold
        ]
        for variant in utterances
    }
