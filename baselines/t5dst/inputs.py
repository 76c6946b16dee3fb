"""What a model reads for every frame, as columns: each text tokenized once, each input kept once.

An input is a dialogue's part and a schema's part (``formats``). Histories recur in a dialogue's
frames and under every variant, schema parts in every frame of a service: so the texts are kept
apart until a batch is made, and an input is a pair of indices.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets.utils import tqdm
from transformers import PreTrainedTokenizerBase

from sgdx_dataset import SgdxError

from ..training.batching import Ints
from .formats import Format, shuffled
from .formats.values import gold_state

Row = dict[str, Any]
_IGNORED = -100  # a label that the loss passes over
_MULTIPLE = 8  # widths that matrix units like


class Unique(dict[str, int]):
    """Texts in the order they first came, each once, and its place."""

    def add(self, text: str) -> int:
        """The text's place."""
        return self.setdefault(text, len(self))

    def tokens(self, tokenizer: PreTrainedTokenizerBase) -> list[Ints]:
        """Each text's tokens, without special ones."""
        encoded = tokenizer(list(self), add_special_tokens=False, verbose=False) if self else {}
        return [np.array(ids, dtype=np.int32) for ids in encoded.get("input_ids", [])]


class Texts:
    """The texts of frames. pairs: history and schema part of each input, frame by frame;
    targets: each input's answer, where it was read to train; both are places in the texts.
    counts: how many inputs each frame has."""

    def __init__(self) -> None:
        self.histories, self.parts, self.answers = Unique(), Unique(), Unique()
        self.pairs: list[tuple[int, int]] = []
        self.targets: list[int] = []
        self.counts: list[int] = []

    def read(self, rows: Iterable[Row], prompt: Format, shuffle: int | None = None) -> None:
        """Add the inputs of frame rows; with a seed to ``shuffle`` by, to train: answers too."""
        # What comes second begins with a space, so that both can be tokenized alone.
        first, second = ("", " ") if prompt.HISTORY_FIRST else (" ", "")
        for row in tqdm(rows, desc="Reading frames", unit=" frames", delay=2, disable=None):
            schema = row["schema"]
            if shuffle is not None and prompt.SHUFFLED:
                rng = random.Random(f"{shuffle} {row['variant']} {row['frame_id']}")  # noqa: S311
                schema = shuffled(schema, rng)
            history = self.histories.add(first + prompt.history(row["history"], row["utterance"]))
            parts = [self.parts.add(second + part) for part in prompt.parts(schema)]
            self.pairs += [(history, part) for part in parts]
            self.counts.append(len(parts))
            if shuffle is not None:
                self.targets += map(self.answers.add, prompt.targets(schema, gold_state(row)))


@dataclass(frozen=True)
class Limits:
    """The most tokens of an input and of an answer, special ones included."""

    max_input: int
    max_target: int


class Inputs:
    """The tokens of ``Texts``, joined to whole inputs as they are asked for.

    lengths [inputs]: in tokens, cut to the limit. cut: how many inputs lost history, and how many
    tokens; how many answers were cut.

    Raises:
        SgdxError: A schema part leaves no room for history; the limits are too small.
    """

    def __init__(
        self, texts: Texts, tokenizer: PreTrainedTokenizerBase, prompt: Format, limits: Limits
    ) -> None:
        self.history_first, self.limits = prompt.HISTORY_FIRST, limits
        self.before, self.after = (np.array(ids, np.int32) for ids in special_tokens(tokenizer))
        self.pad: int = tokenizer.pad_token_id
        self.histories, self.parts, answers = (
            unique.tokens(tokenizer) for unique in (texts.histories, texts.parts, texts.answers)
        )
        self.pairs = np.array(texts.pairs, np.int64).reshape(-1, 2)
        self.targets = np.array(texts.targets, np.int64)
        ends = len(self.before) + len(self.after)
        self._check_room(list(texts.parts), ends)
        said, shown = (
            np.array([len(ids) for ids in column], np.int64)[self.pairs[:, side]]
            for side, column in enumerate((self.histories, self.parts))
        )
        whole = said + shown + ends
        self.lengths: Ints = np.minimum(whole, limits.max_input)
        self.answers = [self._answer(ids) for ids in answers]
        lost = whole - self.lengths
        self.cut = {
            "inputs": int((lost > 0).sum()),
            "of": len(whole),
            "history_tokens": int(lost.sum()),
            "answers": sum(len(ids) + ends > limits.max_target for ids in answers),
        }

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
        """One input's tokens; where it would be too long the dialogue's beginning is left out."""
        history, part = (
            column[place] for column, place in zip((self.histories, self.parts), self.pairs[index])
        )
        room = self.limits.max_input - len(part) - len(self.before) - len(self.after)
        history = history[-room:]
        body = (history, part) if self.history_first else (part, history)
        return np.concatenate([self.before, *body, self.after])

    def batch(self, indices: Ints, width: int | None = None) -> dict[str, torch.Tensor]:
        """Inputs padded to the longest, or to ``width``.

        Returns:
            ``input_ids`` [inputs, tokens] and ``attention_mask`` [inputs, 1, 1, tokens]. From a
            mask of two dimensions transformers would make this one at every step, and wait for
            the device to see whether it is needed.
        """
        rows = [self.ids(index) for index in indices.tolist()]
        ids = _padded(rows, self.pad, width)
        lengths = torch.tensor([len(row) for row in rows])
        mask = torch.arange(ids.shape[1]) < lengths[:, None]
        return {"input_ids": ids, "attention_mask": mask[:, None, None]}

    def training_batch(self, indices: Ints, static: bool = False) -> dict[str, torch.Tensor]:
        """Also ``labels``; where shapes are static, everything as wide as the limits."""
        answers = [self.answers[place] for place in self.targets[indices].tolist()]
        widths = (self.limits.max_input, self.limits.max_target) if static else (None, None)
        return {
            **self.batch(indices, widths[0]),
            "labels": _padded(answers, _IGNORED, widths[1]),
        }


def _padded(rows: list[Ints], fill: int, width: int | None) -> torch.Tensor:
    width = width or -(-max(map(len, rows)) // _MULTIPLE) * _MULTIPLE
    padded = np.full((len(rows), width), fill, np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return torch.from_numpy(padded)


def special_tokens(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """What the tokenizer puts before and after a text."""
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    start = next(i for i in range(len(whole)) if whole[i : i + len(plain)] == plain)
    return whole[:start], whole[start + len(plain) :]
