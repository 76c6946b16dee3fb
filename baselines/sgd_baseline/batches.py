"""Batches: turns with all their frames, and of each frame's schema the places of its elements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from ..training.batching import Ints
from .frames import FrameColumns
from .labels import Labels
from .schema_embeddings import Table
from .turns import TokenizedTurns

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class SlotQuestions:
    """What a batch asks of its frames, in the order of its logits.

    Attributes:
        frames: Places in ``FrameColumns``.
        categorical, free: Places of slots in ``Table``.
        categorical_frame, free_frame: The frame that each slot is of, as a place in ``frames``.
    """

    frames: Ints
    categorical: Ints
    categorical_frame: Ints
    free: Ints
    free_frame: Ints


class Examples:
    """Examples: each is a turn with the frames that one pass of the encoder serves.

    vectors: embeddings [pairs, hidden] of the table's pairs. lengths [examples]: in tokens.
    """

    def __init__(
        self,
        frames: FrameColumns,
        groups: list[Ints],
        turns: TokenizedTurns,
        table: Table,
        vectors: torch.Tensor,
        labels: Labels | None = None,
    ) -> None:
        self.frames, self.groups, self.turns = frames, groups, turns
        self.table, self.vectors, self.labels = table, vectors, labels
        self.texts: Ints = np.array([frames.text[group[0]] for group in groups], np.int64)
        self.lengths: Ints = turns.lengths[self.texts]
        self.begins = {
            "categorical": _label_begins(table.categorical_begin, frames.service),
            "free": _label_begins(table.free_begin, frames.service),
        }

    def batch(self, indices: Iterable[int]) -> tuple[Tensors, SlotQuestions]:
        """The model's tensors for some examples, without spans and labels."""
        chosen = list(indices)
        groups = [self.groups[i] for i in chosen]
        frames = np.concatenate(groups)
        service = self.frames.service[frames]
        categorical, categorical_frame = ranges(self.table.categorical_begin, service)
        free, free_frame = ranges(self.table.free_begin, service)
        places = {
            "intents": self.table.intents[service],
            "categorical": self.table.categorical[categorical],
            "values": self.table.values[categorical],
            "free": self.table.free[free],
        }
        numbers = {
            "turn": np.repeat(np.arange(len(groups)), [len(group) for group in groups]),
            "categorical_frame": categorical_frame,
            "free_frame": free_frame,
        }
        batch = self.turns.batch(self.texts[chosen].tolist())
        batch |= {name: torch.from_numpy(column) for name, column in numbers.items()}
        asked = SlotQuestions(frames, categorical, categorical_frame, free, free_frame)
        return batch | self._elements(places), asked

    def _elements(self, places: dict[str, Ints]) -> Tensors:
        """The embeddings that are needed, and places among these."""
        used = np.unique(np.concatenate([column.ravel() for column in places.values()]))
        used = used[used > 0]
        renumbered = np.full(len(self.vectors) + 2, -1, np.int64)  # the last is padding's: -1
        renumbered[0] = 0
        renumbered[used] = np.arange(1, len(used) + 1)
        tensors = {name: torch.from_numpy(renumbered[column]) for name, column in places.items()}
        return {"elements": self.vectors[torch.from_numpy(used - 1)], **tensors}

    def training_batch(self, indices: Iterable[int]) -> Tensors:
        """Also the spans that are there to be found, and the labels."""
        batch, asked = self.batch(indices)
        assert self.labels is not None  # noqa: S101
        columns = self.labels.columns
        found = {"intent": columns["intent"][asked.frames]}
        for kind in ("categorical", "free"):
            places, _ = ranges(self.begins[kind], asked.frames)
            for name in OF_SLOTS[kind]:
                found[name] = columns[name][places]
        spans = np.flatnonzero(found["start"] >= 0)
        requested = [found.pop("categorical_requested"), found.pop("free_requested")]
        found |= {"requested": np.concatenate(requested)}
        found |= {name: found[name][spans] for name in ("start", "end")}
        labels = {f"{n}_label": torch.from_numpy(c.astype(np.int64)) for n, c in found.items()}
        return batch | labels | {"span": torch.from_numpy(spans)}


OF_SLOTS = {
    "categorical": ("categorical_status", "value", "categorical_requested"),
    "free": ("free_status", "start", "end", "free_requested"),
}


def ranges(begins: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """The places begins[row] to before begins[row + 1] of each row, and which row each is of.

    >>> ranges(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([2, 3, 4, 0, 1]), array([0, 0, 0, 1, 1]))
    """
    counts = begins[rows + 1] - begins[rows]
    owners = np.repeat(np.arange(len(rows)), counts)
    first = np.cumsum(counts) - counts
    return np.arange(len(owners)) + (begins[rows] - first)[owners], owners


def _label_begins(slots_begin: Ints, service: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(np.diff(slots_begin)[service])]).astype(np.int64)
