"""Schema sensitivity: how much a frame's score moves when only the schema's words change.

Lee et al. 2022, "SGD-X: A Benchmark for Robust Generalization in Schema-Guided Dialogue Systems"
(arXiv 2110.06800): SS is the mean over all frames of the coefficient of variation
(sample standard deviation / mean) of the frame's scores under the K schema variants.
"""

import numpy as np

from .columns import Floats, over


def variation(scores: Floats) -> Floats:
    """Coefficient of variation of each frame, of any metric.

    Args:
        scores: one row a variant, NaN where undefined [variants K >= 2, frames].

    Returns:
        Values >= 0 [frames]: 0 where a frame scores 0 under all variants, NaN where a variant's
        score is undefined.
    """
    mean = scores.mean(axis=0)
    values = over(scores.std(axis=0, ddof=1), mean, otherwise=0.0)
    return np.where(np.isnan(mean), np.nan, values)


def mean_defined(values: Floats) -> float | None:
    """Mean of the values that are not NaN; None where all are."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else None
