"""Turns as tokens, ``[CLS] system [SEP] user [SEP]``, and the conversion of spans to text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from ..encoders.spans import character_span, token_span
from ..training.batching import Ints, padded

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
        self.texts, self.pad = texts, int(tokenizer.pad_token_id)
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
