"""The gold side of SGSAcc: what each turn has to entail, and whether the model can tell.

It depends on the gold utterances alone, so it is made once and serves for every system.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from .candidates import APPENDIX_B, candidates
from .claims import Claim, Finding, context_of, settle
from .negatives import Pool, is_tampered, tampered
from .nli import Judge
from .rows import Turn


@dataclass(frozen=True)
class Options:
    """How SGSAcc is computed; the defaults are the paper's.

    Attributes:
        validate: Whether to find out, with the gold utterance, on which turns the model of
            entailment can be relied on.
        context: Whether an utterance that does not entail a sentence alone is looked at again with
            what was said before it.
        rules: How sentences are made of actions: `appendix-b` or `extended`.
        seed: The random seed of the tampered actions.
    """

    validate: bool = True
    context: bool = True
    rules: str = APPENDIX_B
    seed: int = 0


class GoldAction(msgspec.Struct, frozen=True):
    """What an utterance has to entail for one action.

    Attributes:
        reference: The sentence; empty for an action that the rules do not word, which is not
            judged.
        found: Whether the gold utterance entails it; None without validation.
        tampered: The sentences of the tampered action; empty where there is none.
        fooled: Whether the gold utterance entails one of those; None where there is none.
    """

    reference: str
    found: bool | None = None
    tampered: list[str] = []
    fooled: bool | None = None

    @property
    def failed(self) -> bool:
        """Whether the action fails validation."""
        return bool(self.reference) and (self.found is False or self.fooled is True)


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
    turns: Sequence[Turn], judge: Judge, options: Options, pool: Pool | None = None
) -> list[GoldTurn]:
    """Make the gold side of some turns.

    Args:
        turns: Turns under the evaluator's wording, in any order.
        judge: Whom to ask.
        options: How SGSAcc is computed.
        pool: The values of the whole split, for tampered actions; None for those of `turns`.

    Returns:
        The gold side of each turn.
    """
    pool = pool or Pool.of(turns)
    places = [(turn, index) for turn in turns for index in range(len(turn.actions))]
    right = [candidates(turn, turn.actions[index], options.rules) for turn, index in places]
    wrong = [
        _tampered(turn, index, pool, options) if sentences and options.validate else []
        for (turn, index), sentences in zip(places, right, strict=True)
    ]
    # Where nothing is validated, one candidate needs no choice, and context decides nothing.
    asked = [s if options.validate or len(s) > 1 else [] for s in right]
    found = settle([*_claims(places, asked, options), *_claims(places, wrong, options)], judge)
    actions = iter(
        [
            _action(sentences, finding, bad, finding_bad, options.validate)
            for sentences, finding, bad, finding_bad in zip(
                right, found[: len(places)], wrong, found[len(places) :], strict=True
            )
        ]
    )
    return [GoldTurn(turn.turn_id, [next(actions) for _ in turn.actions]) for turn in turns]


def _claims(
    places: Sequence[tuple[Turn, int]], sentences: Sequence[list[str]], options: Options
) -> Iterator[Claim]:
    """The claims that gold utterances entail some sentences about their actions."""
    in_context = options.context and options.validate
    for (turn, index), of_action in zip(places, sentences, strict=True):
        context = context_of(turn, turn.actions[index], turn.utterance) if in_context else None
        yield Claim(turn.utterance, context, of_action)


def _tampered(turn: Turn, index: int, pool: Pool, options: Options) -> list[str]:
    """The sentences of an action's tampered self; none where it has none.

    Sentences that the action itself has too, such as those that state no value, are left out.
    """
    action = turn.actions[index]
    if not is_tampered(action) or (bad := tampered(turn, index, pool, options.seed)) is None:
        return []
    own = candidates(turn, action, options.rules)
    return [sentence for sentence in candidates(turn, bad, options.rules) if sentence not in own]


def _action(
    sentences: list[str], finding: Finding, wrong: list[str], fooled: Finding, validate: bool
) -> GoldAction:
    if not sentences:
        return GoldAction("")
    reference = sentences[finding.best()] if finding.alone else sentences[0]
    if not validate:
        return GoldAction(reference)
    return GoldAction(reference, finding.entailed, wrong, fooled.entailed if wrong else None)
