"""Frame rows as columns with distinct turns and schemas; a state as the sum of its changes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset

from sgdx_dataset.schema import NONE_INTENT

from ..training.batching import Ints

Row = dict[str, Any]
_ROWS = 1000  # number of frame rows that are read into memory together


@dataclass
class FrameColumns:
    """Frames as columns, in the order of the frame rows."""

    ids: list[str] = field(default_factory=list)
    variants: list[str] = field(default_factory=list)
    dialogues: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  # of the turns in their dialogues
    # The distinct turns, of the system's last utterance and the user's, and of each frame the index
    # among them [frames].
    texts: list[tuple[str, str]] = field(default_factory=list)
    text: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    # The same for the schema of each service under each variant.
    schemas: list[Row] = field(default_factory=list)
    service: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.ids)

    def group(self, index: int) -> tuple[str, str, int]:
        """Variant, dialogue and service of a frame; frames that share them share one state."""
        return self.variants[index], self.dialogues[index], int(self.service[index])


def read_frames(rows: Dataset) -> FrameColumns:
    """Read the columns of frame rows, which may be of several variants."""
    frames = FrameColumns()
    texts: dict[tuple[str, str], int] = {}
    services: dict[tuple[str, str], int] = {}
    text, service = [], []
    for table in rows.with_format("arrow").iter(_ROWS):
        variants = table["variant"].to_pylist()
        frames.ids += table["frame_id"].to_pylist()
        frames.variants += variants
        frames.dialogues += table["dialogue_id"].to_pylist()
        frames.numbers += table["turn"].to_pylist()
        pairs = zip(last_utterances(table["history"]), table["utterance"].to_pylist())
        text += [texts.setdefault(pair, len(texts)) for pair in pairs]
        for index, key in enumerate(zip(variants, table["service"].to_pylist())):
            if key not in services:
                services[key] = len(services)
                frames.schemas.append(table["schema"][index].as_py())
            service.append(services[key])
    frames.texts = list(texts)
    frames.text, frames.service = np.array(text, np.int64), np.array(service, np.int64)
    return frames


def last_utterances(histories: pa.ChunkedArray) -> list[str]:
    """The last utterance of each history; empty text for an empty history."""
    turns = histories.combine_chunks()
    lengths = turns.value_lengths().to_numpy()
    last = pa.array(np.cumsum(lengths) - 1, mask=lengths == 0)
    utterances = pc.struct_field(turns.flatten(), "utterance").take(last)
    texts: list[str] = pc.fill_null(utterances, "").to_pylist()
    return texts


def by_text(frames: FrameColumns) -> list[Ints]:
    """Indices of the frames of each distinct turn, which share one pass of the encoder."""
    order = np.argsort(frames.text, kind="stable")
    return np.split(order, np.searchsorted(frames.text[order], np.arange(1, len(frames.texts))))


def by_turn(frames: FrameColumns) -> list[Ints]:
    """Indices of the frames of each turn of a dialogue under a variant, which are consecutive."""
    turns = list(zip(frames.variants, frames.dialogues, frames.numbers))
    starts = [i for i in range(1, len(turns)) if turns[i] != turns[i - 1]]
    return np.split(np.arange(len(turns)), starts) if turns else []


Values = Mapping[str, Sequence[str]]
Group = tuple[Hashable, ...]  # identifies a service in a dialogue, whose frames share one state


@dataclass(frozen=True)
class Change:
    """What a user turn changes in the state of a service."""

    active_intent: str = NONE_INTENT
    requested_slots: list[str] = field(default_factory=list)
    slot_values: dict[str, str] = field(default_factory=dict)  # of only those slots that change


def difference(before: Values, now: Values) -> Values:
    """The slots whose value is new: those with no variant in common with the value before."""
    # The value of an unchanged slot may gain variants. The model cannot unset a slot.
    return {
        slot: values for slot, values in now.items() if set(values).isdisjoint(before.get(slot, ()))
    }


def differences(groups: Iterable[Group], states: Iterable[Values]) -> Iterator[Values]:
    """The difference of each frame to the last frame of its group, which may be many turns ago."""
    last: dict[Group, Values] = {}
    for group, now in zip(groups, states):
        yield difference(last.get(group, {}), now)
        last[group] = now


def accumulate(groups: Iterable[Group], changes: Iterable[Change]) -> Iterator[dict[str, str]]:
    """The slot values of each frame: those of the last frame of its group, with its changes."""
    last: dict[Group, dict[str, str]] = {}
    for group, change in zip(groups, changes):
        last[group] = last.get(group, {}) | change.slot_values
        yield last[group]
