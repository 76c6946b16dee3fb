"""The training task of one submodel: its examples, epochs and batches, and its score on dev."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import msgspec
import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray

from sgdx_dataset import SgdxError
from sgdx_dataset.tracker_inputs import SYSTEM_ACTS, training_columns

from ..data.dialogues import read_dialogues
from ..trained import pretrained_encoder
from ..training.batching import Ints
from ..training.loop import last_checkpoint
from ..training.task import Evaluation, Run, Task
from .examples import EASY, EXAMPLES, HARD, MORE_EXAMPLES, POSITIVE, SYSTEM, Example
from .selection import decision_f1, stratified
from .sequences import Questions, Sequences
from .settings import PartSettings, SgpSettings
from .submodels import Part, SgpProvenance, SubModel, load_part, new_part

Batch = dict[str, torch.Tensor]
READS = ("history", "utterance", "schema", SYSTEM_ACTS)  # what the tracker reads of a frame row
# Fixed words of the prompts, for the vocabulary of the tiny encoder.
_WORDS = "sys : usr : null do not care keep jump none sort tag # api: "


class ExampleColumns:
    """Examples as columns."""

    def __init__(self, examples: Iterable[Example]) -> None:
        self.questions = Questions()
        kinds, labels = array("b"), array("i")
        for example in examples:
            self.questions.add(example.question)
            kinds.append(example.kind)
            labels.extend(example.labels)
        self.kinds: NDArray[np.int8] = np.array(kinds, np.int8)  # [examples]
        # [examples, labels], as in ``Example``.
        self.labels: Ints = np.array(labels, np.int64).reshape(max(1, len(kinds)), -1)


def epoch_examples(kinds: NDArray[np.int8], settings: PartSettings, seed: int, epoch: int) -> Ints:
    """Draw the examples of an epoch: all positives, and samples of the other kinds."""
    random = np.random.default_rng((seed, epoch))

    def draw(kind: int, count: float) -> Ints:
        of_kind = np.flatnonzero(kinds == kind)
        drawn: Ints = random.choice(of_kind, min(len(of_kind), round(count)), replace=False)
        return drawn

    positive = np.flatnonzero(kinds == POSITIVE)
    system = draw(SYSTEM, settings.system * int((kinds == SYSTEM).sum()))
    hard = draw(HARD, settings.hard * int((kinds == HARD).sum()))
    easy = draw(EASY, settings.negatives * (len(positive) + len(system)))
    return np.sort(np.concatenate([positive, system, hard, easy]))


class TrainingData:
    """Examples of a submodel as tokens, with labels."""

    def __init__(self, examples: ExampleColumns, sub: SubModel) -> None:
        self.labels, self.kinds = examples.labels, examples.kinds
        self.sequences = Sequences(examples.questions, sub.vocabulary, sub.provenance.max_tokens)
        # Whether the first two labels are a span of characters.
        self.spans = sub.provenance.part == "combine"
        self.missed = 0  # spans that begin or end inside a token or were cut, and count as no span
        if self.spans:
            with_span = np.flatnonzero(self.labels[:, 0] >= 0).tolist()
            self.missed = sum(self._labelled_tokens(index) is None for index in with_span)

    def batch(self, indices: Ints) -> Batch:
        """Make a batch, with ``labels`` [examples, labels]."""
        # A span is its first and last token; if there is none, both are the token ``null``.
        labels = self.labels[indices]
        if self.spans:
            labels = labels.copy()
            for row, index in enumerate(indices.tolist()):
                null = self.sequences.null(index)
                labels[row, :2] = self._labelled_tokens(index) or (null, null)
        return {**self.sequences.batch(indices), "labels": torch.from_numpy(labels)}

    def _labelled_tokens(self, index: int) -> tuple[int, int] | None:
        """The first and last token of the labelled span of an example, or None."""
        start, end = self.labels[index, :2].tolist()
        return self.sequences.tokens(index, start, end) if start >= 0 else None


def dev_examples(part: Part, rows: Dataset) -> Iterator[Example]:
    """Examples of the questions of prediction alone, from frame rows with gold states."""
    for dialogue in read_dialogues(rows):
        yield from EXAMPLES[part](dialogue)


def training_examples(part: Part, rows: Dataset) -> Iterator[Example]:
    """All examples that a submodel is trained on, from frame rows with gold states."""
    for dialogue in read_dialogues(rows):
        yield from EXAMPLES[part](dialogue)
        if part in MORE_EXAMPLES:
            yield from MORE_EXAMPLES[part](dialogue)


def training_task(run: Run[SgpSettings], part: Part) -> Task:
    """Build the training task of a submodel."""
    settings = run.settings
    submodel_settings: PartSettings = getattr(settings.parts, part)
    sub = _initial_submodel(run, part, submodel_settings)
    data = TrainingData(ExampleColumns(training_examples(part, run.rows)), sub)
    epochs = range(submodel_settings.epochs)
    drawn = [epoch_examples(data.kinds, submodel_settings, settings.seed, n) for n in epochs]
    order = np.concatenate(drawn)
    if not len(order):
        raise SgdxError(f"{part}: found no examples in train, expected some to learn from")
    dev = TrainingData(ExampleColumns(dev_examples(part, training_columns(run.dev, READS))), sub)
    sample = stratified(dev.kinds, settings.evaluate_frames)

    counts = {
        "of_all_epochs": len(order),
        "cut": data.sequences.cut,
        "missed_spans": data.missed,
    }
    return Task(
        sub.model,
        part_settings(settings, submodel_settings, len(order)),
        data.sequences.lengths[order],
        lambda indices: data.batch(order[indices]),
        lambda model: Evaluation(decision_f1(part, model, dev, sample, run.accelerator)),
        sub.save,
        {"examples": counts},
        "dev_decision_f1",
    )


def part_settings(
    settings: SgpSettings, submodel_settings: PartSettings, count: int
) -> SgpSettings:
    """The recipe with the number of steps and the warm-up of a submodel."""
    epoch_steps = -(-count // settings.batch_size)
    limits = [limit for limit in (settings.steps, submodel_settings.steps) if limit is not None]
    steps = min([epoch_steps, *limits])
    return msgspec.structs.replace(settings, steps=steps, warmup=submodel_settings.warmup)


def _initial_submodel(
    run: Run[SgpSettings], part: Part, submodel_settings: PartSettings
) -> SubModel:
    """The submodel that training starts from: the last checkpoint, or the recipe's encoder."""
    if checkpoint := last_checkpoint(run, part):
        return load_part(checkpoint, run.accelerator.device)
    provenance = run.provenance.extended(
        SgpProvenance,
        part=part,
        max_tokens=submodel_settings.max_tokens,
        model=run.settings.model,
    )
    return new_part(*pretrained_encoder(run, [_WORDS]), provenance)
