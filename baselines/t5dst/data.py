"""Inputs and answers of an encoder-decoder as tokens; every distinct text is tokenized once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets.utils import tqdm
from transformers import PreTrainedTokenizerBase

from sgdx_dataset import SgdxError

from ..batching import Ints, padded
from ..tracker import Examples
from ..xla import Tensors, fill_up
from .formats import Format, gold_state, shown_schema

Row = dict[str, Any]
IGNORED = -100  # the label of padding, which the loss leaves out
_MULTIPLE = 8  # batches are padded to a multiple of this width, which GPUs process faster


class TokenLimits(NamedTuple):
    """Limits in tokens, special tokens included."""

    max_input: int  # maximum number of tokens of an input
    max_target: int  # maximum number of tokens of an answer


class TextExamples(Examples):
    """Texts to read and, for training, to write.

    Attributes:
        numbers: Of each example the number of its input among the distinct ones [examples].
        input_lengths: Numbers of tokens of the distinct inputs [inputs].
        targets: Of each example the number of its answer; for training only [examples].
        answers: The tokens of answers.
        fused: Whether the attention is computed in one operation.
    """

    numbers: Ints
    input_lengths: Ints
    targets: Ints
    answers: list[Ints]
    fused = False

    def __init__(self, tokenizer: PreTrainedTokenizerBase, limits: TokenLimits) -> None:
        """Take a tokenizer and the limits of its tokens."""
        self.pad: int = tokenizer.pad_token_id
        self.limits = limits
        # The special tokens that the tokenizer puts before and after a text.
        plain = tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = tokenizer("a")["input_ids"]
        start = next(i for i in range(len(whole)) if whole[i : i + len(plain)] == plain)
        ends = whole[:start], whole[start + len(plain) :]
        self.before, self.after = (np.array(ids, np.int32) for ids in ends)

    def ids(self, number: int) -> Ints:
        """The tokens of a distinct input."""
        raise NotImplementedError

    def prompts(self, numbers: Ints) -> Tensors:
        """``input_ids`` and ``attention_mask`` of distinct inputs [inputs, tokens]."""
        rows = [self.ids(number) for number in numbers.tolist()]
        ids = _padded(rows, self.pad)
        lengths = torch.tensor([len(row) for row in rows])
        mask = torch.arange(ids.shape[1]) < lengths[:, None]
        return {"input_ids": ids, "attention_mask": mask.long()}

    def batch(self, indices: Ints) -> Tensors:
        """A batch with the answers as ``labels`` [inputs, tokens] and their number of tokens."""
        batch = self.prompts(self.numbers[indices])
        if self.fused:  # given a flat mask, it would wait for the device to decide what it is for
            batch["attention_mask"] = batch["attention_mask"][:, None, None] > 0
        answers = [self.answers[number] for number in self.targets[indices].tolist()]
        weight = torch.tensor(float(sum(map(len, answers))))
        return {**batch, "labels": _padded(answers, IGNORED), "weight": weight}

    def fill(self, batch: Tensors, rows: int, width: int) -> Tensors:
        """Fill a batch up to rows and tokens."""
        return filled(batch, rows, width, self.limits.max_target)


def filled(batch: Tensors, rows: int, width: int, target: int = 1) -> Tensors:
    """A batch filled up to rows of ``width`` tokens, and answers of ``target``."""
    mask = ("rows", *(None,) * (batch["attention_mask"].dim() - 2), "tokens")  # may be wide
    names = {"input_ids": ("rows", "tokens"), "attention_mask": mask, "labels": ("rows", "answer")}
    sizes = {"rows": rows, "tokens": width, "answer": target}
    return fill_up(batch, names, sizes, {"labels": IGNORED})


def _padded(rows: list[Ints], fill: int) -> torch.Tensor:
    """Rows of tokens, padded on the right [rows, tokens]."""
    width = -(-max(map(len, rows)) // _MULTIPLE) * _MULTIPLE
    return torch.from_numpy(padded(rows, fill, width))


class Texts:
    """The texts of frames: inputs and, for training, their answers.

    An input is a pair of a history part and a schema part (``formats``). The same history occurs in
    several frames of a dialogue and under every variant, the same schema part in all frames of a
    service. So pairs are of indices, and the parts are joined when a batch is made.
    """

    def __init__(
        self,
        rows: Iterable[Row],
        prompt: Format,
        shuffle: int | None = None,
        with_answers: bool = False,
    ) -> None:
        """Make the inputs of frame rows."""
        # Distinct texts and their indices, in the order in which they were met.
        self.histories: dict[str, int] = {}
        self.parts: dict[str, int] = {}
        self.answers: dict[str, int] = {}
        self.pairs: list[tuple[int, int]] = []  # of each input, frame by frame
        self.targets: list[int] = []  # of each input the index of its answer, for training only
        self.counts: list[int] = []  # of inputs of each frame
        # The second part begins with a space, so that both parts can be tokenized separately.
        first, second = ("", " ") if prompt.HISTORY_FIRST else (" ", "")
        for row in tqdm(rows, desc="Reading frames", unit=" frames", delay=2, disable=None):
            schema = shown_schema(row, prompt, shuffle)
            said = first + prompt.history(row["history"], row["utterance"])
            history = self.histories.setdefault(said, len(self.histories))
            parts = [second + part for part in prompt.parts(schema)]
            self.pairs += [(history, self.parts.setdefault(p, len(self.parts))) for p in parts]
            self.counts.append(len(parts))
            for answer in prompt.targets(schema, gold_state(row)) if with_answers else ():
                self.targets.append(self.answers.setdefault(answer, len(self.answers)))


class Inputs(TextExamples):
    """The tokens of ``Texts``; an input that is too long loses the beginning of its history."""

    def __init__(
        self,
        texts: Texts,
        tokenizer: PreTrainedTokenizerBase,
        prompt: Format,
        limits: TokenLimits,
        fused: bool = False,
    ) -> None:
        super().__init__(tokenizer, limits)
        self.fused, self.history_first = fused, prompt.HISTORY_FIRST
        self.histories, self.parts, answers = (
            _tokens(tokenizer, list(of)) for of in (texts.histories, texts.parts, texts.answers)
        )
        ends = len(self.before) + len(self.after)
        self._check_room(list(texts.parts), ends)
        pairs = np.array(texts.pairs, np.int64).reshape(-1, 2)
        self.pairs, numbers = np.unique(pairs, axis=0, return_inverse=True)  # distinct ones
        self.numbers = numbers.reshape(-1)
        of_histories, of_parts = (
            np.array([len(ids) for ids in of], np.int64) for of in (self.histories, self.parts)
        )
        whole = of_histories[self.pairs[:, 0]] + of_parts[self.pairs[:, 1]] + ends
        self.input_lengths = np.minimum(whole, limits.max_input)
        self.lengths = self.input_lengths[self.numbers]
        self.targets = np.array(texts.targets, np.int64)
        every = (np.concatenate([self.before, ids, self.after]) for ids in answers)
        self.answers = [ids[: limits.max_target] for ids in every]
        lost = (whole - self.input_lengths)[self.numbers]
        cut = {
            "inputs": int((lost > 0).sum()),
            "of": len(lost),
            "history_tokens": int(lost.sum()),
            "answers": sum(len(ids) + ends > limits.max_target for ids in answers),
        }
        self.facts = {"cut": cut}

    def _check_room(self, parts: list[str], ends: int) -> None:
        longest = max(range(len(parts)), key=lambda i: len(self.parts[i]), default=0)
        need = len(self.parts[longest]) + ends + 1 if parts else 0
        if need > self.limits.max_input:
            raise SgdxError(
                f"max_input: {self.limits.max_input} tokens leave no room for the schema part "
                f"'{parts[longest].strip()[:60]}...' and history, expected at least {need}"
            )

    def ids(self, number: int) -> Ints:
        """The tokens of a distinct input."""
        history, part = self.pairs[number].tolist()
        room = self.limits.max_input - len(self.before) - len(self.after) - len(self.parts[part])
        body = (self.histories[history][-room:], self.parts[part])
        return np.concatenate(
            [self.before, *(body if self.history_first else body[::-1]), self.after]
        )


def _tokens(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[Ints]:
    """The tokens of each text, without special tokens."""
    encoded = tokenizer(texts, add_special_tokens=False, verbose=False) if texts else {}
    return [np.array(ids, np.int32) for ids in encoded.get("input_ids", [])]
