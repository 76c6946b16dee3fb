"""Arrays of scores, and division that is undefined rather than wrong."""

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def over(total: npt.NDArray[Any], number: npt.NDArray[Any], otherwise: float = np.nan) -> Floats:
    """Divide totals by numbers; the result is `otherwise` where the number is 0."""
    ratio: Floats = np.full(total.shape, otherwise)
    np.divide(total, number, out=ratio, where=number > 0)
    return ratio
