"""The tracker onepass: one pass of an encoder per frame, over the turn and the whole schema.

Reading begins here: ``frames`` is what is read of a frame, ``layout`` makes tokens of it,
``modeling`` is the model, ``decode`` makes the state of its answers, and ``labels`` says which
answers are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset
from transformers import AutoConfig, AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset import SgdxError

from ..data.dialogues import (
    Dialogue,
    State,
    prediction_rows,
    read_dialogues,
)
from ..data.frames import SYSTEM_ACTS, describe, input_columns, whole_dialogues
from ..system import (
    BatchOptions,
    BatchSize,
    Predictions,
    TokenBudget,
    Tracker,
    TrainableSystem,
)
from ..trained import (
    TrainedModel,
    answer_batches,
    fingerprint,
    load_trained,
    predict_dialogues,
    pretrained_encoder,
    with_steps,
)
from ..training.batching import Ints
from ..training.checkpoint import weights_digest
from ..training.evaluation import joint_goal_accuracy
from ..training.loop import last_checkpoint
from ..training.settings import Count, EpochSettings, Fraction, Settings
from ..training.task import Evaluation, Provenance, Run, Task
from .answers import merge_parts, read_answers
from .batches import Item, make_batch
from .calibration import Answers, best_keep_bias, cached
from .card_example import example
from .decode import Answer, decode
from .examples import (
    FrameExamples,
    SchemaNoise,
    StateNoise,
    all_examples,
    drop_acts_of_some,
    many_objects,
)
from .frames import FrameInput, gold_frames
from .layout import MARKERS, Vocabulary, sequences
from .modeling import OnePassConfig, OnePassModel, first_position
from .teacher import Example
from .tracking import Acts, Reader, Reading, track_dialogues

# With this, AutoModel uses the project's classes instead of the copied code beside the weights.
AutoConfig.register(OnePassConfig.model_type, OnePassConfig, exist_ok=True)
AutoModel.register(OnePassConfig, OnePassModel, exist_ok=True)
Row = dict[str, Any]
READS = ("history", "utterance", "schema", SYSTEM_ACTS)


class OnePassSettings(EpochSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of onepass have besides the common ones.

    The examples of a batch are frames.

    Attributes:
        acts: Whether the system's dialogue acts are read: ``true``, ``false``, or ``sometimes``.
            With ``sometimes`` they are left out of a third of the train dialogues, drawn with
            ``seed``; the model then serves dialogues with acts and dialogues of text alone
            (``Reading``).
        utterances: Maximum number of utterances that are read, the user's last one included. With
            ``acts: sometimes`` it holds where there are acts; four are read where there are none.
        max_tokens: Maximum number of tokens of a sequence; a longer schema is read in parts.
        dropout: Probability of dropout on the encoder's outputs, in [0, 1].
        shuffle: Whether the elements of a schema stand in random order in training. This matters
            only for encoders such as DeBERTa, which are not told where a token stands.
        drop_names: Fraction of the schema elements whose name is left out of a training example,
            in [0, 1].
        drop_descriptions: Fraction of the schema elements whose description is left out of a
            training example, in [0, 1].
        drop_carried: Fraction of the carried values, of those that a turn confirms or says again,
            that are dropped in training, so that the model learns to correct (``StateNoise``).
        replace_carried: Fraction of the same values that are replaced by others.
        expected: The expected result and its source, for the reader of the recipe.
    """

    acts: Acts = True
    utterances: Count = 2
    max_tokens: Annotated[int, msgspec.Meta(ge=32)] = 512
    dropout: Fraction = 0.1
    shuffle: bool = False
    drop_names: Fraction = 0.0
    drop_descriptions: Fraction = 0.0
    drop_carried: Fraction = 0.0
    replace_carried: Fraction = 0.0
    expected: str

    def __post_init__(self) -> None:
        if self.static_shapes:
            raise ValueError("static_shapes: schemas differ in size, expected false")
        if self.drop_names + self.drop_descriptions > 1:
            raise ValueError("drop_names and drop_descriptions: expected 1 or less together")
        if self.drop_carried + self.replace_carried > 1:
            raise ValueError("drop_carried and replace_carried: expected 1 or less together")


