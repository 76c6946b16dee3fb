"""The metrics of one variant: BLEU, SER and SGSAcc, from sums of counts over any set of turns."""

from collections.abc import Mapping

import numpy as np

from sgdx_metric.columns import Floats, safe_divide

from .bleu import corpus_bleu
from .scoring import BLEU_COLUMNS

# The metrics that are fractions: the counts above and below the line.
RATIOS = {
    "ser": ("wrong", "turns"),
    "ser_checkable": ("wrong", "checkable"),
    "slot_error_rate": ("missing", "values"),
    "ser_extended": ("wrong_extended", "turns"),
    "sgsacc": ("faithful", "turns"),
    "sgsacc_validated": ("faithful_valid", "valid"),
    "sgsacc_judged": ("faithful_judged", "judged"),
    "sgsacc_alone": ("faithful_alone", "turns"),
    "sgsacc_without_offers": ("faithful_without_offers", "without_offers"),
    "coverage": ("judged", "turns"),
    "validated": ("valid", "turns"),
    "validated_without_offers": ("valid_without_offers", "without_offers"),
    "ser_coverage": ("ser_slots", "turns"),
    "ser_agreement": ("agree", "both"),
}
# The metrics that are followed from the original to the reworded schemas.
HEADLINES = ("bleu", "ser", "sgsacc", "sgsacc_validated")


def compute_metrics(sums: Mapping[str, Floats]) -> dict[str, Floats]:
    """The metrics of one variant.

    Args:
        sums: Sums of the counts of `TurnScores.counts` over some turns, by name [...].

    Returns:
        By name, `bleu` from 0 to 100 and all others in [0, 1], NaN where undefined [...]. Those of
        SGSAcc are left out where there is no model of entailment.
    """
    bleu = corpus_bleu(np.stack([sums[name] for name in BLEU_COLUMNS], axis=-1))
    ratios = {
        name: safe_divide(np.asarray(sums[part]), np.asarray(sums[whole]))
        for name, (part, whole) in RATIOS.items()
        if part in sums
    }
    return {"bleu": bleu} | ratios
