"""The submodels as trackers of their own: how each is trained, asked and scored on dev."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, Self, cast

import msgspec
import numpy as np
import torch
from accelerate import PartialState
from accelerate.utils import reduce
from datasets import Dataset
from numpy.typing import NDArray
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset import SgdxError
from sgdx_dataset.tracker_inputs import SYSTEM_ACTS, training_columns

from ..batching import Ints, by_length
from ..data.dialogues import read_dialogues
from ..encoders import (
    check_positions,
    corpus_texts,
    likeliest_spans,
    load_encoder,
    tiny_encoder,
)
from ..tracker import Evaluation, Examples, Predict, Tracker, answer_batches
from ..xla import in_few_shapes, on_host
from . import settings as own
from .data import (
    EASY,
    EXAMPLES,
    HARD,
    MORE_EXAMPLES,
    POSITIVE,
    SYSTEM,
    Example,
    Sequences,
    Tensors,
    Vocabulary,
    filled,
)
from .modeling import Answers, CombineModel, CopyModel, IntentModel
from .questions import FEATURES, Question
from .rules import COPY, CROSS, REQUESTED, SPAN, VALUE, Answer, Span
from .settings import Part, PartSettings

READS = ("history", "utterance", "schema", SYSTEM_ACTS)  # what the tracker reads of a frame row
# Fixed words of the prompts, for the vocabulary of the tiny encoder.
_WORDS = "sys : usr : null do not care keep jump none sort tag # api: "
_TOKENS = 16384  # maximum number of tokens in a batch when dev is scored


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


class TrainingData(Examples):
    """Examples of a submodel as tokens, with labels, in the order in which they are learnt."""

    def __init__(self, examples: Iterable[Example], sub: SgpPart, seed: int | None = None) -> None:
        """Make tokens of examples; with a seed those of all epochs are drawn of them."""
        kinds, labels = array("b"), array("i")

        def questions() -> Iterator[Question]:
            for example in examples:
                kinds.append(example.kind)
                labels.extend(example.labels)
                yield example.question

        self.sequences = Sequences(questions(), sub.vocabulary, sub.seen.max_tokens)
        self.kinds: NDArray[np.int8] = np.array(kinds, np.int8)  # [examples]
        # [examples, labels], as in ``Example``.
        self.labels: Ints = np.array(labels, np.int64).reshape(max(1, len(kinds)), -1)
        # Whether the first two labels are a span of characters.
        self.spans = sub.PART == "combine"
        missed = 0  # spans that begin or end inside a token or were cut, and count as no span
        if self.spans:
            with_span = np.flatnonzero(self.labels[:, 0] >= 0).tolist()
            missed = sum(self._labelled_tokens(index) is None for index in with_span)
        self.order = np.arange(len(self.kinds))
        if seed is not None:
            of = sub.part_settings
            epochs = (epoch_examples(self.kinds, of, seed, number) for number in range(of.epochs))
            self.order = np.concatenate([*epochs])
            if not len(self.order):
                raise SgdxError(
                    f"{sub.PART}: found no examples in train, expected some to learn from"
                )
        self.lengths = self.sequences.lengths[self.order]
        counts = {"of_all_epochs": len(self.order), "cut": self.sequences.cut}
        self.facts = {"examples": counts | {"missed_spans": missed}}

    def batch(self, indices: Ints) -> Tensors:
        """Make a batch, with ``labels`` [examples, labels]."""
        # A span is its first and last token; if there is none, both are the token ``null``.
        indices = self.order[indices]
        labels = self.labels[indices]
        if self.spans:
            for row, index in enumerate(indices.tolist()):
                null = self.sequences.turn(index).end
                labels[row, :2] = self._labelled_tokens(index) or (null, null)
        return {**self.sequences.batch(indices), "labels": torch.from_numpy(labels)}

    def _labelled_tokens(self, index: int) -> tuple[int, int] | None:
        """The first and last token of the labelled span of an example, or None."""
        start, end = self.labels[index, :2].tolist()
        return self.sequences.turn(index).tokens(start, end) if start >= 0 else None

    def fill(self, batch: Tensors, rows: int, width: int) -> Tensors:
        """Fill a batch up to sequences of a number of tokens."""
        return filled(batch, rows, width)


def decode(answers: Answers, sequences: Sequences, indices: Ints) -> list[Answer]:
    """Decode the answers to a batch of questions, given by their indices."""
    assert answers.logits is not None  # noqa: S101
    probabilities = answers.logits.softmax(-1)
    scores, numbers = probabilities.max(-1)
    columns = [numbers.tolist(), scores.tolist(), probabilities[:, 1].tolist()]
    if answers.start is not None and answers.end is not None and answers.requested is not None:
        columns.append(answers.requested.softmax(-1)[:, 1].tolist())
        turns = [sequences.turn(index) for index in indices.tolist()]
        tokens = torch.arange(answers.start.shape[1])
        user = torch.stack([(turn.user <= tokens) & (tokens < turn.end) for turn in turns])
        best = likeliest_spans(answers.start.softmax(-1), answers.end.softmax(-1), user)
        spans: list[Span | None] = []
        for turn, first, last, score in zip(turns, *(column.tolist() for column in best)):
            if score == -torch.inf:
                spans.append(None)  # the user's utterance is empty
                continue
            start, end = turn.characters(first, last)
            spans.append(Span(start, end, turn.text[start:end], score))
        columns.append(spans)
    return [Answer(*row) for row in zip(*columns)]


Decision = tuple[str | int, ...]


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
    """What the rules should do, from the labels of an example (``data.Example``)."""
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
    model: SgpPart, data: TrainingData, sample: tuple[Ints, NDArray[np.float64]]
) -> float:
    """F1 of the decisions that the rules would take; for ``intent`` it is the accuracy."""
    # All processes must call this together.
    (examples, weights), state, part = sample, PartialState(), model.PART
    batches = by_length(data.sequences.lengths[examples], max(1, len(examples)), _TOKENS)
    # Sums of weights over decisions: taken and right, taken, and due.
    counts = torch.zeros(3, dtype=torch.float64)
    for positions in batches[state.process_index :: state.num_processes]:
        indices = examples[positions]
        answers = model.answer(data.sequences, indices)
        for index, weight, answer in zip(indices.tolist(), weights[positions].tolist(), answers):
            taken = decisions(part, answer, data.sequences.is_categorical(index))
            right = right_decisions(part, data.labels[index].tolist())
            sizes = (len(taken & right), len(taken), len(right))
            counts += weight * torch.tensor(sizes, dtype=torch.float64)
    counts = counts.float().to(model.device)  # some devices have no float64
    right, taken, due = (reduce(counts) if state.num_processes > 1 else counts).tolist()
    return float(2 * right / (taken + due)) if right else 0.0


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


class SgpPart(Tracker):
    """A submodel: it answers questions about frames, of which the rules make states."""

    NAME: ClassVar[str] = "sgp_dst"
    PART: ClassVar[Part]
    READS: ClassVar[tuple[str, ...]] = READS
    MEASURE: ClassVar[str] = "dev_decision_f1"
    Options: ClassVar[type[own.Options]] = own.Options
    Settings: ClassVar[type[own.Settings]] = own.Settings
    Seen: ClassVar[type[own.Seen]] = own.Seen
    tokenizer: PreTrainedTokenizerBase
    seen: own.Seen
    settings: own.Settings
    _dev: Any = None  # examples of dev, read once for all evaluations

    @classmethod
    def tiny(cls, rows: Dataset, settings: own.Settings) -> Sequence[Any]:
        """A small BERT and its tokenizer, which knows the fixed words of the prompts."""
        return tiny_encoder([*corpus_texts(rows), _WORDS], seed=settings.seed)

    @classmethod
    def start(cls, settings: own.Settings) -> Self:
        """A submodel of a pretrained encoder and random heads."""
        limit = getattr(settings.parts, cls.PART).max_tokens
        seen = own.Seen.of(settings, part=cls.PART, max_tokens=limit)
        encoder, tokenizer = load_encoder(settings.model, settings.attention_dropout)
        check_positions(encoder, limit, "max_tokens")
        torch.manual_seed(settings.seed)
        make, configured = cast("Any", (cls, cls.config_class))
        model = make(configured(encoder=encoder.config.to_dict(), features=FEATURES))
        model.use_encoder(encoder)
        return cls.completed(model, tokenizer, seen)

    @property
    def part_settings(self) -> PartSettings:
        """What the recipe says of this submodel."""
        of_part: PartSettings = getattr(self.settings.parts, self.PART)
        return of_part

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer, with the tokens of the texts that it has read so far."""
        return Vocabulary(self.tokenizer)

    def examples(self, rows: Dataset) -> TrainingData:
        """All examples of the submodel, from frame rows with gold states."""

        makers = [of[self.PART] for of in (EXAMPLES, MORE_EXAMPLES) if self.PART in of]
        made = (e for one in read_dialogues(rows) for make in makers for e in make(one))
        return TrainingData(made, self, self.settings.seed)

    def planned(self, lengths: Ints, processes: int) -> own.Settings:
        """The recipe with the number of steps and the warm-up of this submodel."""
        of_epochs = -(-len(lengths) // self.settings.batch_size)
        limits = (self.settings.steps, self.part_settings.steps)
        steps = min([of_epochs, *(limit for limit in limits if limit is not None)])
        warmup = self.part_settings.warmup
        return msgspec.structs.replace(self.settings, steps=steps, warmup=warmup)

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """All rows, as a submodel is scored on ``count`` examples made from all of dev."""
        return rows

    def score(self, dev: Dataset, predict: Predict) -> Evaluation:
        """F1 of the decisions that the rules would take by its answers about dev."""
        if self._dev is None:
            dialogues = read_dialogues(training_columns(dev, READS))
            made = (e for dialogue in dialogues for e in EXAMPLES[self.PART](dialogue))
            data = TrainingData(made, self)
            self._dev = data, stratified(data.kinds, self.settings.evaluate_frames)
        return Evaluation(decision_f1(self, *self._dev))

    def answers(self, questions: Sequence[Question]) -> list[Answer]:
        """Answer questions, in large batches of similar length."""
        sequences = Sequences(questions, self.vocabulary, self.seen.max_tokens)
        return answer_batches(sequences.lengths, self.options, partial(self.answer, sequences))

    @torch.no_grad()
    def answer(self, sequences: Sequences, indices: Ints) -> list[Answer]:
        """Answer one batch of questions, given by their indices."""
        batch = in_few_shapes(sequences.batch(indices), sequences.limit, filled, self.device)
        answers = self(**{name: tensor.to(self.device) for name, tensor in batch.items()})
        on_cpu = on_host(answers, self.device)
        whole = Answers(**{name: tensor[: len(indices)] for name, tensor in on_cpu.items()})
        return decode(whole, sequences, indices)


class Intent(SgpPart, IntentModel):
    """The submodel that predicts the active intent."""

    PART: ClassVar[Part] = "intent"
    PLAIN: ClassVar[type[PreTrainedModel]] = IntentModel


class Combine(SgpPart, CombineModel):
    """The submodel that finds values in the user's words."""

    PART: ClassVar[Part] = "combine"
    PLAIN: ClassVar[type[PreTrainedModel]] = CombineModel


class Copy(SgpPart, CopyModel):
    """The submodel that copies values that the system gave."""

    PART: ClassVar[Part] = "copy"
    PLAIN: ClassVar[type[PreTrainedModel]] = CopyModel


class Cross(SgpPart, CopyModel):
    """The submodel that copies values of other services."""

    PART: ClassVar[Part] = "cross"
    PLAIN: ClassVar[type[PreTrainedModel]] = CopyModel


SUBMODELS: dict[Part, type[SgpPart]] = {of.PART: of for of in (Intent, Combine, Copy, Cross)}
