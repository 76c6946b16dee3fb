"""Questions as sequences of tokens; the distinct turns and prompts are tokenized once.

A turn and its prompt are joined when a batch is made.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from sgdx_dataset import SgdxError

from ..encoders.spans import character_span, token_span
from ..training.batching import Ints
from .prompts import CLS, SEP, Piece, Prompt, TurnText
from .questions import Question

_MULTIPLE = 8 if torch.cuda.is_available() else 1  # GPUs are faster at such multiples
_AT_ONCE = 4096  # number of turns that are tokenized in one call
Table = NDArray[np.int32]  # [4, tokens]: token, element, sum of binary features, segment


class TurnTokens(NamedTuple):
    """The tokens of a turn."""

    ids: NDArray[np.int32]  # [tokens]
    offsets: NDArray[np.int32]  # characters [start, end) in the turn's text [tokens, 2]
    user: int  # index of the first token of the user's utterance


class Vocabulary:
    """A fast tokenizer that keeps the tokens of prompts, since few of them are distinct."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self._pieces: dict[str, list[int]] = {
            CLS: [tokenizer.cls_token_id],
            SEP: [tokenizer.sep_token_id],
        }
        self._prompts: dict[Prompt, tuple[Table, Table]] = {}

    def turns(self, texts: Sequence[TurnText]) -> list[TurnTokens]:
        """Tokenize turns."""
        turns = []
        for begin in range(0, len(texts), _AT_ONCE):
            chunk = texts[begin : begin + _AT_ONCE]
            encoded = self._encode([turn.text for turn in chunk])
            for turn, ids, pairs in zip(chunk, encoded["input_ids"], encoded["offset_mapping"]):
                offsets = np.array(pairs, np.int32).reshape(-1, 2)
                user = int(np.searchsorted(offsets[:, 0], turn.user))
                turns.append(TurnTokens(np.array(ids, np.int32), offsets, user))
        return turns

    def prompts(self, prompts: Iterable[Prompt]) -> list[tuple[Table, Table]]:
        """The head and the tail of each prompt as tokens; only new prompts are tokenized."""
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
        # Segment 1 begins after the first [SEP] of the tail, which ends the turn and is still 0.
        segments = np.cumsum([piece.text == SEP for piece in prompt.tail])
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
        """Tokenize texts without special tokens; special tokens in a text count as plain text."""
        if not texts:
            return {"input_ids": [], "offset_mapping": []}
        return self.tokenizer(
            texts,
            add_special_tokens=False,
            split_special_tokens=True,
            return_offsets_mapping=True,
            verbose=False,
        )


class Questions:
    """Questions, whose distinct turns and prompts are stored once."""

    def __init__(self, questions: Iterable[Question] = ()) -> None:
        self.turns: dict[TurnText, int] = {}  # index of each distinct turn
        self.prompts: dict[Prompt, int] = {}  # index of each distinct prompt
        self._columns = array("i")
        for question in questions:
            self.add(question)

    def add(self, question: Question) -> None:
        """Append a question."""
        turn = self.turns.setdefault(question.turn, len(self.turns))
        prompt = self.prompts.setdefault(question.prompt, len(self.prompts))
        self._columns.extend((turn, prompt, question.bits))

    def columns(self) -> Ints:
        """Index of the turn, index of the prompt and binary features [questions, 3]."""
        return np.array(self._columns, np.int64).reshape(-1, 3)

    def texts(self) -> Iterator[str]:
        """The distinct texts of turns and prompts."""
        yield from (turn.text for turn in self.turns)
        pieces = (piece.text for prompt in self.prompts for piece in prompt.head + prompt.tail)
        yield from (text for text in dict.fromkeys(pieces) if text not in (CLS, SEP))


