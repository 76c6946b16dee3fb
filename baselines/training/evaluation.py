"""The score on dev by which a training chooses its best model."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from accelerate import Accelerator
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


def score_on(
    rows: Dataset,
    predict: Callable[[Path], Sequence[dict[str, Any]]],
    accelerator: Accelerator,
    folder: Path,
) -> float:
    """Joint goal accuracy in [0, 1] of what ``predict`` makes of frame rows; in every process.

    Args:
        rows: With gold states.
        predict: Prediction rows for them; it is given a folder for its shards.
        accelerator: Knows the processes.
        folder: For the shards; emptied before, as the model is another one each time, and after.
    """
    if accelerator.is_main_process:
        shutil.rmtree(folder, ignore_errors=True)
    accelerator.wait_for_everyone()
    predicted = predict(folder)
    if accelerator.is_main_process:
        shutil.rmtree(folder)
    return joint_goal_accuracy(rows, predicted)
