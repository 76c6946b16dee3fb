"""What several variants together say of each turn: how far its scores vary under rewording."""

from collections.abc import Mapping, Sequence

import numpy as np

from sgdx_metric.columns import Floats
from sgdx_metric.robustness import flipped, variation, worst_case
from sgdx_metric.variants import (
    ORIGINAL,
    PAPER_VARIANTS,
    own_wordings,
    wider_set,
    worst_sets,
)

from .scoring import TurnScores

# The metrics of single turns whose variation under rewording is the schema sensitivity.
SENSITIVE = ("bleu", "ser", "sgsacc")


def cross_variant_stats(scores: Mapping[str, TurnScores]) -> dict[str, Floats]:
    """The statistics of each turn over variants, to be averaged over turns.

    Returns:
        By name, values [turns]. `ss_<metric>` is the variation (standard deviation over mean) of
        the turn's BLEU, of whether it is right by SER and of whether it is faithful, over the
        paper's variants v1 to v5 (those that are given), and `ss_<metric>(<set>)` over all reworded
        variants where there are others. `changed` is the share of v1 to v5 under which the
        utterance is not that under the original. `flips` and `flips_ser` are 1 where the verdict of
        SGSAcc and of SER is not the same under all of them.

        Over the original and v1 to v5, where all six are given, `sgsacc_worst` and `ser_worst` are
        SGSAcc and SER of the turn under the wording that is worst for it, and `sgsacc_flips` and
        `ser_flips` are 1 where the verdict is not the same under all six. Where other variants than
        these six are given, the same over all of them has the name of the set:
        `ser_worst(original+v1..v5+mine)`. A statistic for which variants are lacking is left out.
    """
    paper = [name for name in PAPER_VARIANTS if name in scores]
    metrics = _available_metrics(scores)
    stats: dict[str, Floats] = {}
    if len(paper) > 1:
        for metric in metrics:
            stats[f"ss_{metric}"] = variation(_turn_scores(scores, paper, metric))
        for metric, name in (("sgsacc", "flips"), ("ser", "flips_ser")):
            if metric in metrics:
                stats[name] = flipped(_turn_scores(scores, paper, metric))
    if wider := wider_set(list(scores)):
        reworded = [*paper, *own_wordings(scores)]
        for metric in metrics:
            stats[f"ss_{metric}({wider})"] = variation(_turn_scores(scores, reworded, metric))
    for name, wordings in worst_sets(list(scores)).items():
        mark = f"({name})" if name else ""
        for metric in ("sgsacc", "ser"):
            if metric in metrics:
                turn_scores = _turn_scores(scores, wordings, metric)
                worst = worst_case(turn_scores)
                # Of SER less is better: it is 1 where a value is missing.
                stats[f"{metric}_worst{mark}"] = 1.0 - worst if metric == "ser" else worst
                stats[f"{metric}_flips{mark}"] = flipped(turn_scores)
    if paper and ORIGINAL in scores:
        original = np.array(scores[ORIGINAL].utterances, dtype=object)
        utterances = [np.array(scores[name].utterances, dtype=object) for name in paper]
        is_changed = [of_variant != original for of_variant in utterances]
        stats["changed"] = np.mean(is_changed, axis=0, dtype=np.float64)
    return stats


def _available_metrics(scores: Mapping[str, TurnScores]) -> list[str]:
    """The metrics of SENSITIVE that the scores have: SGSAcc only with a model of entailment."""
    has_sgsacc = all("faithful" in turn_scores.counts for turn_scores in scores.values())
    return [metric for metric in SENSITIVE if has_sgsacc or metric != "sgsacc"]


def _turn_scores(scores: Mapping[str, TurnScores], variants: Sequence[str], metric: str) -> Floats:
    """Each turn's score under each variant, of which more is better [variants, turns]."""
    by_metric = {
        "bleu": lambda turn_scores: turn_scores.sentence_bleu,
        "ser": lambda turn_scores: 1.0 - turn_scores.counts["wrong"],
        "sgsacc": lambda turn_scores: turn_scores.counts["faithful"],
    }
    return np.stack([by_metric[metric](scores[variant]) for variant in variants])
