"""The tracker onepass: one pass of an encoder per frame, over the turn and the whole schema.

Reading begins here: ``frames`` is what is read of a frame and which answers are right, ``layout``
makes tokens of it, ``modeling`` is the model, ``examples`` makes batches, and decodes answers.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset
from transformers import AutoConfig, AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset.io.json import many_objects
from sgdx_dataset.io.progress import advance
from sgdx_dataset.tracker_inputs import SYSTEM_ACTS, input_columns, training_columns

from ..batching import Ints, training_batches
from ..data.dialogues import Dialogue, Frame, State, prediction_rows, read_dialogues
from ..encoders import check_positions
from ..settings import Acts, OnePassOptions, OnePassSettings, Settings
from ..system import Predictions, Row
from ..task import Evaluation, Provenance, Run, Task, joint_goal_accuracy
from ..trained import EncoderTracker, answer_batches, predict_dialogues, with_steps
from ..xla import in_few_shapes, on_host
from .data import Answer, Item, decode, filled, make_batch, merge_parts, read_answers
from .encoded import EncodedExamples, made_of
from .examples import (
    Example,
    FrameExamples,
    SchemaNoise,
    StateNoise,
    all_examples,
    drop_acts_of_some,
)
from .frames import FrameInput, Reader, Reading, track_dialogues
from .layout import MARKERS, Vocabulary, sequences
from .modeling import Logits, OnePassConfig, OnePassModel, first_position

# With this, AutoModel uses the project's classes instead of the copied code beside the weights.
AutoConfig.register(OnePassConfig.model_type, OnePassConfig, exist_ok=True)
AutoModel.register(OnePassConfig, OnePassModel, exist_ok=True)


class OnePassProvenance(Provenance, frozen=True, kw_only=True):
    """Provenance of a model, stored in its ``config.json`` under ``sgdx``."""

    acts: Acts  # whether the system's dialogue acts are read: always, never or ``sometimes``
    utterances: int  # most that are read
    max_tokens: int  # of a sequence
    questions: bool = False  # whether a slot that the system asks for has the system's words


def new_model(
    encoder: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    provenance: OnePassProvenance,
    dropout: float = 0.1,
) -> OnePassModel:
    """Create a model of a pretrained encoder, vectors of the markers, and random heads."""
    check_positions(encoder, provenance.max_tokens, "max_tokens", first_position(encoder))
    vocabulary = Vocabulary(tokenizer)
    embedded: Any = encoder.get_input_embeddings()
    if len(tokenizer) > embedded.num_embeddings:
        embedded = encoder.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    with torch.no_grad():  # a marker begins as the mean of the pieces of its word
        for marker, word in MARKERS.items():
            pieces = vocabulary.tokens(word).ids.tolist()
            embedded.weight[vocabulary.markers[marker]] = embedded.weight[pieces].mean(0)
    torch.manual_seed(provenance.seed)
    model = OnePassModel(OnePassConfig(encoder=encoder.config.to_dict(), dropout=dropout))
    model.reset_heads()
    model.use_encoder(encoder)
    return model


BIASES = (0.0, -0.25, 0.25, -0.5, 0.5, -0.75, 0.75, -1.0, 1.0, -1.5, -2.0)
# Returns the model's answer about each frame.
Answers = Callable[[Sequence[FrameInput]], list[Answer]]


class KeepBias(NamedTuple):
    """What is added to the logit of keeping a slot as it is."""

    acts: float  # at turns at which the system's dialogue acts are read
    text: float  # at turns at which they are not, because there are none

    def at(self, frame: FrameInput) -> float:
        """The bias for a frame."""
        return self.acts if frame.acts else self.text


def best_keep_bias(score: Callable[[float], float]) -> tuple[float, float]:
    """The bias with the best score, the smallest of equally good ones, and this score."""
    scores = [score(bias) for bias in BIASES]
    best = max(scores)
    return BIASES[scores.index(best)], best


def cached(answers: Answers) -> Answers:
    """The same answers, from a cache for frames whose input was answered before."""
    # Most frames have the same input under all biases, as most carried states are the same.
    cache: dict[Hashable, Answer] = {}

    def answer(frames: Sequence[FrameInput]) -> list[Answer]:
        new = {frame.key: frame for frame in frames if frame.key not in cache}
        cache.update(zip(new, answers(list(new.values())), strict=True))
        return [cache[frame.key] for frame in frames]

    return answer


READS = ("history", "utterance", "schema", SYSTEM_ACTS)


class OnePassTracker(
    EncoderTracker[OnePassModel, OnePassProvenance, OnePassOptions, OnePassSettings]
):
    """Predicts the changes that turns make to the states of services."""

    NAME: ClassVar[str] = "onepass"
    READS: ClassVar[tuple[str, ...]] = READS
    OPTIONS: ClassVar[type[OnePassOptions]] = OnePassOptions
    SETTINGS: ClassVar[type[Settings]] = OnePassSettings
    MODEL: ClassVar[type[OnePassModel]] = OnePassModel
    PROVENANCE: ClassVar[type[OnePassProvenance]] = OnePassProvenance

    @classmethod
    def load(cls, model: str, options: OnePassOptions, accelerator: Accelerator) -> OnePassTracker:
        """Load a trained model from a folder or the Hub."""
        return super().load(model, options, accelerator).as_read()

    def as_read(self) -> OnePassTracker:
        """This tracker, or one that does not get dialogue acts if it is to have none."""
        if self.provenance.acts and self.options.acts:
            return self
        parts = (self.model, self.tokenizer, self.provenance, self.options, self.accelerator)
        return TextOnlyTracker(*parts)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer with the markers, which remembers the tokens of the texts so far."""
        return Vocabulary(self.tokenizer)

    @property
    def reading(self) -> Reading:
        """How much of a dialogue the model reads."""
        seen = self.provenance
        return Reading(seen.acts, seen.utterances, seen.questions)

    def describe(self) -> Row:
        """The model's digest and provenance, and the biases that were chosen for it."""
        biases = {"keep_bias": self.keep_bias.acts, "text_keep_bias": self.keep_bias.text}
        return {**super().describe(), **biases}

    @property
    def keep_bias(self) -> KeepBias:
        """The biases that were chosen for the model."""
        return KeepBias(self.model.config.keep_bias, self.model.config.text_keep_bias)

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Predict turn by turn, for all dialogues of a chunk together."""
        track, options = self.track_dialogues, self.options
        return Predictions(predict_dialogues(self.accelerator, rows, options, track, chunks), {})

    def track_dialogues(self, dialogues: Sequence[Dialogue]) -> list[list[State]]:
        """Predict the state of every frame of several dialogues."""
        texts = (text for d in dialogues for turn in d.turns for text in (turn.system, turn.user))
        self.vocabulary.add_texts(texts)
        device = self.model.device.type
        model = self._in_bfloat16 if torch.is_autocast_enabled(device) else self.model
        reader = self._reader(partial(self.answers, model), self.keep_bias)
        with torch.autocast(device, enabled=False):
            return track_dialogues(reader, dialogues, self.reading)

    @cached_property
    def _in_bfloat16(self) -> OnePassModel:
        """The model with an encoder in bfloat16, for prediction where autocast asks for that."""
        # Autocast converts between the formats before and after every matrix product, which takes a
        # third of the encoder's time on a CPU. The heads stay in float32.
        model = copy.deepcopy(self.model)
        model.encoder.bfloat16()
        return model

    def answers(self, model: OnePassModel, frames: Sequence[FrameInput]) -> list[Answer]:
        """What the model says about frames, which are read in large batches of similar length."""
        limit = self.provenance.max_tokens
        parts = [sequences(frame, self.vocabulary, limit) for frame in frames]
        items = [Item(frame, part) for frame, of_frame in zip(frames, parts) for part in of_frame]
        first = [number == 0 for of_frame in parts for number in range(len(of_frame))]
        lengths = np.array([len(item.sequence.ids) for item in items], np.int64)

        def answer(batch: Ints) -> list[Answer]:
            answers = self._answer(model, [items[index] for index in batch.tolist()])
            advance(sum(first[index] for index in batch.tolist()))
            return answers

        answers = iter(answer_batches(lengths, self.options, answer))
        return [merge_parts([next(answers) for _ in of_frame]) for of_frame in parts]

    @torch.no_grad()
    def _answer(self, model: OnePassModel, items: Sequence[Item]) -> list[Answer]:
        """What the model says about one batch of sequences."""
        batch = make_batch(items, self.tokenizer.pad_token_id)
        batch = in_few_shapes(batch, self.provenance.max_tokens, filled, model.device)
        on_device = {name: tensor.to(model.device) for name, tensor in batch.items()}
        logits = model.compute_logits(on_device)
        return read_answers(items, Logits(**on_host(logits._asdict(), model.device)))

    @staticmethod
    def _reader(answers: Answers, keep_bias: KeepBias) -> Reader:
        """The function that returns the states of frames, decoded from the model's answers."""

        def read(frames: Sequence[tuple[Frame, FrameInput]]) -> list[State]:
            inputs = [frame for _, frame in frames]
            return [decode(*pair, keep_bias.at(pair[0])) for pair in zip(inputs, answers(inputs))]

        return read

    @classmethod
    def task(cls, run: Run[OnePassSettings], name: str) -> Task:
        """Build the task of fine-tuning the model."""
        tracker = cls.at_start(run)
        make, folder = partial(tracker.noisy_examples, run.rows, run.settings), run.settings.encoded
        with many_objects():
            if folder is None:
                examples: FrameExamples | EncodedExamples = make()
            else:
                made = made_of(run.settings, run.data, tracker.vocabulary)
                examples = EncodedExamples(Path(folder), made, make)
            settings = with_steps(run.settings, examples.lengths, run.accelerator.num_processes)
            if isinstance(examples, EncodedExamples):
                place = run.accelerator.process_index, run.accelerator.num_processes
                examples.require(training_batches(settings, examples.lengths, 0, *place))
        # No search for garbage touches the examples any more, so the processes that prepare batches
        # for a GPU share their memory instead of copying it.
        gc.freeze()

        def evaluate(model: Any) -> Evaluation:
            return tracker.dev_score(model, run.dev)

        facts = {"examples": len(examples.lengths), "labels": examples.counts}
        parts = (tracker.model, settings, examples.lengths, examples.batch)
        return Task(*parts, evaluate, tracker.save, facts, fill=filled)

    @classmethod
    def at_start(cls, run: Run[OnePassSettings]) -> OnePassTracker:
        """The tracker that a training starts from."""
        settings = run.settings
        provenance = run.provenance.extended(
            OnePassProvenance,
            acts=settings.acts,
            utterances=settings.utterances,
            max_tokens=settings.max_tokens,
            questions=settings.questions,
        )
        new = partial(new_model, provenance=provenance, dropout=settings.dropout)
        words = [" ".join(MARKERS.values())]
        return cls.initial(run, OnePassOptions(), provenance, new, extra_texts=words).as_read()

    def noisy_examples(self, rows: Dataset, settings: OnePassSettings) -> FrameExamples:
        """The training examples of rows, with the random changes of a recipe."""
        return FrameExamples(
            self.examples(rows),
            self.vocabulary,
            settings.max_tokens,
            SchemaNoise(settings.shuffle, settings.drop_names, settings.drop_descriptions),
            settings.seed,
            StateNoise(settings.drop_carried, settings.replace_carried),
        )

    def examples(self, rows: Dataset) -> list[Example]:
        """The frames of rows with their gold annotations, along the states of right answers."""
        dialogues = read_dialogues(training_columns(rows, self.READS))
        if self.provenance.acts == "sometimes":
            dialogues = drop_acts_of_some(dialogues, self.provenance.seed)
        return all_examples(dialogues, self.reading)

    def dev_score(self, model: OnePassModel, dev: Dataset) -> Evaluation:
        """The joint goal accuracy on dev with the biases that are the best ones there."""
        # Where acts are read ``sometimes``, no first turn has any. So its bias is chosen first.
        acts, text, best = 0.0, 0.0, 0.0
        if self.provenance.acts in (False, "sometimes"):
            reads = TextOnlyTracker.READS
            text, best = self._best_bias(model, dev, reads, lambda bias: KeepBias(bias, bias))
        if self.provenance.acts:
            reads = self.READS
            acts, best = self._best_bias(model, dev, reads, lambda bias: KeepBias(bias, text))
        return Evaluation(best, {"keep_bias": acts, "text_keep_bias": text})

    def _best_bias(
        self,
        model: OnePassModel,
        dev: Dataset,
        reads: Sequence[str],
        biases: Callable[[float], KeepBias],
    ) -> tuple[float, float]:
        """The best bias on dev, of which the columns ``reads`` are read, and its accuracy."""
        dialogues = list(read_dialogues(input_columns(dev, reads)))
        answers = cached(partial(self.answers, model))

        def score(bias: float) -> float:
            states = track_dialogues(self._reader(answers, biases(bias)), dialogues, self.reading)
            rows = [row for pair in zip(dialogues, states) for row in prediction_rows(*pair)]
            return joint_goal_accuracy(dev, rows)

        return best_keep_bias(score)


class TextOnlyTracker(OnePassTracker):
    """A model that was trained without the system's dialogue acts, and does not get them."""

    READS: ClassVar[tuple[str, ...]] = tuple(part for part in READS if part != SYSTEM_ACTS)
