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
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from datasets import Dataset
from transformers import AutoConfig, AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset.io.json import many_objects
from sgdx_dataset.io.progress import advance
from sgdx_dataset.tracker_inputs import SYSTEM_ACTS, input_columns, training_columns

from ..batching import Ints
from ..data.dialogues import Dialogue, Frame, State, prediction_rows, read_dialogues
from ..encoders import check_positions, corpus_texts, load_encoder, tiny_encoder
from ..system import Row
from ..tracker import (
    Evaluation,
    Examples,
    Predict,
    Tracker,
    answer_batches,
    joint_goal_accuracy,
    start_from_tracker,
)
from ..xla import in_few_shapes, on_host
from . import settings as own
from .data import Answer, Item, decode, filled, make_batch, merge_parts, read_answers
from .encoded import EncodedExamples, made_of
from .examples import (
    FrameExamples,
    all_examples,
    drop_acts_of_some,
)
from .frames import FrameInput, Reader, Reading, track_dialogues
from .layout import MARKERS, Vocabulary, sequences
from .modeling import Logits, OnePassConfig, OnePassModel, first_position

# With this, AutoModel uses the project's classes instead of the copied code beside the weights.
AutoConfig.register(OnePassConfig.model_type, OnePassConfig, exist_ok=True)
AutoModel.register(OnePassConfig, OnePassModel, exist_ok=True)


# Those that are tried, the smallest first.
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


def cached(answers: Answers) -> Answers:
    """The same answers, from a cache for frames whose input was answered before."""
    # Most frames have the same input under all biases, as most carried states are the same.
    cache: dict[Hashable, Answer] = {}

    def answer(frames: Sequence[FrameInput]) -> list[Answer]:
        new = {frame.key: frame for frame in frames if frame.key not in cache}
        cache.update(zip(new, answers(list(new.values())), strict=True))
        return [cache[frame.key] for frame in frames]

    return answer


ALL = ("history", "utterance", "schema", SYSTEM_ACTS)


