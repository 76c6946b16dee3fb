"""Questions as columns of indices, joined to sequences of tokens as batches are asked for."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import numpy as np
import torch

from sgdx_dataset import SgdxError

from ..batching import Ints
from ..encoder import character_span, token_span
from .layouts import CLS, SEP, Prompt, Said
from .questions import Question
from .vocabulary import Table, Vocabulary

_MULTIPLE = 8  # widths that matrix units like


class Questions:
    """Questions, each turn and prompt of theirs kept once."""

    def __init__(self, questions: Iterable[Question] = ()) -> None:
        self.said: dict[Said, int] = {}
        self.prompts: dict[Prompt, int] = {}
        self._columns = array("i")
        for question in questions:
            self.add(question)

    def add(self, question: Question) -> None:
        """Put a question to the others."""
        said = self.said.setdefault(question.said, len(self.said))
        prompt = self.prompts.setdefault(question.prompt, len(self.prompts))
        self._columns.extend((said, prompt, question.bits))

    def columns(self) -> Ints:
        """[questions, 3]: the places of the turn and of the prompt, and the bits."""
        return np.array(self._columns, np.int64).reshape(-1, 3)

    def texts(self) -> Iterator[str]:
        """Every text, once."""
        yield from (said.text for said in self.said)
        pieces = (piece.text for prompt in self.prompts for piece in prompt.head + prompt.tail)
        yield from (text for text in dict.fromkeys(pieces) if text not in (CLS, SEP))


class Sequences:
    """The tokens of ``Questions``.

    lengths [questions]: in tokens, cut to the limit: of a turn that does not fit, the last tokens
    are kept, so that the schema's part and the user's last words survive. cut: how many were.

    Raises:
        SgdxError: A schema's part leaves no room for a turn.
    """

    def __init__(self, questions: Questions, vocabulary: Vocabulary, limit: int) -> None:
        self.pad: int = vocabulary.tokenizer.pad_token_id
        self.columns = questions.columns()
        self.said = list(questions.said)
        self.turns = vocabulary.turns(self.said)
        self.prompts = vocabulary.prompts(questions.prompts)
        self.roles = np.array([prompt.turn for prompt in questions.prompts], np.int32)
        taken = np.array([head.shape[1] + tail.shape[1] for head, tail in self.prompts], np.int64)
        _check_room(list(questions.prompts), taken, limit)
        self.room = limit - taken
        spoken = np.array([len(turn.ids) for turn in self.turns], np.int64)
        said, prompt, _ = self.columns.T
        whole = spoken[said] + taken[prompt]
        self.lengths: Ints = np.minimum(whole, limit)
        self.cut = int((whole > limit).sum())

    def table(self, index: int) -> Table:
        """A sequence, [4, tokens]: ids, elements, features, segments."""
        said, prompt, bits = self.columns[index].tolist()
        ids = self.turns[said].ids[-self.room[prompt] :]
        turn = np.zeros((4, len(ids)), np.int32)
        turn[0], turn[1] = ids, self.roles[prompt]
        head, tail = self.prompts[prompt]
        table = np.hstack([head, turn, tail])
        table[2] += bits
        return table

    def batch(self, indices: Ints) -> dict[str, torch.Tensor]:
        """Sequences padded to the longest: what the models read, [sequences, tokens] each."""
        tables = [self.table(index) for index in indices.tolist()]
        width = -(-max(table.shape[1] for table in tables) // _MULTIPLE) * _MULTIPLE
        padded = np.zeros((5, len(tables), width), np.int64)
        padded[0] = self.pad
        for row, table in enumerate(tables):
            padded[:4, row, : table.shape[1]] = table
            padded[4, row, : table.shape[1]] = 1
        names = ("input_ids", "elements", "features", "token_type_ids", "attention_mask")
        return {name: torch.from_numpy(column) for name, column in zip(names, padded)}

    def _begin(self, index: int) -> int:
        """Where in the sequence the turn's first token is, or would be if it were not cut."""
        said, prompt, _ = self.columns[index].tolist()
        lost = max(0, len(self.turns[said].ids) - int(self.room[prompt]))
        return int(self.prompts[prompt][0].shape[1]) - lost

    def null(self, index: int) -> int:
        """The place of the token behind the turn, which is ``null`` where spans are looked for."""
        return self._begin(index) + len(self.turns[self.columns[index, 0]].ids)

    def text(self, index: int) -> str:
        """The turn."""
        return self.said[int(self.columns[index, 0])].text

    def user(self, index: int) -> tuple[int, int]:
        """The places [start, end) of the user's utterance."""
        head = int(self.prompts[self.columns[index, 1]][0].shape[1])
        start = self._begin(index) + self.turns[self.columns[index, 0]].user
        return max(head, start), self.null(index)

    def places(self, index: int, start: int, end: int) -> tuple[int, int] | None:
        """The first and last token of the turn's characters [start, end); None if there are none.

        That is so where it begins or ends inside a token, or was cut.
        """
        span = token_span(self.turns[self.columns[index, 0]].offsets.tolist(), start, end)
        begin = self._begin(index)
        head = int(self.prompts[self.columns[index, 1]][0].shape[1])
        return (span[0] + begin, span[1] + begin) if span and span[0] + begin >= head else None

    def characters(self, index: int, first: int, last: int) -> tuple[int, int]:
        """The turn's characters [start, end) from a first to a last token: ``places``, undone."""
        begin = self._begin(index)
        offsets = self.turns[self.columns[index, 0]].offsets.tolist()
        return character_span(offsets, first - begin, last - begin)


def _check_room(prompts: list[Prompt], taken: Ints, limit: int) -> None:
    if len(taken) and taken.max() >= limit:
        tail = prompts[int(taken.argmax())].tail
        longest = max((piece.text for piece in tail), key=len)
        raise SgdxError(
            f"max_tokens: {limit} leave no room for a turn beside a schema's part with "
            f"'{longest[:60]}', expected more than {taken.max()}"
        )
