"""How far people agree with the model of entailment, and with each other."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgdx_metric.bootstrap import bootstrap
from sgdx_metric.columns import Bools, Floats, safe_divide
from sgdx_metric.rows import ScoreError

from .annotation import FAILED, REFERENCE, TAMPERED, JudgedPair

VALIDATED = "validated"
# The groups of pairs that have figures, and the strata of each.
GROUPS = {
    VALIDATED: (REFERENCE, TAMPERED),
    REFERENCE: (REFERENCE,),
    TAMPERED: (TAMPERED,),
    FAILED: (FAILED,),
}
# Section 2.2 of Chen et al. 2023: 400 validated pairs and 25 that failed, three people,
# roberta-large-mnli.
PUBLISHED = {VALIDATED: {"agreement": 0.900, "kappa": 0.93}, FAILED: {"agreement": 0.76}}


def agreement(pairs: Sequence[JudgedPair], answers: Bools) -> dict[str, dict[str, Any]]:
    """Compare a model's verdicts with what most people say.

    Args:
        pairs: The pairs [pairs].
        answers: Whether each person says that the response states the statement [pairs, people].

    Returns:
        For each of `GROUPS` that has pairs: `pairs`, their number; `undecided`, how many of them
        have as many people for as against, which an even number of people can; `agreement`, the
        share of the others on which the model says what most people say; `kappa`, that of Fleiss
        over the people; both None where undefined. `confidence` has their 95 % intervals over
        dialogues, and `published` the paper's figures.

    Raises:
        ScoreError: There are fewer than two people, or no answers.
    """
    if answers.ndim != 2 or answers.shape[1] < 2 or not len(answers):
        raise ScoreError(
            f"answers of shape {answers.shape}, expected pairs and two people at least"
        )
    stratum = np.array([pair.stratum for pair in pairs])
    dialogues = np.array([pair.turn_id.rpartition("/")[0] for pair in pairs])
    entailed = np.array([pair.entailed for pair in pairs])
    return {
        name: _figures(name, dialogues[mask], entailed[mask], answers[mask])
        for name, strata in GROUPS.items()
        if (mask := np.isin(stratum, strata)).any()
    }


def _figures(group: str, dialogues: Any, entailed: Bools, answers: Bools) -> dict[str, Any]:
    """The figures of the pairs of one group."""
    people = answers.shape[1]
    yes = answers.sum(axis=1)
    is_decided = 2 * yes != people
    agrees = is_decided & ((2 * yes > people) == entailed)
    columns = np.column_stack(
        [agrees, is_decided, kappa_terms(np.column_stack([yes, people - yes]))]
    )
    _, unit = np.unique(dialogues, return_inverse=True)
    sums = np.stack([np.bincount(unit, column) for column in columns.T], axis=-1)

    def statistics(totals: Floats) -> dict[str, Floats]:
        return {
            "agreement": safe_divide(totals[..., 0], totals[..., 1]),
            "kappa": fleiss_kappa(totals[..., 2:]),
        }

    return {
        "pairs": len(answers),
        "undecided": int((~is_decided).sum()),
        **{
            name: None if np.isnan(value) else float(value)
            for name, value in statistics(sums.sum(axis=0)).items()
        },
        "confidence": bootstrap(lambda weights: statistics(weights @ sums), len(sums)),
        "published": PUBLISHED.get(group, {}),
    }


def kappa_terms(counts: Floats) -> Floats:
    """What of each subject Fleiss' kappa is made of.

    Args:
        counts: How many people put each subject into each category; as many people for every
            subject, two at least [subjects, categories].

    Returns:
        The share of pairs of people who agree on the subject, the share of people for each
        category, and 1 [subjects, 1 + categories + 1]. Sums of these over subjects are what
        `fleiss_kappa` takes.
    """
    counts = np.asarray(counts, dtype=np.float64)
    people = counts.sum(axis=1, keepdims=True)
    agreeing = (counts * (counts - 1)).sum(axis=1, keepdims=True) / (people * (people - 1))
    return np.hstack([agreeing, counts / people, np.ones_like(people)])


def fleiss_kappa(sums: Floats) -> Floats:
    """Fleiss' kappa: how far people agree beyond chance; 1 where they always do.

    Source: Fleiss 1971, "Measuring nominal scale agreement among many raters", Psychological
    Bulletin 76(5), 378-382.

    Args:
        sums: Sums of `kappa_terms` over some subjects [..., 1 + categories + 1].

    Returns:
        Kappa [...]; NaN where all answers are one category, so that chance alone agrees always.
    """
    means = safe_divide(sums, sums[..., -1:])
    expected = (means[..., 1:-1] ** 2).sum(axis=-1)
    is_open = expected < 1 - 1e-12
    return np.where(
        is_open, (means[..., 0] - expected) / np.where(is_open, 1 - expected, 1.0), np.nan
    )
