"""Tokens of turns and of prompts, each made once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from .layouts import CLS, SEP, Piece, Prompt, Said

_AT_ONCE = 4096  # turns to tokenize
Table = NDArray[np.int32]  # [4, tokens]: ids, elements, bits, segments


class Turn(NamedTuple):
    """A turn's tokens; offsets: the characters [start, end) of each; user: the user's first."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int32]
    user: int


class Vocabulary:
    """A fast tokenizer that remembers prompts: they are a schema's, and schemas are few."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self._pieces: dict[str, list[int]] = {
            CLS: [tokenizer.cls_token_id],
            SEP: [tokenizer.sep_token_id],
        }
        self._prompts: dict[Prompt, tuple[Table, Table]] = {}

    def turns(self, said: Sequence[Said]) -> list[Turn]:
        """Tokens of turns."""
        turns = []
        for begin in range(0, len(said), _AT_ONCE):
            some = said[begin : begin + _AT_ONCE]
            encoded = self._encode([one.text for one in some])
            for one, ids, pairs in zip(some, encoded["input_ids"], encoded["offset_mapping"]):
                offsets = np.array(pairs, np.int32).reshape(-1, 2)
                user = int(np.searchsorted(offsets[:, 0], one.user))
                turns.append(Turn(np.array(ids, np.int32), offsets, user))
        return turns

    def prompts(self, prompts: Iterable[Prompt]) -> list[tuple[Table, Table]]:
        """Heads and tails of prompts."""
        prompts = list(prompts)
        pieces = (
            piece.text for p in prompts if p not in self._prompts for piece in p.head + p.tail
        )
        new = [text for text in dict.fromkeys(pieces) if text not in self._pieces]
        self._pieces |= zip(new, self._encode(new)["input_ids"])
        for prompt in prompts:
            if prompt not in self._prompts:
                self._prompts[prompt] = self._tables(prompt)
        return [self._prompts[prompt] for prompt in prompts]

    def _tables(self, prompt: Prompt) -> tuple[Table, Table]:
        segments = np.cumsum([piece.text == SEP for piece in prompt.tail])
        # The [SEP] that ends the turn is of its segment.
        after = [0, *np.minimum(segments, 1)[:-1]]
        return self._table(prompt.head, [0] * len(prompt.head)), self._table(prompt.tail, after)

    def _table(self, pieces: tuple[Piece, ...], segments: Iterable[int]) -> Table:
        columns = [
            (token, piece.element, piece.bits, segment)
            for piece, segment in zip(pieces, segments)
            for token in self._pieces[piece.text]
        ]
        return np.array(columns, np.int32).reshape(-1, 4).T

    def _encode(self, texts: list[str]) -> Any:
        """Without special tokens; what looks like one in a text is plain text."""
        if not texts:
            return {"input_ids": [], "offset_mapping": []}
        return self.tokenizer(
            texts,
            add_special_tokens=False,
            split_special_tokens=True,
            return_offsets_mapping=True,
            verbose=False,
        )
