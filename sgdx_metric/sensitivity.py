"""Schema sensitivity: how much a frame's score moves when only the schema's words change.

Lee et al. 2022, "SGD-X: A Benchmark for Robust Generalization in Schema-Guided Dialogue Systems"
(arXiv 2110.06800): SS is the mean over all frames of the coefficient of variation
(sample standard deviation / mean) of the frame's scores under the K schema variants.
"""

import numpy as np

from .columns import Floats, over


def variation(scores: Floats, zero_mean: str = "0") -> Floats:
    """Coefficient of variation of each frame, or turn, of any metric.

    Args:
        scores: one row a variant, NaN where undefined [variants, frames].
        zero_mean: "0" or "drop", see `Rules`.

    Returns:
        Values in [0, sqrt K] [frames]. NaN where the score is undefined under any variant, and with
        fewer than two variants; where it is 0 under all of them, 0 or, with "drop", NaN.
    """
    if len(scores) < 2:
        return np.full(scores.shape[1:], np.nan)
    mean = scores.mean(axis=0)
    spread = scores.std(axis=0, ddof=1)
    values = over(spread, mean, otherwise=np.nan if zero_mean == "drop" else 0.0)
    return np.where(np.isnan(mean), np.nan, values)


def mean_defined(values: Floats) -> float | None:
    """Mean of the values that are not NaN; None where all are."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else None
