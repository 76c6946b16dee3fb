"""The gold side of SGSAcc: what each turn has to entail, and whether the model can be relied on.

It depends on the gold utterances alone, so it is made once and serves for every system.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import check_flags

from .candidates import APPENDIX_B, RULES, candidates
from .claims import Claim, Judgement, context_of, judge_claims
from .negatives import ValuePool, can_be_tampered, tamper
from .nli import Judge
from .rows import Turn


@dataclass(frozen=True)
class Options:
    """How SGSAcc is computed; the defaults are the paper's.

    Attributes:
        validate: Whether SGSAcc is also computed over the valid turns alone: those on which the
            model of entailment judges the gold utterance as it should.
        context: Whether an utterance that does not entail a sentence alone is judged again after
            the previous turn and the slot's description.
        rules: How sentences are made of actions: `appendix-b`, as the paper does, or `extended`.
        seed: The random seed of the tampered actions of validation.

    Raises:
        ScoreError: A flag is neither true nor false, the rules are unknown, or the seed is no whole
            number.
    """

    validate: bool = True
    context: bool = True
    rules: str = APPENDIX_B
    seed: int = 0

    def __post_init__(self) -> None:
        check_flags(validate=self.validate, context=self.context)
        if self.rules not in RULES:
            raise ScoreError(f"rules is {self.rules!r:.60}, expected one of {', '.join(RULES)}")
        if type(self.seed) is not int:
            raise ScoreError(f"seed is {self.seed!r:.60}, expected a whole number")


PAPER = Options()


class GoldAction(msgspec.Struct, frozen=True, rename={"entailed": "found"}):
    """What an utterance has to entail for one action.

    Attributes:
        reference: The sentence; empty for an action that the rules do not word, which is not
            judged.
        entailed: Whether the gold utterance entails it; None without validation. Files call it
            `found`.
        tampered: The sentences of the tampered action; empty where there is none.
        fooled: Whether the gold utterance entails one of the tampered action's sentences; None
            where there is none.
    """

    reference: str
    entailed: bool | None = None
    tampered: list[str] = []
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
    """Make the gold side of some turns.

    Args:
        turns: Turns under the evaluator's wording, in any order.
        judge: The model of entailment.
        options: How SGSAcc is computed.
        pool: The values of the whole split, for tampered actions; None for those of `turns`.

    Returns:
        The gold side of each turn.
    """
    pool = pool or ValuePool.from_turns(turns)
    actions = [(turn, index) for turn in turns for index in range(len(turn.actions))]
    right = [candidates(turn, turn.actions[index], options.rules) for turn, index in actions]
    wrong = [
        _tampered_sentences(turn, index, pool, options) if sentences and options.validate else []
        for (turn, index), sentences in zip(actions, right, strict=True)
    ]
    # Without validation the model only chooses among candidates, and of one there is no choice.
    open_choices = [s if options.validate or len(s) > 1 else [] for s in right]
    claims = [*_claims(actions, open_choices, options), *_claims(actions, wrong, options)]
    judgements = judge_claims(claims, judge)
    gold_actions = iter(
        [
            _gold_action(sentences, judgement, tampered, tampered_judgement, options.validate)
            for sentences, judgement, tampered, tampered_judgement in zip(
                right, judgements[: len(actions)], wrong, judgements[len(actions) :], strict=True
            )
        ]
    )
    return [GoldTurn(turn.turn_id, [next(gold_actions) for _ in turn.actions]) for turn in turns]


def _claims(
    actions: Sequence[tuple[Turn, int]], sentences: Sequence[list[str]], options: Options
) -> Iterator[Claim]:
    """The claims that gold utterances entail some sentences about their actions."""
    with_context = options.context and options.validate
    for (turn, index), of_action in zip(actions, sentences, strict=True):
        context = context_of(turn, turn.actions[index], turn.utterance) if with_context else None
        yield Claim(turn.utterance, context, of_action)


def _tampered_sentences(turn: Turn, index: int, pool: ValuePool, options: Options) -> list[str]:
    """The sentences of an action with wrong values; none where it cannot have any.

    Sentences that the right action has too, such as those that state no value, are left out.
    """
    action = turn.actions[index]
    tampered = tamper(turn, index, pool, options.seed) if can_be_tampered(action) else None
    if tampered is None:
        return []
    own = candidates(turn, action, options.rules)
    return [s for s in candidates(turn, tampered, options.rules) if s not in own]


def _gold_action(
    sentences: list[str],
    judgement: Judgement,
    tampered: list[str],
    tampered_judgement: Judgement,
    validate: bool,
) -> GoldAction:
    if not sentences:
        return GoldAction("")
    reference = sentences[judgement.best_sentence()] if judgement.alone else sentences[0]
    if not validate:
        return GoldAction(reference)
    fooled = tampered_judgement.entailed if tampered else None
    return GoldAction(reference, judgement.entailed, tampered, fooled)
