"""Dialogues as turns of tokens with the frames that are asked about each, their labels, batches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import pad
from transformers import PreTrainedTokenizerBase

from sgdx_dataset.schema import DONTCARE

from ..batching import Ints, padded
from ..data.dialogues import Dialogue, Gold, Values, new_values
from ..encoders import character_span, token_span
from ..tracker import Examples
from ..xla import Tensors, fill_up
from .elements import Elements
from .modeling import CLS, IGNORED

SYSTEM, USER = 0, 1  # indices of the two utterances of a turn
_SPECIAL = -1  # stands for neither utterance: special tokens and padding
_MULTIPLE = 8  # batches are padded to a multiple of this width, as GPUs are faster then
_AT_ONCE = 4096  # number of turns that are tokenized in one call
UNCHANGED, IS_DONTCARE, ACTIVE = range(3)  # the classes for the status of a slot
Span = tuple[int, int]


class TokenizedTurn(NamedTuple):
    """The system's utterance and the user's as one input of the encoder."""

    texts: tuple[str, str]
    inputs: dict[str, NDArray[np.int32]]  # of the encoder, by name [tokens]
    offsets: NDArray[np.int32]  # characters [start, end) of each token in its utterance [tokens, 2]
    sides: NDArray[np.int8]  # utterance of each token [tokens]: ``SYSTEM``, ``USER`` or -1
    cut: bool  # whether it had more tokens

    def tokens(self, side: int, start: int, end: int) -> Span | None:
        """The first and the last token that cover exactly a span of characters, or None."""
        return token_span((self.offsets * (self.sides == side)[:, None]).tolist(), start, end)

    def text(self, first: int, last: int) -> str:
        """The text from token ``first`` to token ``last``, which belong to one utterance."""
        start, end = character_span(self.offsets.tolist(), first, last)
        return self.texts[int(self.sides[first])][start:end]


def tokenize_turns(
    texts: Sequence[tuple[str, str]], tokenizer: PreTrainedTokenizerBase, limit: int
) -> list[TokenizedTurn]:
    """Tokenize turns; of one that is too long, the longer utterance loses its end."""
    turns = []
    for begin in range(0, len(texts), _AT_ONCE):
        chunk = texts[begin : begin + _AT_ONCE]
        encoded = tokenizer(
            [system for system, _ in chunk],
            [user for _, user in chunk],
            truncation="longest_first",
            max_length=limit,
            return_offsets_mapping=True,
        )
        offsets = encoded.pop("offset_mapping")
        for number, encoding in enumerate(encoded.encodings):
            inputs = {name: np.array(rows[number], np.int32) for name, rows in encoded.items()}
            places = np.array(offsets[number], np.int32).reshape(-1, 2)
            sides = [_SPECIAL if side is None else side for side in encoding.sequence_ids]
            cut = bool(encoding.overflowing)
            turns.append(
                TokenizedTurn(chunk[number], inputs, places, np.array(sides, np.int8), cut)
            )
    return turns


class Labels(NamedTuple):
    """The labels of a frame. The loss leaves out ``IGNORED``."""

    intent: int
    # Of each slot its status, the number of its value, and whether it is requested [slots, 3].
    categorical: Ints
    # Of each slot its status, the first and the last token of its value, and whether it is
    # requested [slots, 4]. Both tokens are ``CLS`` where the turn does not have the new value, as
    # in the released code.
    free: Ints


def labels_of(gold: Gold, new: Values, elements: Elements, turn: TokenizedTurn) -> Labels:
    """The labels of a frame, whose slots have these new values."""

    def status(slot: str) -> int:
        if slot not in new:
            return UNCHANGED
        return IS_DONTCARE if new[slot][0] == DONTCARE else ACTIVE

    categorical, free = [], []
    for slot in elements.categorical:
        value, choices = IGNORED, slot.possible_values
        if status(slot.name) == ACTIVE and new[slot.name][0] in choices:
            value = choices.index(new[slot.name][0])
        categorical.append((status(slot.name), value, slot.name in gold.state.requested))
    for slot in elements.free:
        span = (IGNORED, IGNORED)
        if status(slot.name) == ACTIVE:
            marked = gold.spans.get(slot.name, ())
            span = find_span(turn, new[slot.name], marked) or (CLS, CLS)
        free.append((status(slot.name), *span, slot.name in gold.state.requested))
    return Labels(
        elements.intents.index(gold.state.intent),
        np.array(categorical, np.int64).reshape(-1, 3),
        np.array(free, np.int64).reshape(-1, 4),
    )


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


class AskedFrame(NamedTuple):
    """A frame that is asked about a turn."""

    turn: TokenizedTurn
    elements: Elements
    labels: Labels | None  # None in prediction


class TurnExamples(Examples):
    """Examples, each of which is a turn with the frames that share one pass of the encoder."""

    def __init__(
        self,
        dialogues: Sequence[Dialogue],
        turns: dict[tuple[str, str], TokenizedTurn],
        elements: dict[object, Elements],
        vectors: torch.Tensor,
        pad: int,
        *,
        labelled: bool,
    ) -> None:
        """Make examples: of distinct turns to predict, of those of each dialogue to learn.

        Args:
            dialogues: The dialogues.
            turns: Their turns, by the two utterances.
            elements: The elements of their services.
            vectors: The embeddings of the elements' sentence pairs [pairs, hidden].
            pad: The number of the token that fills up turns.
            labelled: Whether there are labels, for which dialogues need gold states.
        """
        self.vectors, self.pad = vectors, pad
        every = [row for of in elements.values() for row in of.value_numbers]
        # The most intents of a service and the most values of a slot, to which batches are padded.
        intents = max((len(of.intents) for of in elements.values()), default=1)
        self.widths = intents, max([1, *map(len, every)])
        self.frames: list[AskedFrame] = []
        groups: dict[object, list[int]] = {}  # of frames that share a pass
        for number, dialogue in enumerate(dialogues):
            before: dict[str, Values] = {}  # the last gold state of each service, maybe long ago
            for place, turn in enumerate(dialogue.turns):
                texts = (turn.system, turn.user)
                group = groups.setdefault((number, place) if labelled else texts, [])
                for frame in turn.frames:
                    labels, service = None, frame.schema.service_name
                    if labelled and frame.gold:
                        now = frame.gold.state.values
                        new = new_values(before.get(service, {}), now)
                        labels = labels_of(frame.gold, new, elements[frame.schema], turns[texts])
                        before[service] = now
                    group.append(len(self.frames))
                    self.frames.append(AskedFrame(turns[texts], elements[frame.schema], labels))
        self.groups = list(groups.values())
        self.turns = [self.frames[group[0]].turn for group in self.groups]  # of the examples
        self.lengths: Ints = np.array([len(turn.sides) for turn in self.turns], np.int64)
        counts = _count([frame.labels for frame in self.frames if frame.labels])
        cut = sum(turn.cut for turn in turns.values())
        self.facts = {"turns": len(self.groups), "cut": cut, "labels": counts}

    def questions(self, indices: Ints) -> tuple[Tensors, list[int]]:
        """Make a batch for prediction: without spans and labels; and the frames that it asks."""
        groups = [self.groups[index] for index in indices.tolist()]
        asked = [frame for group in groups for frame in group]
        elements = [self.frames[frame].elements for frame in asked]
        values = [row for of in elements for row in of.value_numbers]
        numbers = {
            "intents": padded([of.intent_numbers for of in elements], -1, self.widths[0]),
            "categorical": np.array([n for of in elements for n in of.categorical_numbers], int),
            "values": padded(values, -1, self.widths[1]),
            "free": np.array([n for of in elements for n in of.free_numbers], int),
        }
        owners = np.arange(len(asked))
        batch = {
            "turn": np.repeat(np.arange(len(groups)), [len(group) for group in groups]),
            "categorical_frame": np.repeat(owners, [len(of.categorical) for of in elements]),
            "free_frame": np.repeat(owners, [len(of.free) for of in elements]),
            **self._inputs([self.turns[index] for index in indices.tolist()]),
        }
        tensors = {name: torch.from_numpy(column) for name, column in batch.items()}
        return tensors | self._elements(numbers), asked

    def _inputs(self, turns: Sequence[TokenizedTurn]) -> dict[str, Ints]:
        """The encoder's inputs by name [turns, tokens]."""
        width = -(-max(len(turn.sides) for turn in turns) // _MULTIPLE) * _MULTIPLE
        names = turns[0].inputs
        rows = {name: [turn.inputs[name] for turn in turns] for name in names}
        return {n: padded(r, self.pad if n == "input_ids" else 0, width) for n, r in rows.items()}

    def _elements(self, numbers: dict[str, Ints]) -> Tensors:
        """The embeddings that a batch needs, and the numbers of its elements among them."""
        used = np.unique(np.concatenate([column.ravel() for column in numbers.values()]))
        used = used[used > 0]
        # The number of each element -> its number in this batch. 0 (NONE) stays 0, and the last
        # entry, which the index -1 of padding reads, stays -1.
        renumbered = np.full(len(self.vectors) + 2, -1, np.int64)
        renumbered[0] = 0
        renumbered[used] = np.arange(1, len(used) + 1)
        tensors = {name: torch.from_numpy(renumbered[column]) for name, column in numbers.items()}
        return {"elements": self.vectors[torch.from_numpy(used - 1)], **tensors}

    def batch(self, indices: Ints) -> Tensors:
        """Make a batch for training, with labels, and with the slots that have a new value."""
        batch, asked = self.questions(indices)
        labels = [of for frame in asked if (of := self.frames[frame].labels)]
        status, value, requested = np.concatenate([of.categorical for of in labels]).T
        free_status, start, end, free_requested = np.concatenate([of.free for of in labels]).T
        spans = np.flatnonzero(start >= 0)
        columns = {
            "intent_label": np.array([of.intent for of in labels]),
            "requested_label": np.concatenate([requested, free_requested]),
            "categorical_status_label": status,
            "value_label": value,
            "free_status_label": free_status,
            "start_label": start[spans],
            "end_label": end[spans],
            "span": spans,
        }
        return batch | {name: torch.from_numpy(column.copy()) for name, column in columns.items()}

    def fill(self, batch: Tensors, rows: int, width: int) -> Tensors:
        """Fill a batch up to turns and tokens."""
        return filled(batch, rows, width, len(self.vectors))


def _count(labels: Sequence[Labels]) -> dict[str, int]:
    """How many slots change; and of these those whose value is no possible one, or not said."""
    if not labels:
        return {}
    categorical = np.concatenate([of.categorical for of in labels])
    free = np.concatenate([of.free for of in labels])
    changes = sum((slots[:, 0] != UNCHANGED).sum() for slots in (categorical, free))
    unknown = (categorical[:, 0] == ACTIVE) & (categorical[:, 1] == IGNORED)
    counts = {"changes": changes, "not_in_schema": unknown.sum()}
    counts |= {"not_in_turn": (free[:, 1] == CLS).sum()}
    return {name: int(count) for name, count in counts.items()}


# The dimensions of a batch's tensors; its labels are at ``SgdBaselineModel``.
_DIMENSIONS: dict[str, tuple[str | None, ...]] = {
    **dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), ("turns", "tokens")),
    "elements": ("elements", None),
    "intents": ("frames", "intents"),
    "values": ("categorical", "values"),
    **dict.fromkeys(("turn", "intent_label"), ("frames",)),
    **dict.fromkeys(("categorical", "categorical_frame"), ("categorical",)),
    **dict.fromkeys(("categorical_status_label", "value_label"), ("categorical",)),
    **dict.fromkeys(("free", "free_frame", "free_status_label"), ("free",)),
    **dict.fromkeys(("span", "start_label", "end_label"), ("spans",)),
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
