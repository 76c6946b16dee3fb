"""Scores of prediction rows against the frame rows that they are for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from datasets import Dataset

from sgdx_metric import report, score_frames
from sgdx_metric.rows import PREDICTION, REFERENCE


def joint_goal_accuracy(rows: Dataset, predictions: Sequence[dict[str, Any]]) -> float:
    """Joint goal accuracy in [0, 1] of one variant's predictions.

    Raises:
        ScoreError: The predictions are not those of the rows' frames.
    """
    references = rows.select_columns(REFERENCE.names).with_format("arrow")[:]
    predicted = pa.Table.from_pylist(list(predictions), schema=PREDICTION)
    variant = str(rows[0]["variant"])
    scores = report({variant: score_frames(references, predicted, variant)})
    return float(scores["sgdx"]["by_variant"][variant])
