"""Counts of every turn, from which all metrics follow by adding up and dividing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sgdx_metric.columns import Floats
from sgdx_metric.errors import ScoreError

from .bleu import bleu_counts
from .gold import PAPER, GoldTurn, Options, TurnVerdict, judge_utterances
from .nli import Judge
from .rows import Prediction, Turn
from .ser import checked_values, contains, is_checked

# The columns of `bleu_counts`.
BLEU_COLUMNS = (
    *(f"matches_{order}" for order in (1, 2, 3, 4)),
    *(f"ngrams_{order}" for order in (1, 2, 3, 4)),
    "length",
    "reference_length",
)


@dataclass(frozen=True)
class TurnScores:
    """What one system did in each turn under one variant."""

    # The system's utterances [turns].
    utterances: list[str]
    # By name, counts that may be added up over turns [turns]: those of BLEU, what SER counts and,
    # with a model of entailment, what SGSAcc counts.
    counts: dict[str, Floats]
    # BLEU of each turn alone, from 0 to 100 [turns].
    sentence_bleu: Floats
    # The verdicts of the model of entailment [turns]; empty without one.
    verdicts: list[TurnVerdict] = field(default_factory=list)


def score_turns(
    turns: Sequence[Turn],
    utterances: Mapping[str, Sequence[str]],
    gold: Sequence[GoldTurn] = (),
    judge: Judge | None = None,
    options: Options = PAPER,
) -> dict[str, TurnScores]:
    """Score one system's utterances, by variant [turns], turn by turn."""
    verdicts: dict[str, list[TurnVerdict]] = {variant: [] for variant in utterances}
    if judge:
        verdicts = judge_utterances(turns, gold, utterances, judge, options.context)
    values = [checked_values(turn) for turn in turns]
    references = [turn.utterance for turn in turns]
    # What is the same under every variant.
    shared = {
        "ser_slots": [any(is_checked(turn, action) for action in turn.actions) for turn in turns]
    }
    if judge:
        shared["judged"] = [turn.judged for turn in gold]
    if judge and options.validate:
        shared["valid"] = [turn.valid for turn in gold]
    scores = {}
    for variant, said in utterances.items():
        bleu, sentence_bleu = bleu_counts(said, references, options.tokenize, options.lowercase)
        flags = shared | {
            "wrong": [
                any(not contains(utterance, value) for value in of_turn)
                for of_turn, utterance in zip(values, said, strict=True)
            ]
        }
        if judge:
            flags["faithful"] = [verdict.faithful for verdict in verdicts[variant]]
        counts = dict(zip(BLEU_COLUMNS, bleu.T, strict=True))
        counts |= {name: np.array(of_turns, np.float64) for name, of_turns in flags.items()}
        scores[variant] = TurnScores(list(said), counts, sentence_bleu, verdicts[variant])
    return scores


def utterances_by_variant(
    turns: Sequence[Turn], predictions: Sequence[Prediction], split_turns: Sequence[Turn] = ()
) -> dict[str, list[str]]:
    """A system's utterance in each turn, by variant; those of other turns are passed over."""
    if not predictions:
        raise ScoreError("no predictions, expected rows of one variant at least")
    turn_ids = [turn.turn_id for turn in turns]
    scored = set(turn_ids)
    passed_over = {turn.turn_id for turn in split_turns} - scored
    by_turn: dict[str, dict[str, str]] = {}
    for row in predictions:
        if row.turn_id in passed_over:
            continue
        of_variant = by_turn.setdefault(row.variant, {})
        where = f"predictions for {row.variant}: turn {row.turn_id}"
        if row.turn_id in of_variant:
            raise ScoreError(f"{where} appears twice, expected once")
        if row.turn_id not in scored:
            raise ScoreError(
                f"{where} is not in the references, expected those of the same source and split"
            )
        of_variant[row.turn_id] = row.utterance
    for variant, of_variant in by_turn.items():
        if missing := [turn_id for turn_id in turn_ids if turn_id not in of_variant]:
            raise ScoreError(
                f"predictions for {variant}: {len(missing)} of {len(turn_ids)} turns are missing,"
                f" the first is {missing[0]}"
            )
    return {
        variant: [of_variant[turn_id] for turn_id in turn_ids]
        for variant, of_variant in by_turn.items()
    }
