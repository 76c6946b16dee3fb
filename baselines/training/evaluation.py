"""The score on the dev split by which training selects the best model."""

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
    """Joint goal accuracy of the predictions for one schema variant.

    Args:
        rows: Frame rows of one variant, with gold states.
        predictions: Prediction rows for the same frames.

    Returns:
        A fraction in [0, 1].

    Raises:
        ScoreError: The predictions are for other frames than ``rows``.
    """
    references = rows.select_columns(REFERENCE.names).with_format("arrow")[:]
    predicted = pa.Table.from_pylist(list(predictions), schema=PREDICTION)
    variant = str(rows[0]["variant"])
    scores = report({variant: score_frames(references, predicted, variant)})
    return float(scores["sgdx"]["by_variant"][variant])


def predicted_on(
    predict: Callable[[Path], Sequence[dict[str, Any]]], accelerator: Accelerator, folder: Path
) -> Sequence[dict[str, Any]]:
    """Predict dev rows with the current model, never reusing results of an earlier one.

    Args:
        predict: Returns prediction rows, given a folder for partial results.
        accelerator: The processes and the device.
        folder: The folder for partial results. It is removed before and after.

    Returns:
        The prediction rows, the same in every process.
    """
    if accelerator.is_main_process:
        shutil.rmtree(folder, ignore_errors=True)
    accelerator.wait_for_everyone()
    predicted = predict(folder)
    if accelerator.is_main_process:
        shutil.rmtree(folder)
    return predicted


def score_on(
    rows: Dataset,
    predict: Callable[[Path], Sequence[dict[str, Any]]],
    accelerator: Accelerator,
    folder: Path,
) -> float:
    """Predict frame rows and score the predictions by joint goal accuracy.

    Args:
        rows: Frame rows of one variant, with gold states.
        predict: Returns prediction rows for ``rows``, given a folder for partial results.
        accelerator: The processes and the device.
        folder: The folder for partial results. It is removed before and after.

    Returns:
        A fraction in [0, 1], the same in every process.
    """
    return joint_goal_accuracy(rows, predicted_on(predict, accelerator, folder))
