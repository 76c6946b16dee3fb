"""The scores of one system: from its predictions to its result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sgdx_metric.figures import figures
from sgdx_metric.result import Result
from sgdx_metric.signature import Setup
from sgdx_metric.units import Scores
from sgdx_metric.variants import ORIGINAL

from .figures import TURN_METRICS, turn_items
from .gold import PAPER, GoldTurn, Options, judge_gold
from .negatives import ValuePool
from .nli import Judge, Nli, nli_name
from .report import gold_counts
from .rows import Prediction, Turn
from .scoring import TurnScores, score_turns, utterances_by_variant
from .signature import signature

UNSTATED = Setup()


@dataclass(frozen=True)
class SystemScores:
    """The scores of one system."""

    turn_scores: dict[str, TurnScores]  # by variant; the original comes first
    gold: list[GoldTurn]  # the gold side of each turn; none without a model of entailment
    items: Scores  # the scores of every turn
    result: Result  # without what prediction files say of themselves


def score_system(
    split_turns: Sequence[Turn],
    turns: Sequence[Turn],
    predictions: Sequence[Prediction],
    *,
    setup: Setup = UNSTATED,
    nli: Nli | None = None,
    options: Options = PAPER,
    gold: list[GoldTurn] | None = None,
) -> SystemScores:
    """Score the predictions for those turns of a split, under the evaluator's variant."""
    utterances = utterances_by_variant(turns, predictions, split_turns)
    utterances = dict(sorted(utterances.items(), key=lambda item: (item[0] != ORIGINAL, item[0])))
    judge = Judge(nli) if nli else None
    if judge is None:
        gold = []
    elif gold is None:
        gold = judge_gold(turns, judge, options, ValuePool.from_turns(split_turns))
    scores = score_turns(turns, utterances, gold, judge, options)
    evaluators = [turns[0].variant]
    model = nli_name(nli)
    line = signature([*scores], evaluators, split_turns, turns, setup, model, gold, options)
    items = turn_items(turns, scores)
    counts: dict[str, Any] = {"turns": len(turns)}
    if judge:
        counts |= gold_counts(turns, gold) | {"pairs": {"asked": judge.asked, "sent": judge.sent}}
    result = Result(
        task="turns",
        signature=line,
        figures=figures(items, TURN_METRICS),
        systems={name: {} for name in scores},
        counts=counts,
    )
    return SystemScores(scores, gold, items, result)