class OnePassOptions(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with onepass; batches consist of frames, chunks of dialogues."""

    batch_size: BatchSize = 128
    token_budget: TokenBudget = 4096
    chunk_size: Annotated[
        Count,
        msgspec.Meta(description="number of dialogues whose results are saved together to resume"),
    ] = 192
    acts: Annotated[
        bool,
        msgspec.Meta(description="false: hide the system's dialogue acts from a model that can"),
    ] = True


class OnePassProvenance(Provenance, frozen=True, kw_only=True):
    """Provenance of a model, stored in its ``config.json`` under ``sgdx``.

    Attributes:
        acts: Whether the system's dialogue acts are read: always, never or ``sometimes``.
        utterances: Maximum number of utterances that are read.
        max_tokens: Maximum number of tokens of a sequence.
    """

    acts: Acts
    utterances: int
    max_tokens: int


@dataclass(frozen=True)
class OnePassTracker(
    TrainedModel[OnePassModel, OnePassProvenance],
    Tracker,
    TrainableSystem[OnePassOptions, OnePassSettings],
):
    """Predicts the changes that turns make to the states of services.

    Attributes:
        options: Options of prediction.
        accelerator: The processes and the device.
    """

    NAME: ClassVar[str] = "onepass"
    READS: ClassVar[tuple[str, ...]] = READS
    OPTIONS: ClassVar[type[OnePassOptions]] = OnePassOptions
    SETTINGS: ClassVar[type[Settings]] = OnePassSettings

    options: OnePassOptions
    accelerator: Accelerator

    @classmethod
    def load(cls, model: str, options: OnePassOptions, accelerator: Accelerator) -> OnePassTracker:
        """Load a trained model from a folder or the Hub."""
        loaded, tokenizer, provenance = load_trained(
            model, OnePassModel, OnePassProvenance, accelerator.device
        )
        tracker_class = OnePassTracker if provenance.acts and options.acts else TextOnlyTracker
        return tracker_class(loaded, tokenizer, provenance, options, accelerator)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer with the markers, which remembers the tokens of the texts so far."""
        return Vocabulary(self.tokenizer)

    @property
    def reading(self) -> Reading:
        """How much of a dialogue the model reads."""
        return Reading(self.provenance.acts, self.provenance.utterances)

    def describe(self) -> Row:
        """The model's digest and provenance, and the bias that was chosen for it."""
        return {**super().describe(), "keep_bias": self.model.config.keep_bias}

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Predict turn by turn, for all dialogues of a chunk together."""
        return Predictions(self.track(self.model, rows, chunks), {})

    def track(self, model: OnePassModel, rows: Dataset, chunks: Path) -> list[Row]:
        """Predict the states of frame rows.

        Args:
            model: The model, in evaluation mode, on the accelerator's device.
            rows: Frame rows of whole dialogues in order, without gold states.
            chunks: Folder for partial results, from which a killed run can resume.

        Returns:
            The prediction row of each frame, the same in every process.
        """
        name = fingerprint(
            weights_digest(model),
            model.config.keep_bias,
            self.provenance,
            describe(rows),
            self.options,
        )
        track = partial(self.track_dialogues, model)
        return predict_dialogues(self.accelerator, rows, self.options, track, chunks / name)

    def track_dialogues(
        self, model: OnePassModel, dialogues: Sequence[Dialogue]
    ) -> list[list[State]]:
        """Predict the state of every frame of several dialogues."""
        texts = (text for d in dialogues for turn in d.turns for text in (turn.system, turn.user))
        self.vocabulary.add_texts(texts)
        reader = self._reader(partial(self.answers, model), model.config.keep_bias)
        return track_dialogues(reader, dialogues, self.reading)

    def dev_score(self, model: OnePassModel, dev: Dataset) -> Evaluation:
        """The joint goal accuracy on dev with the ``keep_bias`` that is the best one there."""
        dialogues = list(read_dialogues(input_columns(dev, self.READS)))
        answers = cached(partial(self.answers, model))

        def score(keep_bias: float) -> float:
            reader = self._reader(answers, keep_bias)
            states = track_dialogues(reader, dialogues, self.reading)
            rows = [row for pair in zip(dialogues, states) for row in prediction_rows(*pair)]
            return joint_goal_accuracy(dev, rows)

        keep_bias, best = best_keep_bias(score)
        return Evaluation(best, {"keep_bias": keep_bias})

    @staticmethod
    def _reader(answers: Answers, keep_bias: float) -> Reader:
        def read(frames: Sequence[tuple[str, str, FrameInput]]) -> list[State]:
            inputs = [frame for _, _, frame in frames]
            return [decode(*pair, keep_bias) for pair in zip(inputs, answers(inputs))]

        return read

    def answers(self, model: OnePassModel, frames: Sequence[FrameInput]) -> list[Answer]:
        """What the model says about frames, which are read in large batches of similar length."""
        limit = self.provenance.max_tokens
        parts = [sequences(frame, self.vocabulary, limit) for frame in frames]
        items = [Item(frame, part) for frame, of_frame in zip(frames, parts) for part in of_frame]
        lengths = np.array([len(item.sequence.ids) for item in items], np.int64)

        def answer(batch: Ints) -> list[Answer]:
            return self._answer(model, [items[index] for index in batch.tolist()])

        answers = iter(answer_batches(lengths, self.options, answer))
        return [merge_parts([next(answers) for _ in of_frame]) for of_frame in parts]

    def examples(self, rows: Dataset) -> list[Example]:
        """The frames of rows with their gold annotations, along the states of right answers."""
        dialogues = read_dialogues(input_columns(rows, self.READS))
        if self.provenance.acts == "sometimes":
            dialogues = drop_acts_of_some(dialogues, self.provenance.seed)
        return all_examples(dialogues, gold_frames(rows), self.reading)

    @torch.inference_mode()
    def _answer(self, model: OnePassModel, items: Sequence[Item]) -> list[Answer]:
        batch = make_batch(items, self.tokenizer.pad_token_id)
        on_device = {name: tensor.to(model.device) for name, tensor in batch.items()}
        return read_answers(items, model.compute_logits(on_device))

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Select whole dialogues, as a state is the sum of the changes in a dialogue."""
        return whole_dialogues(rows, count)

    @classmethod
    def task(cls, run: Run[OnePassSettings], name: str) -> Task:
        """Build the task of fine-tuning the model."""
        tracker = _initial_tracker(run)
        settings = run.settings
        with many_objects():
            examples = FrameExamples(
                tracker.examples(run.rows),
                tracker.vocabulary,
                settings.max_tokens,
                SchemaNoise(settings.shuffle, settings.drop_names, settings.drop_descriptions),
                settings.seed,
                StateNoise(settings.drop_carried, settings.replace_carried),
            )

        def evaluate(model: Any) -> Evaluation:
            return tracker.dev_score(model, run.dev)

        settings = with_steps(settings, examples.lengths, run.accelerator.num_processes)
        facts = {"examples": len(examples.lengths), "labels": examples.counts}
        return Task(
            tracker.model, settings, examples.lengths, examples.batch, evaluate, tracker.save, facts
        )

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """Python code that reads one frame and imports only torch and transformers."""
        return example(repository)


class TextOnlyTracker(OnePassTracker):
    """A model that was trained without the system's dialogue acts, and does not get them."""

    READS: ClassVar[tuple[str, ...]] = tuple(part for part in READS if part != SYSTEM_ACTS)


def _initial_tracker(run: Run[OnePassSettings]) -> OnePassTracker:
    """The tracker that training starts from: the last checkpoint, or the recipe's encoder."""
    settings, accelerator, options = run.settings, run.accelerator, OnePassOptions()
    if checkpoint := last_checkpoint(run, ""):
        return OnePassTracker.load(str(checkpoint), options, accelerator)
    provenance = run.provenance.extended(
        OnePassProvenance,
        acts=settings.acts,
        utterances=settings.utterances,
        max_tokens=settings.max_tokens,
    )
    encoder, tokenizer = pretrained_encoder(run, [" ".join(MARKERS.values())])
    model = new_model(encoder, tokenizer, provenance, settings.dropout).to(accelerator.device)
    tracker_class = OnePassTracker if provenance.acts else TextOnlyTracker
    return tracker_class(model, tokenizer, provenance, options, accelerator)


def new_model(
    encoder: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    provenance: OnePassProvenance,
    dropout: float = 0.1,
) -> OnePassModel:
    """Create a model of a pretrained encoder, vectors of the markers, and random heads.

    The vector of a marker begins as the mean of the vectors of the pieces of a word.

    Args:
        encoder: The encoder.
        tokenizer: The encoder's tokenizer, to which the markers are added.
        provenance: Provenance of the model, whose ``seed`` determines the heads.
        dropout: Probability of dropout on the encoder's outputs, in [0, 1].

    Raises:
        SgdxError: The encoder cannot read ``provenance.max_tokens`` tokens.
    """
    max_tokens = provenance.max_tokens
    positions = getattr(encoder.config, "max_position_embeddings", None) or max_tokens
    positions -= first_position(encoder)
    if positions < max_tokens:
        name = encoder.name_or_path
        raise SgdxError(f"{name}: reads {positions} tokens, expected max_tokens: {max_tokens}")
    _add_markers(encoder, Vocabulary(tokenizer))
    torch.manual_seed(provenance.seed)
    model = OnePassModel(OnePassConfig(encoder=encoder.config.to_dict(), dropout=dropout))
    model.reset_heads()
    model.use_encoder(encoder)
    return model


def _add_markers(encoder: PreTrainedModel, vocabulary: Vocabulary) -> None:
    """Give the markers vectors: each the mean of the vectors of the pieces of its word."""
    embedded: Any = encoder.get_input_embeddings()
    size = len(vocabulary.tokenizer)
    if size > embedded.num_embeddings:
        embedded = encoder.resize_token_embeddings(size, mean_resizing=False)
    with torch.no_grad():
        for marker, word in MARKERS.items():
            pieces = vocabulary.tokens(word).ids
            embedded.weight[vocabulary.markers[marker]] = embedded.weight[pieces].mean(0)
