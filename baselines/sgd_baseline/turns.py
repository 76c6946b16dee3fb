"""A turn's tokens, ``[CLS] system [SEP] user [SEP]``, and the text that spans of them are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from ..encoders.spans import character_span, token_span
from ..training.batching import Ints

SYSTEM, USER = 0, 1  # the places of a turn's two texts
_SPECIAL = -1
_MULTIPLE = 8  # widths that matrix units like
_AT_ONCE = 4096  # turns to tokenize
Span = tuple[int, int]


@dataclass(frozen=True)
class TokenizedTurn:
    """One turn's texts, and per token its characters in its text and which text that is."""

    texts: tuple[str, str]
    offsets: NDArray[np.int32]
    sides: NDArray[np.int8]

    def tokens(self, side: int, start: int, end: int) -> Span | None:
        """The tokens of characters of one text, or None where no tokens are just these."""
        return token_span((self.offsets * (self.sides == side)[:, None]).tolist(), start, end)

    def text(self, first: int, last: int) -> str:
        """What the tokens from ``first`` to ``last``, of one text, say."""
        start, end = character_span(self.offsets.tolist(), first, last)
        return self.texts[int(self.sides[first])][start:end]


class TokenizedTurns:
    """The tokens of turns. lengths [turns]: in tokens. cut: how many lost tokens to the limit."""

    def __init__(
        self, texts: Sequence[tuple[str, str]], tokenizer: PreTrainedTokenizerBase, limit: int
    ) -> None:
        self.texts, self.pad = texts, int(tokenizer.pad_token_id)
        self.inputs: dict[str, list[Ints]] = {}
        self.offsets: list[NDArray[np.int32]] = []
        self.sides: list[NDArray[np.int8]] = []
        self.cut = 0
        for begin in range(0, len(texts), _AT_ONCE):
            self._read(texts[begin : begin + _AT_ONCE], tokenizer, limit)
        self.lengths: Ints = np.array([len(sides) for sides in self.sides], np.int64)

    def _read(
        self, texts: Sequence[tuple[str, str]], tokenizer: PreTrainedTokenizerBase, limit: int
    ) -> None:
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
        """One of them."""
        return TokenizedTurn(self.texts[index], self.offsets[index], self.sides[index])

    def batch(self, indices: Iterable[int]) -> dict[str, torch.Tensor]:
        """The encoder's inputs [turns, tokens]."""
        chosen = list(indices)
        width = -(-int(self.lengths[chosen].max()) // _MULTIPLE) * _MULTIPLE
        return {
            name: _padded(
                [column[i] for i in chosen], self.pad if name == "input_ids" else 0, width
            )
            for name, column in self.inputs.items()
        }

    def batch_sides(self, indices: Iterable[int], width: int) -> torch.Tensor:
        """Which text each token [turns, tokens] is of; -1 for special ones and padding."""
        return _padded([self.sides[i] for i in indices], _SPECIAL, width)


def _padded(rows: Sequence[NDArray[np.integer]], fill: int, width: int) -> torch.Tensor:
    padded = np.full((len(rows), width), fill, np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return torch.from_numpy(padded)
