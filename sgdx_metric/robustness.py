"""What the scores of an item under several wordings say together: sensitivity, worst case, flips.

Schema sensitivity (SS) says how much a frame's score moves when only the words of the schema
change. Lee et al. 2022, "SGD-X: A Benchmark for Robust Generalization in Schema-Guided Dialogue
Systems" (arXiv 2110.06800), define it as the mean over all frames of the coefficient of variation
(sample standard deviation / mean) of the frame's scores under the K schema variants.

The worst case says what a user can rely on: a frame's score under the wording that is worst for it.
Liang et al. 2022, "Holistic Evaluation of Language Models" (arXiv 2211.09110), measure robustness
so, as the mean of each instance's worst score over its perturbations, the unperturbed one included.
"""

import numpy as np

from .columns import Floats, safe_divide

# A frame with this score or more is right, and with a lesser one wrong.
RIGHT = 0.5


def variation(scores: Floats, zero_mean: str = "0") -> Floats:
    """Coefficient of variation of scores [variants, items], in [0, sqrt K] or NaN [items]."""
    if len(scores) < 2:
        return np.full(scores.shape[1:], np.nan)
    mean = scores.mean(axis=0)
    spread = scores.std(axis=0, ddof=1)
    values = safe_divide(spread, mean, otherwise=np.nan if zero_mean == "drop" else 0.0)
    return np.where(np.isnan(mean), np.nan, values)


def worst_case(scores: Floats) -> Floats:
    """The least of each item's scores [wordings, items]; NaN where one is undefined [items]."""
    return np.asarray(scores.min(axis=0))


def flipped(scores: Floats) -> Floats:
    """1 for an item right under one wording and wrong under another, else 0; or NaN [items]."""
    least, most = scores.min(axis=0), scores.max(axis=0)
    flips = ((least < RIGHT) & (most >= RIGHT)).astype(np.float64)
    return np.where(np.isnan(least), np.nan, flips)


def mean_defined(values: Floats) -> float | None:
    """Mean of the values that are not NaN; None where all of them are."""
    defined = values[~np.isnan(values)]
    # `mean` takes three times as long for the few values that most groups have.
    return float(defined.sum() / len(defined)) if len(defined) else None
