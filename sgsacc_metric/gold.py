"""The gold side of SGSAcc: what each turn has to entail, and whether the model can be relied on.

It depends on the gold utterances alone, so it is made once and serves for every system.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from sgdx_metric.errors import ScoreError
from sgdx_metric.signature import check_flags

from .bleu import TOKENIZERS
from .candidates import APPENDIX_B, RULES, candidates
from .claims import Claim, context_of, judge_claims
from .negatives import ValuePool, can_be_tampered, tamper
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
        if self.tokenize not in TOKENIZERS:
            expected = ", ".join(TOKENIZERS)
            raise ScoreError(f"tokenize is {self.tokenize!r:.60}, expected one of {expected}")
        if self.rules not in RULES:
            raise ScoreError(f"rules is {self.rules!r:.60}, expected one of {', '.join(RULES)}")
        if type(self.seed) is not int:
            raise ScoreError(f"seed is {self.seed!r:.60}, expected a whole number")


PAPER = Options()
# A turn and the index of one of its actions.
ActionOfTurn: TypeAlias = tuple[Turn, int]


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


def judge_gold(
    turns: Sequence[Turn], judge: Judge, options: Options, pool: ValuePool | None = None
) -> list[GoldTurn]:
    """Make the gold side of turns; tampered actions take values of the split's `pool`."""
    actions = [(turn, index) for turn in turns for index in range(len(turn.actions))]
    sentences = [candidates(turn, turn.actions[index], options.rules) for turn, index in actions]
    references = _choose_references(actions, sentences, judge)
    gold_actions = iter(
        _validate(actions, references, pool or ValuePool.from_turns(turns), judge, options)
        if options.validate
        else map(GoldAction, references)
    )
    return [GoldTurn(turn.turn_id, [next(gold_actions) for _ in turn.actions]) for turn in turns]


def _choose_references(
    actions: Sequence[ActionOfTurn], sentences: Sequence[list[str]], judge: Judge
) -> list[str]:
    """The sentence of each action that the gold utterance alone entails most clearly, or ""."""
    # Of one sentence there is no choice, and the model need not be asked.
    open_choices = [of_action if len(of_action) > 1 else [] for of_action in sentences]
    premises = [turn.utterance for turn, _ in actions]
    judge.ask(
        (premise, sentence)
        for premise, of_action in zip(premises, open_choices, strict=True)
        for sentence in of_action
    )
    references = []
    for premise, of_action, choice in zip(premises, sentences, open_choices, strict=True):
        best = clearest([judge[premise, sentence] for sentence in choice]) if choice else 0
        references.append(of_action[best] if of_action else "")
    return references


def _validate(
    actions: Sequence[ActionOfTurn],
    references: Sequence[str],
    pool: ValuePool,
    judge: Judge,
    options: Options,
) -> Iterator[GoldAction]:
    """Find out whether the gold utterances entail the references, and no tampered action."""
    tampered = [
        _tampered_sentences(turn, index, pool, options) if reference else []
        for (turn, index), reference in zip(actions, references, strict=True)
    ]
    right = [[reference] if reference else [] for reference in references]
    premises = [
        (turn.utterance, context_of(turn, turn.actions[index], turn.utterance))
        for turn, index in actions
    ]
    # First what all gold utterances have to entail, then what none of them may.
    claims = [
        Claim(utterance, context if options.context else None, sentences)
        for side in (right, tampered)
        for (utterance, context), sentences in zip(premises, side, strict=True)
    ]
    entailed = [judgement.entailed for judgement in judge_claims(claims, judge)]
    for i, (reference, wrong) in enumerate(zip(references, tampered, strict=True)):
        if reference:
            fooled = entailed[len(actions) + i] if wrong else None
            yield GoldAction(reference, entailed[i], wrong, fooled)
        else:
            yield GoldAction("")


def _tampered_sentences(turn: Turn, index: int, pool: ValuePool, options: Options) -> list[str]:
    """The sentences that an action has only with wrong values; none where it cannot have any."""
    action = turn.actions[index]
    tampered = tamper(turn, index, pool, options.seed) if can_be_tampered(action) else None
    if tampered is None:
        return []
    own = candidates(turn, action, options.rules)
    return [s for s in candidates(turn, tampered, options.rules) if s not in own]
