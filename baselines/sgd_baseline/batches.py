"""Batches of turns with their frames and the schema elements of these frames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from ..training.batching import Ints
from .frames import FrameColumns
from .labels import Labels
from .schema_embeddings import ElementTable
from .turns import TokenizedTurns

Tensors = dict[str, torch.Tensor]
# Names of the label columns of each kind of slot.
SLOT_LABELS = {
    "categorical": ("categorical_status", "value", "categorical_requested"),
    "free": ("free_status", "start", "end", "free_requested"),
}


@dataclass(frozen=True)
class SlotQuestions:
    """The frames and slots that a batch predicts, in the order of its logits."""

    frames: Ints  # index of each frame in ``FrameColumns`` [frames]
    categorical: Ints  # index of each categorical slot in ``ElementTable`` [categorical slots]
    categorical_frame: Ints  # index in ``frames`` of the frame of each categorical slot
    free: Ints  # index of each free-form slot in ``ElementTable`` [free-form slots]
    free_frame: Ints  # index in ``frames`` of the frame of each free-form slot


class TurnExamples:
    """Examples, each of which is a turn with the frames that share one pass of the encoder."""

    def __init__(
        self,
        frames: FrameColumns,
        groups: list[Ints],
        turns: TokenizedTurns,
        table: ElementTable,
        vectors: torch.Tensor,
        labels: Labels | None = None,
    ) -> None:
        self.frames, self.groups, self.turns = frames, groups, turns
        self.table, self.vectors, self.labels = table, vectors, labels
        # Index of the turn of each example in ``turns``, and its number of tokens [examples].
        self.texts: Ints = np.array([frames.text[group[0]] for group in groups], np.int64)
        self.lengths: Ints = turns.lengths[self.texts]
        # Index of the first label of each frame [frames + 1].
        self.begins = {
            "categorical": _label_begins(table.categorical_begin, frames.service),
            "free": _label_begins(table.free_begin, frames.service),
        }

    def batch(self, indices: Iterable[int]) -> tuple[Tensors, SlotQuestions]:
        """Make a batch for prediction: without spans and labels; and what it predicts."""
        examples = list(indices)
        groups = [self.groups[i] for i in examples]
        frames = np.concatenate(groups)
        service = self.frames.service[frames]
        categorical, categorical_frame = ranges(self.table.categorical_begin, service)
        free, free_frame = ranges(self.table.free_begin, service)
        elements = {
            "intents": self.table.intents[service],
            "categorical": self.table.categorical[categorical],
            "values": self.table.values[categorical],
            "free": self.table.free[free],
        }
        owners = {
            "turn": np.repeat(np.arange(len(groups)), [len(group) for group in groups]),
            "categorical_frame": categorical_frame,
            "free_frame": free_frame,
        }
        batch = self.turns.batch(self.texts[examples].tolist())
        batch |= {name: torch.from_numpy(column) for name, column in owners.items()}
        questions = SlotQuestions(frames, categorical, categorical_frame, free, free_frame)
        return batch | self._elements(elements), questions

    def _elements(self, numbers: dict[str, Ints]) -> Tensors:
        """The embeddings that a batch needs, and the numbers of its elements among them."""
        # Numbers count from 1, as 0 is the intent NONE; -1 is padding.
        used = np.unique(np.concatenate([column.ravel() for column in numbers.values()]))
        used = used[used > 0]
        # The table's number of each element -> its number in this batch. 0 (NONE) stays 0, and the
        # last entry, which the index -1 of padding reads, stays -1.
        renumbered = np.full(len(self.vectors) + 2, -1, np.int64)
        renumbered[0] = 0
        renumbered[used] = np.arange(1, len(used) + 1)
        tensors = {name: torch.from_numpy(renumbered[column]) for name, column in numbers.items()}
        return {"elements": self.vectors[torch.from_numpy(used - 1)], **tensors}

    def training_batch(self, indices: Iterable[int]) -> Tensors:
        """Make a batch for training, with labels, and with the slots that have a new value."""
        batch, questions = self.batch(indices)
        assert self.labels is not None  # noqa: S101
        columns = self.labels.columns
        label_columns = {"intent": columns["intent"][questions.frames]}
        for kind in ("categorical", "free"):
            slots, _ = ranges(self.begins[kind], questions.frames)
            for name in SLOT_LABELS[kind]:
                label_columns[name] = columns[name][slots]
        spans = np.flatnonzero(label_columns["start"] >= 0)
        requested = [
            label_columns.pop("categorical_requested"),
            label_columns.pop("free_requested"),
        ]
        label_columns |= {"requested": np.concatenate(requested)}
        label_columns |= {name: label_columns[name][spans] for name in ("start", "end")}
        labels = {
            f"{name}_label": torch.from_numpy(column.astype(np.int64))
            for name, column in label_columns.items()
        }
        return batch | labels | {"span": torch.from_numpy(spans)}


def ranges(begins: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """The indices ``begins[row]`` up to ``begins[row + 1]`` of rows, and the row of each index.

    >>> ranges(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([2, 3, 4, 0, 1]), array([0, 0, 0, 1, 1]))
    """
    counts = begins[rows + 1] - begins[rows]
    owners = np.repeat(np.arange(len(rows)), counts)
    first = np.cumsum(counts) - counts  # where each row's range begins in the result
    # Counting on from 0 through the result, shifted for each row to where its own range begins.
    return np.arange(len(owners)) + (begins[rows] - first)[owners], owners


def _label_begins(slots_begin: Ints, service: Ints) -> Ints:
    """Index of the first label of each frame, then the number of labels [frames + 1]."""
    return np.concatenate([[0], np.cumsum(np.diff(slots_begin)[service])]).astype(np.int64)
