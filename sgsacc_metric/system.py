"""The scores of one system: from its predictions to the content of scores.json."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgdx_metric.bootstrap import DIALOGUES
from sgdx_metric.core import Scores
from sgdx_metric.report import paired_scores
from sgdx_metric.variants import ORIGINAL

from .figures import unit_scores
from .gold import GoldTurn, Options, judge_gold
from .negatives import ValuePool
from .nli import Judge, Nli, nli_name
from .report import report
from .rows import Prediction, Turn
from .scoring import TurnScores, score_turns, utterances_by_variant
from .signature import UNSTATED, Origin, ScoredData, signature


@dataclass(frozen=True)
class SystemScores:
    """The scores of one system.

    Attributes:
        turn_scores: The scores of each turn, by variant; the original comes first.
        gold: The gold side of each turn; none without a model of entailment.
        units: The scores, summed by dialogue and service.
        report: What scores.json holds beside `paired` and `predictions`.
        origin: What the predictions say of how they were made.
    """

    turn_scores: dict[str, TurnScores]
    gold: list[GoldTurn]
    units: Scores
    report: dict[str, Any]
    origin: Origin = UNSTATED

    def scores_json(self) -> dict[str, Any]:
        """The content of scores.json.

        It is the report; `predictions`, what the files say of the system that made them; and
        `paired`, the counts of what each dialogue spends on each service, which `compare` reads.
        """
        stated = {name: self.origin.by_variant.get(name, {}) for name in self.turn_scores}
        return self.report | {
            "predictions": stated,
            "paired": paired_scores(self.units, "unit_id"),
        }


def score_system(
    split_turns: Sequence[Turn],
    turns: Sequence[Turn],
    predictions: Sequence[Prediction],
    *,
    split: str | None = None,
    release: str | None = None,
    wordings: Mapping[str, str] | None = None,
    available_dialogues: int | None = None,
    origin: Origin = UNSTATED,
    nli: Nli | None = None,
    options: Options | None = None,
    gold: list[GoldTurn] | None = None,
    over: str = DIALOGUES,
) -> SystemScores:
    """Score one system's predictions.

    Args:
        split_turns: All turns of the split, under the evaluator's wording.
        turns: Those of them that are scored.
        predictions: The predictions of one or more variants; those of turns of the split that are
            not scored are passed over.
        split, release, wordings, available_dialogues, origin: As in `ScoredData`, for the
            signature.
        nli: The model of entailment; None for BLEU and SER alone.
        options: How SGSAcc is computed.
        gold: The gold side of the turns, if it has been made already.
        over: What the intervals are over: "dialogues", "wordings" or "both".
    """
    options = options or Options()
    utterances = utterances_by_variant(turns, predictions, split_turns)
    judge = Judge(nli) if nli else None
    if judge is None:
        gold = []
    elif gold is None:
        gold = judge_gold(turns, judge, options, ValuePool.from_turns(split_turns))
    scores = score_turns(turns, utterances, gold, judge, options)
    scores = dict(sorted(scores.items(), key=lambda entry: (entry[0] != ORIGINAL, entry[0])))
    data = ScoredData.from_turns(
        split_turns, turns, split, release, wordings or {}, available_dialogues, origin
    )
    line = signature(list(scores), [turns[0].variant], data, nli_name(nli), gold, options, over)
    units = unit_scores(turns, scores)
    content = report(turns, scores, units, line, gold, judge, over)
    return SystemScores(scores, gold, units, content, origin)
