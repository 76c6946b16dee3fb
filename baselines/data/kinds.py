"""The functions by which the commands handle frame rows (trackers) and turn rows (generators)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset

from sgdx_dataset import tracker_inputs
from sgdx_eval.requested import RowsOf, frame_rows

from ..system import Predictions, System
from ..training.settings import Settings
from . import frames, turns


@dataclass(frozen=True)
class RowFunctions:
    """The functions for one kind of rows; ``data.frames`` and ``data.turns`` have them."""

    rows_of: RowsOf
    training: Callable[[Settings, str | None, bool], frames.Training]
    dev: Callable[[str | None], Dataset]
    training_columns: Callable[[Dataset, Sequence[str]], Dataset]
    predict: Callable[[System, Dataset, Path], Predictions]
    describe: Callable[[Dataset], dict[str, Any]]


FRAME_ROWS = RowFunctions(
    frame_rows,
    frames.training_frames,
    frames.dev_frames,
    tracker_inputs.training_columns,
    frames.track,
    frames.describe,
)
TURN_ROWS = RowFunctions(
    turns.turn_rows,
    turns.training_turns,
    turns.dev_turns,
    turns.training_columns,
    turns.generate,
    turns.describe,
)


def rows_for(system_class: type[System]) -> RowFunctions:
    """The functions for the rows that a tracker or a generator works on."""
    return FRAME_ROWS if system_class.ROWS == "frames" else TURN_ROWS