class Sequences:
    """The token sequences of ``Questions``; of a turn that is too long the last tokens are kept."""

    def __init__(self, questions: Questions, vocabulary: Vocabulary, limit: int) -> None:
        self.pad: int = vocabulary.tokenizer.pad_token_id
        self.columns = questions.columns()
        self.turn_texts = list(questions.turns)
        self.turns = vocabulary.turns(self.turn_texts)
        self.prompts = vocabulary.prompts(questions.prompts)  # head and tail
        # Of each prompt the turn's element, and the number of intents or values [prompts].
        self.roles = np.array([prompt.turn for prompt in questions.prompts], np.int32)
        self.elements = np.array(
            [max((piece.element for piece in p.tail), default=0) for p in questions.prompts],
            np.int64,
        )
        prompt_lengths = np.array([h.shape[1] + t.shape[1] for h, t in self.prompts], np.int64)
        _check_room(list(questions.prompts), prompt_lengths, limit)
        self.room = limit - prompt_lengths  # that each prompt leaves for a turn [prompts]
        turn_lengths = np.array([len(turn.ids) for turn in self.turns], np.int64)
        turn, prompt, _ = self.columns.T
        whole = turn_lengths[turn] + prompt_lengths[prompt]
        self.lengths: Ints = np.minimum(whole, limit)
        self.cut = int((whole > limit).sum())  # number of questions whose turn was cut

    def table(self, index: int) -> Table:
        """One sequence [4, tokens]: token, element, sum of binary features, segment."""
        turn_index, prompt, bits = self.columns[index].tolist()
        ids = self.turns[turn_index].ids[-self.room[prompt] :]  # the end of a turn that is too long
        turn = np.zeros((4, len(ids)), np.int32)
        turn[0], turn[1] = ids, self.roles[prompt]
        head, tail = self.prompts[prompt]
        table = np.hstack([head, turn, tail])
        table[2] += bits
        return table

    def batch(self, indices: Ints) -> dict[str, torch.Tensor]:
        """Make a batch of what the submodels read, as explained in ``modeling``."""
        tables = [self.table(index) for index in indices.tolist()]
        width = -(-max(table.shape[1] for table in tables) // _MULTIPLE) * _MULTIPLE
        padded = np.zeros((5, len(tables), width), np.int64)
        padded[0] = self.pad
        for row, table in enumerate(tables):
            padded[:4, row, : table.shape[1]] = table
            padded[4, row, : table.shape[1]] = 1
        names = ("input_ids", "elements", "features", "token_type_ids", "attention_mask")
        counts = self.elements[self.columns[indices, 1]]
        present = np.arange(max(1, counts.max())) < counts[:, None]  # [sequences, elements]
        batch = {name: torch.from_numpy(column) for name, column in zip(names, padded)}
        return {**batch, "present": torch.from_numpy(present)}

    def is_categorical(self, index: int) -> bool:
        """Whether ``combine`` is asked about a categorical slot: one with values of its own."""
        return int(self.elements[self.columns[index, 1]]) > len(("null", "do not care"))

    def _begin(self, index: int) -> int:
        """Index of the turn's first token in the sequence, as if the turn had not been cut."""
        # Offsets in the whole turn are added to it, so it may be negative.
        turn, prompt, _ = self.columns[index].tolist()
        lost = max(0, len(self.turns[turn].ids) - int(self.room[prompt]))
        return int(self.prompts[prompt][0].shape[1]) - lost

    def null(self, index: int) -> int:
        """Index of the first token after the turn, which is ``null`` in prompts of ``combine``."""
        return self._begin(index) + len(self.turns[self.columns[index, 0]].ids)

    def text(self, index: int) -> str:
        """The text of the turn."""
        return self.turn_texts[int(self.columns[index, 0])].text

    def user(self, index: int) -> tuple[int, int]:
        """Tokens [start, end) of the user's utterance in the sequence."""
        head = int(self.prompts[self.columns[index, 1]][0].shape[1])
        start = self._begin(index) + self.turns[self.columns[index, 0]].user
        return max(head, start), self.null(index)  # a cut may have reached the user's utterance

    def tokens(self, index: int, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last token in the sequence of a span of the turn's characters."""
        span = token_span(self.turns[self.columns[index, 0]].offsets.tolist(), start, end)
        begin = self._begin(index)
        head = int(self.prompts[self.columns[index, 1]][0].shape[1])
        # A span that begins before the end of the head was in the part of the turn that was cut.
        return (span[0] + begin, span[1] + begin) if span and span[0] + begin >= head else None

    def characters(self, index: int, first: int, last: int) -> tuple[int, int]:
        """The turn's characters [start, end) of a span of tokens: the inverse of ``tokens``."""
        begin = self._begin(index)
        offsets = self.turns[self.columns[index, 0]].offsets.tolist()
        return character_span(offsets, first - begin, last - begin)


def _check_room(prompts: list[Prompt], lengths: Ints, limit: int) -> None:
    if len(lengths) and lengths.max() >= limit:
        tail = prompts[int(lengths.argmax())].tail
        longest = max((piece.text for piece in tail), key=len)
        raise SgdxError(
            f"max_tokens: {limit} leave no room for a turn beside a schema's part with "
            f"'{longest[:60]}', expected more than {lengths.max()}"
        )
