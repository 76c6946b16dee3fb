"""A sub-model's training data, the negatives of each epoch, and its score on dev."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from transformers import PreTrainedModel

from ..batching import Ints, by_length
from .examples import EASY, POSITIVE, Example
from .parts import PartSettings, SubModel
from .sequences import Questions, Sequences

Batch = dict[str, torch.Tensor]


class Lessons:
    """Examples as columns. kinds [examples]; labels [examples, ...]: as of ``Example``."""

    def __init__(self, examples: Iterable[Example]) -> None:
        self.questions = Questions()
        kinds, labels = array("b"), array("i")
        for example in examples:
            self.questions.add(example.question)
            kinds.append(example.kind)
            labels.extend(example.labels)
        self.kinds: NDArray[np.int8] = np.array(kinds, np.int8)
        self.labels: Ints = np.array(labels, np.int64).reshape(max(1, len(kinds)), -1)


def epoch_examples(kinds: NDArray[np.int8], negatives: float, seed: int, epoch: int) -> Ints:
    """The examples of an epoch: positives, hard negatives and a fresh sample of the easy ones.

    Args:
        kinds: Of each example.
        negatives: Easy ones for one positive.
        seed, epoch: Decide the sample.
    """
    easy = np.flatnonzero(kinds == EASY)
    count = min(len(easy), round(negatives * int((kinds == POSITIVE).sum())))
    sample = np.random.default_rng((seed, epoch)).choice(easy, count, replace=False)
    return np.sort(np.concatenate([np.flatnonzero(kinds != EASY), sample]))


def all_epochs(kinds: NDArray[np.int8], settings: PartSettings, seed: int) -> Ints:
    """The examples of every epoch, one epoch after the other."""
    numbers = range(settings.epochs)
    return np.concatenate([epoch_examples(kinds, settings.negatives, seed, n) for n in numbers])


class Lesson:
    """Lessons as tokens, with labels. missed: spans that no tokens cover; they count as null."""

    def __init__(self, lessons: Lessons, part: SubModel) -> None:
        self.labels, self.kinds = lessons.labels, lessons.kinds
        self.sequences = Sequences(lessons.questions, part.vocabulary, part.about.max_tokens)
        self.spans = part.about.part == "combine"
        self.missed = 0
        if self.spans:
            said = np.flatnonzero(self.labels[:, 0] >= 0).tolist()
            self.missed = sum(self._places(index) is None for index in said)

    def batch(self, indices: Ints) -> Batch:
        """Also ``labels``: spans are of tokens, or ``null``'s place twice."""
        labels = self.labels[indices]
        if self.spans:
            labels = labels.copy()
            for row, index in enumerate(indices.tolist()):
                null = self.sequences.null(index)
                labels[row, :2] = self._places(index) or (null, null)
        return {**self.sequences.batch(indices), "labels": torch.from_numpy(labels)}

    def _places(self, index: int) -> tuple[int, int] | None:
        start, end = self.labels[index, :2].tolist()
        return self.sequences.places(index, start, end) if start >= 0 else None


def heads(answers: Any) -> list[torch.Tensor]:
    """The logits in the order of the labels."""
    found = (answers.start, answers.end, answers.logits, answers.requested)
    return [logits for logits in found if logits is not None]


def accuracy(
    model: PreTrainedModel, lesson: Lesson, chosen: Ints, accelerator: Accelerator, tokens: int
) -> float:
    """The share of examples all of whose labels are the likeliest; over all processes.

    It is the mean of the positives' share and of the others', as a model that finds nothing would
    be right about most examples.

    Args:
        chosen: The examples.
        tokens: The most in a batch.
    """
    batches = by_length(lesson.sequences.lengths[chosen], len(chosen), tokens)
    mine = batches[accelerator.process_index :: accelerator.num_processes]
    counts = torch.zeros((2, 2), device=accelerator.device)  # others, positives x all, right
    with torch.inference_mode():
        for places in mine:
            batch = lesson.batch(chosen[places])
            batch = {name: t.to(accelerator.device) for name, t in batch.items()}
            labels = batch.pop("labels")
            found = torch.stack([logits.argmax(1) for logits in heads(model(**batch))], 1)
            right = (found == labels).all(1).float()
            positive = torch.from_numpy(lesson.kinds[chosen[places]] == POSITIVE).to(right.device)
            for group, member in enumerate((~positive, positive)):
                counts[group] += torch.stack([member.sum(), right[member].sum()])
    counts = accelerator.reduce(counts, "sum")
    shares = [right / all_ for all_, right in counts.tolist() if all_]
    return float(sum(shares) / max(1, len(shares)))
