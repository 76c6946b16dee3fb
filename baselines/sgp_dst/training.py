"""The training task of one submodel: its examples, epochs and batches, and its score on dev."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset
from numpy.typing import NDArray
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset import SgdxError
from sgdx_dataset.tracker_inputs import SYSTEM_ACTS, training_columns

from ..batching import Ints, by_length
from ..data.dialogues import read_dialogues
from ..encoders import check_positions
from ..loop import last_checkpoint
from ..settings import Part, PartSettings, SgpSettings
from ..system import read_provenance
from ..task import Evaluation, Provenance, Run, Task
from ..trained import TrainedModel, load_trained, pretrained_encoder
from ..xla import in_few_shapes, on_host
from .data import (
    EASY,
    EXAMPLES,
    HARD,
    MORE_EXAMPLES,
    POSITIVE,
    SYSTEM,
    Example,
    Questions,
    Sequences,
    Vocabulary,
    filled,
)
from .modeling import Answers, CombineModel, CopyModel, IntentModel
from .questions import FEATURES
from .rules import COPY, CROSS, REQUESTED, SPAN, VALUE, Answer, decode

MODELS: dict[Part, type[IntentModel] | type[CombineModel] | type[CopyModel]] = {
    "intent": IntentModel,
    "combine": CombineModel,
    "copy": CopyModel,
    "cross": CopyModel,
}


class SgpProvenance(Provenance, frozen=True, kw_only=True):
    """Provenance of a submodel, stored in its ``config.json`` under ``sgdx``."""

    part: Part
    max_tokens: int  # of a sequence
    model: str  # name or folder of the pretrained encoder


@dataclass(frozen=True)
class SubModel(TrainedModel[PreTrainedModel, SgpProvenance]):
    """A submodel with its tokenizer and its provenance."""

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer, with the tokens of the texts that it has read so far."""
        return Vocabulary(self.tokenizer)


def new_part(
    encoder: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, provenance: SgpProvenance
) -> SubModel:
    """Create a submodel of a pretrained encoder and random heads."""
    check_positions(encoder, provenance.max_tokens, "max_tokens")
    torch.manual_seed(provenance.seed)
    model_class: Any = MODELS[provenance.part]
    config = model_class.config_class(encoder=encoder.config.to_dict(), features=FEATURES)
    model = model_class(config)
    model.use_encoder(encoder)
    return SubModel(model, tokenizer, provenance)


def load_part(folder: Path, device: torch.device) -> SubModel:
    """Load a submodel that was trained, without running code from its folder."""
    part = read_provenance(str(folder), SgpProvenance).part
    return SubModel(*load_trained(str(folder), MODELS[part], SgpProvenance, device))


def ask(model: Any, sequences: Sequences, indices: Ints) -> Answers:
    """What a submodel answers to a batch of questions."""
    batch = in_few_shapes(sequences.batch(indices), sequences.limit, filled, model.device)
    answers = model(**{name: tensor.to(model.device) for name, tensor in batch.items()})
    on_cpu = on_host(answers, model.device)
    return Answers(**{name: tensor[: len(indices)] for name, tensor in on_cpu.items()})


Decision = tuple[str | int, ...]
_TOKENS = 16384  # maximum number of tokens in a batch when dev is scored


def stratified(kinds: NDArray[np.int8], most: int) -> tuple[Ints, NDArray[np.float64]]:
    """Choose examples of all kinds evenly: indices [chosen], and how many each stands for."""
    groups = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
    drawn, weights, left = [], [], most
    # From the smallest kind to the largest, so that what a rare kind leaves goes to the others.
    for number, group in enumerate(sorted(groups, key=len)):
        count = min(len(group), left // (len(groups) - number))
        left -= count
        drawn.append(group[np.arange(count) * len(group) // max(1, count)])
        weights.append(np.full(count, len(group) / max(1, count)))
    indices = np.concatenate([*drawn, np.zeros(0, np.int64)])
    order = np.argsort(indices)
    return indices[order], np.concatenate([*weights, np.zeros(0)])[order]


def decisions(part: Part, answer: Answer, categorical: bool) -> set[Decision]:
    """What the rules would do with one answer of a submodel."""
    if part == "intent":
        return {("intent", answer.number)}
    if part != "combine":
        return {("copy",)} if answer.yes > (COPY if part == "copy" else CROSS) else set()
    if answer.requested > REQUESTED:
        actions: set[Decision] = {("requested",)}
    else:
        actions = {("value", answer.number)} if answer.number and answer.score > VALUE else set()
    if not categorical and answer.span and answer.span.score > SPAN and ("value", 1) not in actions:
        actions.add(("span", answer.span.start, answer.span.end))
    return actions


def right_decisions(part: Part, labels: list[int]) -> set[Decision]:
    """What the rules should do, from the labels of an example (``examples.Example``)."""
    if part == "intent":
        return {("intent", labels[0])}
    if part != "combine":
        return {("copy",)} if labels[0] else set()
    start, end, value, requested = labels
    actions: set[Decision] = {("requested",)} if requested else set()
    if value:
        actions.add(("value", value))
    elif start >= 0:
        actions.add(("span", start, end))
    return actions


@torch.no_grad()
def decision_f1(
    part: Part,
    model: PreTrainedModel,
    data: Any,
    sample: tuple[Ints, NDArray[np.float64]],
    accelerator: Accelerator,
) -> float:
    """F1 of the decisions that the rules would take; for ``intent`` it is the accuracy."""
    # All processes must call this together.
    examples, weights = sample
    batches = by_length(data.sequences.lengths[examples], max(1, len(examples)), _TOKENS)
    # Sums of weights over decisions: taken and right, taken, and due.
    counts = torch.zeros(3, dtype=torch.float64)
    for positions in batches[accelerator.process_index :: accelerator.num_processes]:
        indices = examples[positions]
        answers = decode(ask(model, data.sequences, indices), data.sequences, indices)
        for index, weight, answer in zip(indices.tolist(), weights[positions].tolist(), answers):
            taken = decisions(part, answer, data.sequences.is_categorical(index))
            right = right_decisions(part, data.labels[index].tolist())
            sizes = (len(taken & right), len(taken), len(right))
            counts += weight * torch.tensor(sizes, dtype=torch.float64)
    # Some devices have no float64.
    right, taken, due = accelerator.reduce(counts.float().to(accelerator.device), "sum").tolist()
    return float(2 * right / (taken + due)) if right else 0.0


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
        fill=filled,
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
