"""The model's inputs for frame rows, in columns; every distinct text is tokenized once.

An input consists of a history part and a schema part (``formats``). The same history occurs in
several frames of a dialogue and under every variant, the same schema part in all frames of a
service. An input is therefore a pair of indices into the distinct texts, and the two parts are
joined when a batch is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets.utils import tqdm
from transformers import PreTrainedTokenizerBase

from sgdx_dataset import SgdxError

from .. import batching
from ..batching import Ints
from ..tracker import Examples
from ..xla import fill_up
from .formats import Format, gold_state, shown_schema

Row = dict[str, Any]
IGNORED = -100  # the label of padding, which the loss leaves out
_MULTIPLE = 8  # batches are padded to a multiple of this width, which GPUs process faster


class Unique(dict[str, int]):
    """Distinct texts and their indices, in the order in which they were added."""

    def add(self, text: str) -> int:
        """Add a text if it is new; returns its index."""
        return self.setdefault(text, len(self))

    def tokens(self, tokenizer: PreTrainedTokenizerBase) -> list[Ints]:
        """The tokens of each text, without special tokens."""
        encoded = tokenizer(list(self), add_special_tokens=False, verbose=False) if self else {}
        return [np.array(ids, dtype=np.int32) for ids in encoded.get("input_ids", [])]


class Texts:
    """The texts of frames: inputs and, for training, their answers."""

    def __init__(
        self,
        rows: Iterable[Row],
        prompt: Format,
        shuffle: int | None = None,
        with_answers: bool = False,
    ) -> None:
        """Make the inputs of frame rows."""
        self.histories, self.parts, self.answers = Unique(), Unique(), Unique()
        # Of each input the index of its history part and of its schema part, frame by frame.
        self.pairs: list[tuple[int, int]] = []
        self.targets: list[int] = []  # of each input the index of its answer, for training only
        self.counts: list[int] = []  # of inputs of each frame
        # The second part begins with a space, so that both parts can be tokenized separately.
        first, second = ("", " ") if prompt.HISTORY_FIRST else (" ", "")
        for row in tqdm(rows, desc="Reading frames", unit=" frames", delay=2, disable=None):
            schema = shown_schema(row, prompt, shuffle)
            history = self.histories.add(first + prompt.history(row["history"], row["utterance"]))
            parts = [self.parts.add(second + part) for part in prompt.parts(schema)]
            self.pairs += [(history, part) for part in parts]
            self.counts.append(len(parts))
            if with_answers:
                self.targets += map(self.answers.add, prompt.targets(schema, gold_state(row)))


@dataclass(frozen=True)
class TokenLimits:
    """Limits in tokens, special tokens included."""

    max_input: int  # maximum number of tokens of an input
    max_target: int  # maximum number of tokens of an answer


class Inputs(Examples):
    """The tokens of ``Texts``, from which batches are made."""

    def __init__(
        self,
        texts: Texts,
        tokenizer: PreTrainedTokenizerBase,
        prompt: Format,
        limits: TokenLimits,
        fused: bool = False,
    ) -> None:
        self.fused = fused  # whether the attention is computed in one operation
        self.history_first, self.limits = prompt.HISTORY_FIRST, limits
        self.before, self.after = (np.array(ids, np.int32) for ids in special_tokens(tokenizer))
        self.pad: int = tokenizer.pad_token_id
        self.histories, self.parts, answers = (
            unique.tokens(tokenizer) for unique in (texts.histories, texts.parts, texts.answers)
        )
        self.pairs = np.array(texts.pairs, np.int64).reshape(-1, 2)  # [inputs, 2]
        self.targets = np.array(texts.targets, np.int64)  # [inputs]
        ends = len(self.before) + len(self.after)
        self._check_room(list(texts.parts), ends)
        history_lengths, part_lengths = (
            np.array([len(ids) for ids in column], np.int64)[self.pairs[:, side]]
            for side, column in enumerate((self.histories, self.parts))
        )
        whole = history_lengths + part_lengths + ends
        self.lengths: Ints = np.minimum(whole, limits.max_input)
        self.answers = [self._answer(ids) for ids in answers]
        lost = whole - self.lengths
        cut = {
            "inputs": int((lost > 0).sum()),
            "of": len(whole),
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

    def _answer(self, ids: Ints) -> Ints:
        return np.concatenate([self.before, ids, self.after])[: self.limits.max_target]

    def ids(self, index: int) -> Ints:
        """The tokens of one input; an input that is too long loses the beginning of its history."""
        history, part = (
            column[text] for column, text in zip((self.histories, self.parts), self.pairs[index])
        )
        room = self.limits.max_input - len(part) - len(self.before) - len(self.after)
        history = history[-room:]
        body = (history, part) if self.history_first else (part, history)
        return np.concatenate([self.before, *body, self.after])

    def prompts(self, indices: Ints) -> dict[str, torch.Tensor]:
        """``input_ids`` and ``attention_mask`` [inputs, tokens]."""
        rows = [self.ids(index) for index in indices.tolist()]
        ids = padded(rows, self.pad)
        lengths = torch.tensor([len(row) for row in rows])
        mask = torch.arange(ids.shape[1]) < lengths[:, None]
        return {"input_ids": ids, "attention_mask": mask.long()}

    def batch(self, indices: Ints) -> dict[str, torch.Tensor]:
        """A batch with the answers as ``labels`` [inputs, tokens] and their number of tokens."""
        answers = [self.answers[number] for number in self.targets[indices].tolist()]
        batch = with_targets(self.prompts(indices), answers)
        if self.fused:  # given a flat mask, it would wait for the device to decide what it is for
            batch["attention_mask"] = batch["attention_mask"][:, None, None] > 0
        return batch

    def fill(
        self, batch: dict[str, torch.Tensor], rows: int, width: int
    ) -> dict[str, torch.Tensor]:
        """Fill a batch up to rows and tokens."""
        return filled(batch, rows, width, self.limits.max_target)


def with_targets(batch: dict[str, torch.Tensor], targets: list[Ints]) -> dict[str, torch.Tensor]:
    """A batch with ``labels`` [inputs, tokens] and ``weight``, the number of tokens of these."""
    weight = torch.tensor(float(sum(map(len, targets))))
    return {**batch, "labels": padded(targets, IGNORED), "weight": weight}


def filled(
    batch: dict[str, torch.Tensor], rows: int, width: int, target: int = 1
) -> dict[str, torch.Tensor]:
    """A batch filled up to rows of ``width`` tokens, and answers of ``target``."""
    mask = ("rows", *(None,) * (batch["attention_mask"].dim() - 2), "tokens")  # may be wide
    names = {"input_ids": ("rows", "tokens"), "attention_mask": mask, "labels": ("rows", "answer")}
    sizes = {"rows": rows, "tokens": width, "answer": target}
    return fill_up(batch, names, sizes, {"labels": IGNORED})


def padded(rows: list[Ints], fill: int) -> torch.Tensor:
    """Rows of tokens, padded on the right [rows, tokens]."""
    width = -(-max(map(len, rows)) // _MULTIPLE) * _MULTIPLE
    return torch.from_numpy(batching.padded(rows, fill, width))


def special_tokens(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """The special tokens that a tokenizer puts before and after a text."""
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    start = next(i for i in range(len(whole)) if whole[i : i + len(plain)] == plain)
    return whole[:start], whole[start + len(plain) :]
