"""Counts of every turn, from which all metrics follow by adding up and dividing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sgdx_metric.columns import Floats
from sgdx_metric.errors import ScoreError

from .bleu import bleu_counts
from .faithful import TurnVerdict, judge_utterances
from .gold import GoldTurn, Options
from .nli import Judge
from .rows import Prediction, Turn
from .ser import checked_values, contains, is_checked

# The names of the columns of `BleuCounts.counts`.
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
    # By name, counts that may be added up over turns [turns]: those of `bleu`, what SER counts and,
    # with a model of entailment, `_sgsacc_counts`.
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
    options: Options | None = None,
) -> dict[str, TurnScores]:
    """Score one system's utterances, by variant [turns], turn by turn."""
    options = options or Options()
    verdicts: dict[str, list[TurnVerdict]] = {variant: [] for variant in utterances}
    if judge:
        verdicts = judge_utterances(turns, gold, utterances, judge, options.context)
    ser_slots = np.array(
        [any(is_checked(turn, action) for action in turn.actions) for turn in turns], np.float64
    )
    values = [list(checked_values(turn)) for turn in turns]
    references = [turn.utterance for turn in turns]
    scores = {}
    for variant, of_variant in utterances.items():
        bleu = bleu_counts(of_variant, references, options.tokenize, options.lowercase)
        counts = dict(zip(BLEU_COLUMNS, bleu.counts.T, strict=True))
        wrong = [
            any(not contains(utterance, value) for value in of_turn)
            for of_turn, utterance in zip(values, of_variant, strict=True)
        ]
        counts |= {
            "ser_slots": ser_slots,
            "turns": np.ones(len(turns)),
            "wrong": np.array(wrong, dtype=np.float64),
        }
        if judge:
            counts |= _sgsacc_counts(turns, gold, verdicts[variant], counts["wrong"], options)
        scores[variant] = TurnScores(
            list(of_variant), counts, bleu.sentence_bleu, verdicts[variant]
        )
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
        if row.turn_id in of_variant or row.turn_id not in scored:
            fault = (
                "appears twice, expected once"
                if row.turn_id in of_variant
                else "is not in the references, expected those of the same source and split"
            )
            raise ScoreError(f"predictions for {row.variant}: turn {row.turn_id} {fault}")
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


def _sgsacc_counts(
    turns: Sequence[Turn],
    gold: Sequence[GoldTurn],
    verdicts: Sequence[TurnVerdict],
    wrong: Floats,
    options: Options,
) -> dict[str, Floats]:
    """The counts of SGSAcc [turns]."""
    faithful, judged, valid = np.array(
        [
            (verdict.faithful, turn.judged, turn.valid)
            for turn, verdict in zip(gold, verdicts, strict=True)
        ],
        dtype=np.float64,
    ).reshape(-1, 3).T  # fmt: skip
    counts = {
        "faithful": faithful,
        "judged": judged,
        **_agreement_counts(turns, verdicts, wrong),
    }
    if options.validate:
        counts |= {"valid": valid, "faithful_valid": faithful * valid}
    return counts


def _agreement_counts(
    turns: Sequence[Turn], verdicts: Sequence[TurnVerdict], wrong: Floats
) -> dict[str, Floats]:
    """Where SER and SGSAcc both have a verdict on a turn's slots of SER, and where it is one."""
    both, entailed = np.zeros(len(turns)), np.zeros(len(turns))
    for i, (turn, verdict) in enumerate(zip(turns, verdicts, strict=True)):
        judgements = [
            judgement
            for action, judgement in zip(turn.actions, verdict.judgements, strict=True)
            if judgement and is_checked(turn, action)
        ]
        both[i] = bool(judgements)
        entailed[i] = all(judgement.entailed for judgement in judgements)
    return {"both": both, "agree": both * (entailed == 1 - wrong)}
