"""Frame rows as turns of tokens with their schema elements, their labels, and batches of both."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from datasets import Dataset
from numpy.typing import NDArray
from torch.nn.functional import pad
from transformers import PreTrainedTokenizerBase

from sgdx_dataset.schema import DONTCARE, NONE_INTENT
from sgdx_dataset.tracker_inputs import GOLD

from ..batching import Ints, padded
from ..encoders import character_span, token_span
from ..tracker import Examples
from ..xla import fill_up
from .elements import ElementTable, ServiceElements
from .modeling import CLS, IGNORED

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


SYSTEM, USER = 0, 1  # indices of the two utterances of a turn
_SPECIAL = -1  # stands for neither utterance: special tokens and padding
_MULTIPLE = 8  # batches are padded to a multiple of this width, as GPUs are faster then
_AT_ONCE = 4096  # number of turns that are tokenized in one call
Span = tuple[int, int]


@dataclass(frozen=True)
class TokenizedTurn:
    """A turn and the positions of its tokens."""

    texts: tuple[str, str]  # the utterances of system and user
    offsets: NDArray[np.int32]  # characters [start, end) of each token in its utterance [tokens, 2]
    sides: NDArray[np.int8]  # utterance of each token [tokens]: ``SYSTEM``, ``USER`` or -1

    def tokens(self, side: int, start: int, end: int) -> Span | None:
        """The first and the last token that cover exactly a span of characters, or None."""
        return token_span((self.offsets * (self.sides == side)[:, None]).tolist(), start, end)

    def text(self, first: int, last: int) -> str:
        """The text from token ``first`` to token ``last``, which belong to one utterance."""
        start, end = character_span(self.offsets.tolist(), first, last)
        return self.texts[int(self.sides[first])][start:end]


class TokenizedTurns:
    """The tokens of turns."""

    def __init__(
        self, texts: Sequence[tuple[str, str]], tokenizer: PreTrainedTokenizerBase, limit: int
    ) -> None:
        self.texts, self.pad, self.limit = texts, int(tokenizer.pad_token_id), limit
        self.inputs: dict[str, list[Ints]] = {}  # of the encoder by name, [tokens] for each turn
        self.offsets: list[NDArray[np.int32]] = []  # [tokens, 2] for each turn
        self.sides: list[NDArray[np.int8]] = []  # [tokens] for each turn
        self.cut = 0  # number of turns that were cut to the limit
        for begin in range(0, len(texts), _AT_ONCE):
            self._read(texts[begin : begin + _AT_ONCE], tokenizer, limit)
        self.lengths: Ints = np.array([len(sides) for sides in self.sides], np.int64)

    def _read(
        self, texts: Sequence[tuple[str, str]], tokenizer: PreTrainedTokenizerBase, limit: int
    ) -> None:
        """Tokenize some turns and append them."""
        encoded = tokenizer(
            [system for system, _ in texts],
            [user for _, user in texts],
            truncation="longest_first",
            max_length=limit,
            return_offsets_mapping=True,
        )
        offsets = encoded.pop("offset_mapping")
        for index, encoding in enumerate(encoded.encodings):
            sides = [_SPECIAL if side is None else side for side in encoding.sequence_ids]
            self.sides.append(np.array(sides, np.int8))
            self.offsets.append(np.array(offsets[index], np.int32).reshape(-1, 2))
            self.cut += bool(encoding.overflowing)
        for name, column in encoded.items():
            self.inputs.setdefault(name, []).extend(np.array(ids, np.int32) for ids in column)

    def turn(self, index: int) -> TokenizedTurn:
        """The turn with the given index."""
        return TokenizedTurn(self.texts[index], self.offsets[index], self.sides[index])

    def batch(self, indices: Iterable[int]) -> dict[str, torch.Tensor]:
        """Make a batch: the encoder's inputs by name [turns, tokens]."""
        turns = list(indices)
        width = -(-int(self.lengths[turns].max()) // _MULTIPLE) * _MULTIPLE
        fills = {"input_ids": self.pad}
        rows = {name: [column[i] for i in turns] for name, column in self.inputs.items()}
        return {n: torch.from_numpy(padded(r, fills.get(n, 0), width)) for n, r in rows.items()}

    def batch_sides(self, indices: Iterable[int], width: int) -> torch.Tensor:
        """The utterance that each token belongs to [turns, tokens]; -1 if to none."""
        return torch.from_numpy(padded([self.sides[i] for i in indices], _SPECIAL, width))


Column = NDArray[np.int16]
UNCHANGED, IS_DONTCARE, ACTIVE = range(3)  # the classes for the status of a slot


@dataclass
class Labels:
    """The labels of frames, in columns."""

    # ``intent`` has one label for each frame, the columns of ``SLOT_LABELS`` for each slot of its
    # kind of each frame. ``start`` and ``end`` are ``CLS`` where the turn does not have the new
    # value, as in the released code. The loss leaves out ``IGNORED``.
    columns: dict[str, Column]
    # Slots that change; of these, those whose value is not a possible one, or not in the turn.
    counts: dict[str, int]


def read_labels(
    rows: Dataset, frames: FrameColumns, table: ElementTable, turns: TokenizedTurns
) -> Labels:
    """Read the labels of frame rows."""
    columns: dict[str, list[int]] = {}
    counts = dict.fromkeys(("changes", "not_in_schema", "not_in_turn"), 0)
    groups = map(frames.group, range(len(frames)))
    states = ({entry["slot"]: entry["values"] for entry in g["slot_values"]} for g in _gold(rows))
    changes = differences(groups, states)
    for index, (gold, changed) in enumerate(zip(_gold(rows), changes, strict=True)):
        service = table.services[frames.service[index]]
        intent = [NONE_INTENT, *service.intents].index(gold["active_intent"])
        for labels in (
            {"intent": intent},
            *_categorical(counts, service, gold, changed),
            *_free(counts, service, gold, changed, turns.turn(int(frames.text[index]))),
        ):
            for name, label in labels.items():
                columns.setdefault(name, []).append(label)
    return Labels({name: np.array(column, np.int16) for name, column in columns.items()}, counts)


def _gold(rows: Dataset) -> Iterator[Row]:
    """The gold columns of each frame row."""
    for table in rows.select_columns(list(GOLD)).with_format("arrow").iter(1000):
        yield from table.to_pylist()


def _status(slot: str, changed: Values) -> int:
    """The class for the status of a slot, given the slots that changed."""
    if slot not in changed:
        return UNCHANGED
    return IS_DONTCARE if changed[slot][0] == DONTCARE else ACTIVE


def _categorical(
    counts: dict[str, int], service: ServiceElements, gold: Row, changed: Values
) -> Iterator[dict[str, int]]:
    """The labels of each of a frame's categorical slots, which are counted."""
    for slot, choices in zip(service.categorical, service.values):
        status, value = _status(slot, changed), IGNORED
        if status == ACTIVE and changed[slot][0] in choices:
            value = choices.index(changed[slot][0])
        counts["changes"] += status != UNCHANGED
        counts["not_in_schema"] += status == ACTIVE and value == IGNORED
        requested = slot in gold["requested_slots"]
        yield {"categorical_status": status, "value": value, "categorical_requested": requested}


def _free(
    counts: dict[str, int],
    service: ServiceElements,
    gold: Row,
    changed: Values,
    turn: TokenizedTurn,
) -> Iterator[dict[str, int]]:
    """The labels of each of a frame's free-form slots, which are counted."""
    for slot in service.free:
        status, span = _status(slot, changed), (IGNORED, IGNORED)
        if status == ACTIVE:
            marked = [(s["start"], s["exclusive_end"]) for s in gold["slots"] if s["slot"] == slot]
            span = find_span(turn, changed[slot], marked) or (CLS, CLS)
        start, end = span
        counts["changes"] += status != UNCHANGED
        counts["not_in_turn"] += start == CLS
        requested = slot in gold["requested_slots"]
        yield {"free_status": status, "start": start, "end": end, "free_requested": requested}


def find_span(turn: TokenizedTurn, values: Sequence[str], marked: Sequence[Span]) -> Span | None:
    """The first and the last token of a value in a turn; None if it is not there."""
    # It is searched in the annotated spans, then in the user's utterance, then in the system's.
    occurrences = [(USER, start, end) for start, end in marked]
    for side in (USER, SYSTEM):
        for value in values:
            word = rf"(?<!\w){re.escape(value)}(?!\w)"
            occurrences += [(side, *match.span()) for match in re.finditer(word, turn.texts[side])]
    spans = (turn.tokens(*occurrence) for occurrence in occurrences)
    return next((span for span in spans if span is not None), None)


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


class TurnExamples(Examples):
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
        counts = labels.counts if labels is not None else {}
        self.facts = {"turns": len(groups), "cut": turns.cut, "labels": counts}
        # Index of the first label of each frame [frames + 1].
        self.begins = {
            "categorical": _label_begins(table.categorical_begin, frames.service),
            "free": _label_begins(table.free_begin, frames.service),
        }

    def questions(self, indices: Ints) -> tuple[Tensors, SlotQuestions]:
        """Make a batch for prediction: without spans and labels; and what it predicts."""
        examples = indices.tolist()
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

    def batch(self, indices: Ints) -> Tensors:
        """Make a batch for training, with labels, and with the slots that have a new value."""
        batch, questions = self.questions(indices)
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

    def fill(self, batch: Tensors, rows: int, width: int) -> Tensors:
        """Fill a batch up to turns and tokens."""
        return filled(batch, rows, width, len(self.vectors))


# The dimensions of a batch's tensors; its labels are at ``SgdBaselineModel``.
_DIMENSIONS: dict[str, tuple[str | None, ...]] = {
    **dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), ("turns", "tokens")),
    "elements": ("elements", None),
    "turn": ("frames",),
    "intents": ("frames", "intents"),
    "categorical": ("categorical",),
    "categorical_frame": ("categorical",),
    "values": ("categorical", "values"),
    "free": ("free",),
    "free_frame": ("free",),
    "span": ("spans",),
    "intent_label": ("frames",),
    "categorical_status_label": ("categorical",),
    "value_label": ("categorical",),
    "free_status_label": ("free",),
    "start_label": ("spans",),
    "end_label": ("spans",),
}
_FILLS = {name: IGNORED for name in _DIMENSIONS if name.endswith("_label")}
_FILLS |= {"intents": -1, "values": -1}


def filled(batch: Tensors, rows: int, width: int, elements: int) -> Tensors:
    """A batch filled up to turns of ``width`` tokens, and a number of schema elements."""
    # Few turns of SGD have more frames, slots and values than these.
    sizes = {"turns": rows, "tokens": width, "elements": elements, "frames": 2 * rows}
    sizes |= {"categorical": 8 * rows, "free": 16 * rows, "spans": 4 * rows}
    sizes |= {"intents": 8, "values": 16}
    full = fill_up(batch, _DIMENSIONS, sizes, _FILLS)
    if "requested_label" in batch:  # of categorical slots, then of free-form ones
        of_each = [len(batch["categorical"]), len(batch["free"])]
        sides = torch.split(batch["requested_label"], of_each)
        rooms = (len(full[n]) - len(side) for n, side in zip(("categorical", "free"), sides))
        labels = [pad(side, (0, room), value=IGNORED) for side, room in zip(sides, rooms)]
        full["requested_label"] = torch.cat(labels)
    return full


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