class OnePassTracker(Tracker, OnePassModel):
    """Predicts the changes that turns make to the states of services."""

    NAME: ClassVar[str] = "onepass"
    READS: ClassVar[tuple[str, ...]] = ALL
    PLAIN: ClassVar[type[PreTrainedModel]] = OnePassModel
    Options: ClassVar[type[own.Options]] = own.Options
    Settings: ClassVar[type[own.Settings]] = own.Settings
    Seen: ClassVar[type[own.Seen]] = own.Seen
    tokenizer: PreTrainedTokenizerBase
    seen: own.Seen
    settings: own.Settings
    options: own.Options

    @classmethod
    def tiny(cls, rows: Dataset, settings: own.Settings) -> Sequence[Any]:
        """A small BERT and its tokenizer, which knows the markers' words."""
        texts = [*corpus_texts(rows), " ".join(MARKERS.values())]
        return tiny_encoder(texts, seed=settings.seed)

    @classmethod
    def start(cls, settings: own.Settings) -> Self:
        """A trained onepass, or an encoder with vectors of the markers and random heads."""
        seen = own.Seen.of(settings)
        if (trained := start_from_tracker(cls, settings)) is not None:
            return cls.completed(trained, trained.tokenizer, seen)
        encoder, tokenizer = load_encoder(settings.model, settings.attention_dropout)
        check_positions(encoder, seen.max_tokens, "max_tokens", first_position(encoder))
        vocabulary = Vocabulary(tokenizer)
        embedded: Any = encoder.get_input_embeddings()
        if len(tokenizer) > embedded.num_embeddings:
            embedded = encoder.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        with torch.no_grad():  # a marker begins as the mean of the pieces of its word
            for marker, word in MARKERS.items():
                pieces = vocabulary.tokens(word).ids.tolist()
                embedded.weight[vocabulary.markers[marker]] = embedded.weight[pieces].mean(0)
        torch.manual_seed(settings.seed)
        model = cls(OnePassConfig(encoder=encoder.config.to_dict(), dropout=settings.dropout))
        model.reset_heads()
        model.use_encoder(encoder)
        return cls.completed(model, tokenizer, seen)

    @classmethod
    def completed(cls, model: Any, tokenizer: Any, seen: Any, **options: Any) -> Self:
        """A model with what it needs besides; it gets dialogue acts only if it is to have them."""
        tracker = super().completed(model, tokenizer, seen, **options)
        if not (seen.acts and tracker.options.acts):
            tracker.READS = tuple(part for part in ALL if part != SYSTEM_ACTS)  # type: ignore[misc]
        return tracker

    def examples(self, rows: Dataset) -> Examples:
        """The frames of rows, with the random changes of the recipe; perhaps from a folder."""
        folder = self.settings.encoded
        with many_objects():
            if folder is None:
                examples: Examples = self.noisy_examples(rows)
            else:
                made = made_of(self.settings, self.data, self.vocabulary)
                examples = EncodedExamples(Path(folder), made, partial(self.noisy_examples, rows))
        # No search for garbage touches the examples any more, so the processes that prepare batches
        # for a GPU share their memory instead of copying it.
        gc.freeze()
        return examples

    def noisy_examples(self, rows: Dataset) -> FrameExamples:
        """The training examples of rows, along the states of right answers."""
        settings = self.settings
        dialogues = read_dialogues(training_columns(rows, self.READS))
        if self.seen.acts == "sometimes":
            dialogues = drop_acts_of_some(dialogues, settings.seed)
        return FrameExamples(all_examples(dialogues, self.reading), self.vocabulary, settings)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer with the markers, which remembers the tokens of the texts so far."""
        return Vocabulary(self.tokenizer)

    @property
    def reading(self) -> Reading:
        """How much of a dialogue the model reads."""
        return Reading(self.seen.acts, self.seen.utterances, self.seen.questions)

    def describe(self) -> Row:
        """The model's digest and provenance, and the biases that were chosen for it."""
        biases = {"keep_bias": self.keep_bias.acts, "text_keep_bias": self.keep_bias.text}
        return {**super().describe(), **biases}

    @property
    def keep_bias(self) -> KeepBias:
        """The biases that were chosen for the model."""
        return KeepBias(self.config.keep_bias, self.config.text_keep_bias)

    def track(self, rows: Dataset) -> list[Row]:
        """Predict turn by turn, for all dialogues together."""
        dialogues = list(read_dialogues(rows))
        pairs = zip(dialogues, self.track_dialogues(dialogues), strict=True)
        return [row for pair in pairs for row in prediction_rows(*pair)]

    def track_dialogues(self, dialogues: Sequence[Dialogue]) -> list[list[State]]:
        """Predict the state of every frame of several dialogues."""
        texts = (text for d in dialogues for turn in d.turns for text in (turn.system, turn.user))
        self.vocabulary.add_texts(texts)
        device = self.device.type
        model = self._in_bfloat16 if torch.is_autocast_enabled(device) else self
        reader = self._reader(model.answers, self.keep_bias)
        with torch.autocast(device, enabled=False):
            return track_dialogues(reader, dialogues, self.reading)

    @cached_property
    def _in_bfloat16(self) -> OnePassTracker:
        """The model with an encoder in bfloat16, for prediction where autocast asks for that."""
        # Autocast converts between the formats before and after every matrix product, which takes a
        # third of the encoder's time on a CPU. The heads stay in float32.
        model = copy.deepcopy(self)
        model.encoder.bfloat16()
        return model

    def answers(self, frames: Sequence[FrameInput]) -> list[Answer]:
        """What the model says about frames, which are read in large batches of similar length."""
        limit = self.seen.max_tokens
        parts = [sequences(frame, self.vocabulary, limit) for frame in frames]
        items = [Item(frame, part) for frame, of_frame in zip(frames, parts) for part in of_frame]
        first = [number == 0 for of_frame in parts for number in range(len(of_frame))]
        lengths = np.array([len(item.sequence.ids) for item in items], np.int64)

        def answer(batch: Ints) -> list[Answer]:
            answers = self._answer([items[index] for index in batch.tolist()])
            advance(sum(first[index] for index in batch.tolist()))
            return answers

        answers = iter(answer_batches(lengths, self.options, answer))
        return [merge_parts([next(answers) for _ in of_frame]) for of_frame in parts]

    @torch.no_grad()
    def _answer(self, items: Sequence[Item]) -> list[Answer]:
        """What the model says about one batch of sequences."""
        batch = make_batch(items, self.tokenizer.pad_token_id)
        batch = in_few_shapes(batch, self.seen.max_tokens, filled, self.device)
        on_device = {name: tensor.to(self.device) for name, tensor in batch.items()}
        logits = self.compute_logits(on_device)
        return read_answers(items, Logits(**on_host(logits._asdict(), self.device)))

    @staticmethod
    def _reader(answers: Answers, keep_bias: KeepBias) -> Reader:
        """The function that returns the states of frames, decoded from the model's answers."""

        def read(frames: Sequence[tuple[Frame, FrameInput]]) -> list[State]:
            inputs = [frame for _, frame in frames]
            return [decode(*pair, keep_bias.at(pair[0])) for pair in zip(inputs, answers(inputs))]

        return read

    def score(self, dev: Dataset, predict: Predict) -> Evaluation:
        """The joint goal accuracy on dev with the biases that are the best ones there."""
        # Where acts are read ``sometimes``, no first turn has any. So its bias is chosen first.
        acts, text, best = 0.0, 0.0, 0.0
        if self.seen.acts in (False, "sometimes"):
            reads = [part for part in ALL if part != SYSTEM_ACTS]
            text, best = self._best_bias(dev, reads, lambda bias: KeepBias(bias, bias))
        if self.seen.acts:
            acts, best = self._best_bias(dev, self.READS, lambda bias: KeepBias(bias, text))
        return Evaluation(best, {"keep_bias": acts, "text_keep_bias": text})

    def _best_bias(
        self, dev: Dataset, reads: Sequence[str], biases: Callable[[float], KeepBias]
    ) -> tuple[float, float]:
        """The best bias on dev, of which the columns ``reads`` are read, and its accuracy."""
        dialogues = list(read_dialogues(input_columns(dev, reads)))
        answers = cached(self.answers)

        def score(bias: float) -> float:
            states = track_dialogues(self._reader(answers, biases(bias)), dialogues, self.reading)
            rows = [row for pair in zip(dialogues, states) for row in prediction_rows(*pair)]
            return joint_goal_accuracy(dev, rows)

        scores = {bias: score(bias) for bias in BIASES}
        best = max(BIASES, key=lambda bias: scores[bias])  # the first of equally good ones
        return best, scores[best]
