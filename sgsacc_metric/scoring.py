"""Counts of every turn, from which all figures follow by adding up and dividing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sgdx_metric.columns import Floats
from sgdx_metric.rows import ScoreError

from .bleu import CONVENTIONS, HEADLINE, bleu_counts
from .faithful import Verdict, judge_utterances
from .gold import GoldTurn, Options
from .nli import Judge
from .rows import Prediction, Turn
from .ser import checked_values, contains

# The names of `bleu.Counts.counts`.
BLEU_COLUMNS = (
    *(f"matches_{order}" for order in (1, 2, 3, 4)),
    *(f"ngrams_{order}" for order in (1, 2, 3, 4)),
    "length",
    "reference_length",
)


@dataclass(frozen=True)
class TurnScores:
    """What one system did in each turn under one variant.

    Attributes:
        utterances: What it said [turns].
        counts: By name, counts that may be added up over turns [turns]: BLEU_COLUMNS; `turns` (1);
            `wrong` (1 if a value is missing), `checkable` (1 if there is a value to look for),
            `values`, `missing`, `wrong_extended`; and with a model of entailment `faithful`,
            `faithful_alone`, `judged`, `faithful_judged`, `valid`, `faithful_valid`, and of the
            judged turns with a value to look for, `both` (1) and `agree` (1 if SGSAcc and SER say
            the same).
        sentence_bleu: BLEU of each turn alone, from 0 to 100 [turns].
        conventions: The sums of the BLEU counts of all turns under each convention [10].
        verdicts: What the model of entailment said [turns]; empty without one.
    """

    utterances: list[str]
    counts: dict[str, Floats]
    sentence_bleu: Floats
    conventions: dict[str, Floats]
    verdicts: list[Verdict] = field(default_factory=list)


def score_system(
    turns: Sequence[Turn],
    utterances: Mapping[str, Sequence[str]],
    gold: Sequence[GoldTurn] = (),
    judge: Judge | None = None,
    options: Options | None = None,
) -> dict[str, TurnScores]:
    """Score what one system said under one or more variants.

    Args:
        turns: Turns under the evaluator's wording [turns].
        utterances: What was said in them, by variant [turns].
        gold: The gold side of the turns; none without a model of entailment [turns].
        judge: The model of entailment; None for BLEU and SER alone.
        options: How SGSAcc is computed.

    Returns:
        The scores by variant.
    """
    options = options or Options()
    verdicts: dict[str, list[Verdict]] = {variant: [] for variant in utterances}
    if judge:
        verdicts = judge_utterances(turns, gold, utterances, judge, options.context)
    wanted = [list(checked_values(turn)) for turn in turns]
    extended = [list(checked_values(turn, extended=True)) for turn in turns]
    references = [turn.utterance for turn in turns]
    scores = {}
    for variant, said in utterances.items():
        bleu = {name: bleu_counts(said, references, name) for name in CONVENTIONS}
        headline = bleu[HEADLINE]
        counts = dict(zip(BLEU_COLUMNS, headline.counts.T, strict=True))
        counts |= _ser_counts(wanted, extended, said)
        if judge:
            of_turns = zip(gold, verdicts[variant], strict=True)
            counts |= _sgsacc_counts([*of_turns], counts["checkable"], counts["wrong"], options)
        sums = {name: found.counts.sum(axis=0) for name, found in bleu.items()}
        scores[variant] = TurnScores(list(said), counts, headline.sentence, sums, verdicts[variant])
    return scores


def utterances_by_variant(
    turns: Sequence[Turn], predictions: Sequence[Prediction]
) -> dict[str, list[str]]:
    """What a system said in each turn, by variant, in the order of the turns.

    Args:
        turns: The turns that are scored.
        predictions: Predictions of one or more variants, in any order.

    Raises:
        ScoreError: Turns are missing, there twice or unknown under a variant, or there are no
            predictions.
    """
    if not predictions:
        raise ScoreError("no predictions, expected rows of one variant at least")
    order = [turn.turn_id for turn in turns]
    known = set(order)
    said: dict[str, dict[str, str]] = {}
    for row in predictions:
        whose = f"predictions for {row.variant}"
        of_variant = said.setdefault(row.variant, {})
        if row.turn_id in of_variant:
            raise ScoreError(f"{whose}: turn {row.turn_id} is there twice, expected once")
        if row.turn_id not in known:
            raise ScoreError(
                f"{whose}: turn {row.turn_id} is not in the references; are these predictions for"
                " another split?"
            )
        of_variant[row.turn_id] = row.utterance
    for variant, found in said.items():
        if missing := [turn_id for turn_id in order if turn_id not in found]:
            raise ScoreError(
                f"predictions for {variant}: {len(missing)} of {len(order)} turns are missing, the"
                f" first is {missing[0]}"
            )
    return {variant: [found[turn_id] for turn_id in order] for variant, found in said.items()}


def _ser_counts(
    wanted: Sequence[Sequence[str]], extended: Sequence[Sequence[str]], said: Sequence[str]
) -> dict[str, Floats]:
    """The counts of slot error rates [turns]."""
    missing = [
        [sum(not contains(utterance, value) for value in values) for values, utterance in pairs]
        for pairs in (zip(wanted, said, strict=True), zip(extended, said, strict=True))
    ]
    lacking, lacking_extended = (np.array(counts, dtype=np.float64) for counts in missing)
    values = np.array([len(values) for values in wanted], dtype=np.float64)
    return {
        "turns": np.ones(len(said)),
        "wrong": (lacking > 0).astype(np.float64),
        "checkable": (values > 0).astype(np.float64),
        "values": values,
        "missing": lacking,
        "wrong_extended": (lacking_extended > 0).astype(np.float64),
    }


def _sgsacc_counts(
    of_turns: Sequence[tuple[GoldTurn, Verdict]], checkable: Floats, wrong: Floats, options: Options
) -> dict[str, Floats]:
    """The counts of SGSAcc [turns]."""
    faithful, alone, judged, valid = np.array(
        [(v.faithful, v.faithful_alone, gold.judged, gold.valid) for gold, v in of_turns],
        dtype=np.float64,
    ).reshape(-1, 4).T  # fmt: skip
    both = judged * checkable
    counts = {
        "faithful": faithful,
        "faithful_alone": alone,
        "judged": judged,
        "faithful_judged": faithful * judged,
        "both": both,
        "agree": both * (faithful == 1 - wrong),
    }
    if options.validate:
        counts |= {"valid": valid, "faithful_valid": faithful * valid}
    return counts
