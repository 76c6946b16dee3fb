"""The training of one sub-model: its examples as columns, its epochs, batches and score on dev."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset
from numpy.typing import NDArray
from transformers import PreTrainedModel

from sgdx_dataset import SgdxError

from ..data.frames import SYSTEM_ACTS, learnable
from ..encoders.tiny import corpus_texts, tiny_encoder
from ..tracker import Run, Task
from ..training.batching import Ints, by_length
from ..training.loop import initial_model, last_checkpoint
from .dialogues import read_dialogues
from .examples import EASY, EXAMPLES, POSITIVE, Example
from .sequences import Questions, Sequences
from .submodels import (
    About,
    Part,
    PartSettings,
    SgpSettings,
    SubModel,
    load_part,
    new_part,
    save_part,
)

Batch = dict[str, torch.Tensor]
READS = ("history", "utterance", "schema", SYSTEM_ACTS)  # what the tracker may read of a frame row
_WORDS = "sys : usr : null do not care keep jump none sort tag # api: "  # of the prompts
_EVALUATION_TOKENS = 16384  # in a batch


class ExampleColumns:
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


class TrainingData:
    """Examples of a sub-model as tokens, with labels.

    missed: How many spans no tokens cover; they count as null.
    """

    def __init__(self, examples: ExampleColumns, sub: SubModel) -> None:
        self.labels, self.kinds = examples.labels, examples.kinds
        self.sequences = Sequences(examples.questions, sub.vocabulary, sub.about.max_tokens)
        self.spans = sub.about.part == "combine"
        self.missed = 0
        if self.spans:
            with_span = np.flatnonzero(self.labels[:, 0] >= 0).tolist()
            self.missed = sum(self._places(index) is None for index in with_span)

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
    model: PreTrainedModel,
    data: TrainingData,
    chosen: Ints,
    accelerator: Accelerator,
    tokens: int = _EVALUATION_TOKENS,
) -> float:
    """The share of examples all of whose labels are the likeliest; over all processes.

    It is the mean of the positives' share and of the others', as a model that finds nothing would
    be right about most examples.

    Args:
        chosen: The examples.
        tokens: The most in a batch.
    """
    batches = by_length(data.sequences.lengths[chosen], len(chosen), tokens)
    mine = batches[accelerator.process_index :: accelerator.num_processes]
    counts = torch.zeros((2, 2), device=accelerator.device)  # others, positives x all, right
    with torch.inference_mode():
        for places in mine:
            batch = data.batch(chosen[places])
            batch = {name: t.to(accelerator.device) for name, t in batch.items()}
            labels = batch.pop("labels")
            found = torch.stack([logits.argmax(1) for logits in heads(model(**batch))], 1)
            right = (found == labels).all(1).float()
            positive = torch.from_numpy(data.kinds[chosen[places]] == POSITIVE).to(right.device)
            for group, member in enumerate((~positive, positive)):
                counts[group] += torch.stack([member.sum(), right[member].sum()])
    counts = accelerator.reduce(counts, "sum")
    shares = [right / all_ for all_, right in counts.tolist() if all_]
    return float(sum(shares) / max(1, len(shares)))


def part_examples(part: Part, rows: Dataset) -> Iterator[Example]:
    """A sub-model's examples from frame rows with gold."""
    for dialogue in read_dialogues(rows):
        yield from EXAMPLES[part](dialogue)


def training_task(run: Run, part: Part) -> Task:
    """What the training loop needs for a sub-model.

    Raises:
        SgdxError: Train has no examples for it; or as ``new_part``.
    """
    settings: SgpSettings = run.settings
    own: PartSettings = getattr(settings.parts, part)
    sub = _first(run, part, own)
    data = TrainingData(ExampleColumns(part_examples(part, run.rows)), sub)
    order = all_epochs(data.kinds, own, settings.seed)
    if not len(order):
        raise SgdxError(f"{part}: found no examples in train, expected some to learn from")
    dev = TrainingData(ExampleColumns(part_examples(part, learnable(run.dev, READS))), sub)
    chosen = epoch_examples(dev.kinds, own.negatives, settings.seed, 0)
    most = min(len(chosen), settings.evaluate_frames)
    chosen = chosen[np.arange(most) * len(chosen) // max(1, most)]

    def save(folder: Path, model: PreTrainedModel, weights: Batch) -> None:
        save_part(SubModel(model, sub.vocabulary, sub.about), folder, weights)

    counts = {
        "of_all_epochs": len(order),
        "cut": data.sequences.cut,
        "missed_spans": data.missed,
    }
    return Task(
        sub.model,
        part_settings(settings, own, len(order), run.accelerator.num_processes),
        data.sequences.lengths[order],
        lambda indices: data.batch(order[indices]),
        lambda model: accuracy(model, dev, chosen, run.accelerator),
        save,
        {"examples": counts},
        "dev_accuracy",
    )


def part_settings(
    settings: SgpSettings, own: PartSettings, count: int, processes: int
) -> SgpSettings:
    """The settings with the steps that ``count`` examples take, and the sub-model's warm-up."""
    at_once = settings.batch_size * settings.accumulation * processes
    steps = min(settings.steps, -(-count // at_once))
    return msgspec.structs.replace(settings, steps=steps, warmup=own.warmup)


def _first(run: Run, part: Part, own: PartSettings) -> SubModel:
    """What training begins with: the last checkpoint's, or one over the recipe's encoder."""
    settings: SgpSettings = run.settings
    if last := last_checkpoint(run, part):
        return load_part(last)
    about = About(
        part=part,
        max_tokens=own.max_tokens,
        model=settings.model,
        **msgspec.structs.asdict(run.seen),
    )

    def write_tiny(place: Path) -> None:
        for made in tiny_encoder([*corpus_texts(run.rows), _WORDS], seed=settings.seed):
            made.save_pretrained(place)

    name = str(initial_model(run, write_tiny)) if settings.model == "tiny" else settings.model
    return new_part(name, about, settings.seed)
