"""What the commands do with rows: frames of the user for trackers, system turns for generators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset

from ..system import Predictions, Tracker
from ..training.settings import Settings
from . import frames, turns
from .augment import RowsOf


@dataclass(frozen=True)
class RowKind:
    """The functions for one kind of rows, each of which says itself what it does.

    Attributes:
        rows_of: Makes the rows of dialogue rows.
        training: The rows to train on, and the provenance of a model that is.
        dev: The rows to choose the best model on.
        learnable: The columns to train on.
        predict: Runs a tracker or a generator, which sees what it declares to read.
        describe: What the record of a run says about rows.
    """

    rows_of: RowsOf
    training: Callable[[Settings, str | None, bool], frames.Training]
    dev: Callable[[str | None], Dataset]
    learnable: Callable[[Dataset, Sequence[str]], Dataset]
    predict: Callable[[Tracker, Dataset, Path], Predictions]
    describe: Callable[[Dataset], dict[str, Any]]


_KINDS = {
    "frames": RowKind(
        frames.frame_rows,
        frames.training_frames,
        frames.dev_frames,
        frames.learnable,
        frames.track,
        frames.describe,
    ),
    "turns": RowKind(
        turns.turn_rows,
        turns.training_turns,
        turns.dev_turns,
        turns.learnable,
        turns.generate,
        turns.describe,
    ),
}


def rows_for(kind: type[Tracker]) -> RowKind:
    """The functions for the rows that a tracker or a generator works on."""
    return _KINDS[kind.ROWS]
