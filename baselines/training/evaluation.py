"""The score on the dev split by which training selects the best model."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from datasets import Dataset

from sgdx_metric import report, score_frames
from sgdx_metric.rows import PREDICTION, REFERENCE

from .task import Run

Row = dict[str, Any]


def joint_goal_accuracy(rows: Dataset, predictions: Sequence[Row]) -> float:
    """Joint goal accuracy, in [0, 1], of the predictions for one schema variant."""
    references = rows.select_columns(REFERENCE.names).with_format("arrow")[:]
    predicted = pa.Table.from_pylist(list(predictions), schema=PREDICTION)
    variant = str(rows[0]["variant"])
    scores = report({variant: score_frames(references, predicted, variant)})
    return float(scores["sgdx"]["by_variant"][variant])


def predict_dev(run: Run[Any], predict: Callable[[Path], Sequence[Row]]) -> Sequence[Row]:
    """Predict dev rows with the current model, never reusing results of an earlier one."""
    folder = run.output / "dev"
    if run.accelerator.is_main_process:
        shutil.rmtree(folder, ignore_errors=True)
    run.accelerator.wait_for_everyone()
    predicted = predict(folder)
    if run.accelerator.is_main_process:
        shutil.rmtree(folder)
    return predicted


def score_dev(run: Run[Any], predict: Callable[[Path], Sequence[Row]]) -> float:
    """Predict the dev frames of a run and score the predictions by joint goal accuracy."""
    return joint_goal_accuracy(run.dev, predict_dev(run, predict))
