"""The tracker SGD baseline, which encodes each distinct turn once, independently of the schemas.

A frozen encoder embeds the schema elements. One pass of the turn encoder then serves all services
of a turn, under all schema variants. Source: Rastogi et al. 2020 (arXiv 1909.05855).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import msgspec
import torch
from accelerate import Accelerator
from datasets import Dataset
from transformers import AutoConfig, AutoModel, PreTrainedModel

from sgdx_dataset import SgdxError

from ..data.frames import input_columns, whole_dialogues
from ..data.prediction_files import prediction_row
from ..system import (
    BatchOptions,
    BatchSize,
    ChunkSize,
    Predictions,
    TokenBudget,
    Tracker,
    TrainableSystem,
)
from ..trained import (
    TrainedModel,
    fingerprint,
    load_trained,
    predict_in_chunks,
    pretrained_encoder,
    with_steps,
)
from ..training.batching import Ints
from ..training.checkpoint import weights_digest
from ..training.evaluation import score_dev
from ..training.loop import last_checkpoint
from ..training.settings import Count, EpochSettings, Fraction, Settings
from ..training.task import Evaluation, Provenance, Run, Task
from .batches import SlotQuestions, Tensors, TurnExamples
from .card_example import example
from .decode import best_spans, read_changes
from .frames import by_text, by_turn, read_frames
from .labels import ACTIVE, read_labels
from .modeling import ENCODER_INPUTS, SgdBaselineConfig, SgdBaselineModel
from .schema_embeddings import ElementTable, default_cache, embeddings
from .states import Change, accumulate
from .turns import TokenizedTurns

# With this, AutoModel uses the project's classes instead of the copied code beside the weights.
AutoConfig.register(SgdBaselineConfig.model_type, SgdBaselineConfig, exist_ok=True)
AutoModel.register(SgdBaselineConfig, SgdBaselineModel, exist_ok=True)
Row = dict[str, Any]


class SgdSettings(EpochSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of the SGD baseline have besides the common ones.

    The examples of a batch are user turns.

    Attributes:
        max_turn: Maximum number of tokens of the system's and the user's utterance together.
        dropout: Probability of dropout on the outputs of the turn encoder, in [0, 1].
        prediction_turns: Maximum number of turns in a batch when dev is predicted.
    """

    max_turn: Annotated[int, msgspec.Meta(ge=16)] = 80
    dropout: Fraction = 0.1
    prediction_turns: Count = 128

    def __post_init__(self) -> None:
        if self.static_shapes:
            raise ValueError("static_shapes: services differ in size, expected false")


class SgdOptions(BatchOptions, frozen=True, kw_only=True):
    """The options of prediction with the SGD baseline; batches and chunks consist of turns."""

    batch_size: BatchSize = 128
    token_budget: TokenBudget = 8192
    chunk_size: ChunkSize = 256  # a kill on CPUs costs seconds
    cache: Annotated[
        str | None,
        msgspec.Meta(description="folder for schema embeddings; default: in the Hugging Face home"),
    ] = None


class SgdProvenance(Provenance, frozen=True, kw_only=True):
    """Provenance of a model, stored in its ``config.json`` under ``sgdx``.

    Attributes:
        max_turn: Maximum number of tokens of a turn.
    """

    max_turn: int


@dataclass(frozen=True)
class SgdTracker(
    TrainedModel[SgdBaselineModel, SgdProvenance],
    Tracker,
    TrainableSystem[SgdOptions, SgdSettings],
):
    """Predicts the changes that turns make to states, and adds them up.

    Attributes:
        options: Options of prediction.
        accelerator: The processes and the device.
    """

    NAME: ClassVar[str] = "sgd_baseline"
    READS: ClassVar[tuple[str, ...]] = ("history", "utterance", "schema")
    OPTIONS: ClassVar[type[SgdOptions]] = SgdOptions
    SETTINGS: ClassVar[type[Settings]] = SgdSettings

    options: SgdOptions
    accelerator: Accelerator

    @classmethod
    def load(cls, model: str, options: SgdOptions, accelerator: Accelerator) -> Self:
        """Load a trained model from a folder or the Hub."""
        loaded, tokenizer, provenance = load_trained(
            model, SgdBaselineModel, SgdProvenance, accelerator.device
        )
        loaded.schema_encoder.requires_grad_(False)  # loading makes it trainable
        return cls(loaded, tokenizer, provenance, options, accelerator)

    def describe(self) -> Row:
        """The model's digest and provenance, what it reads, and what it predicts."""
        return {
            **super().describe(),
            "tracks": ("active_intent", "requested_slots", "slot_values"),
            "reads": "the system's last utterance and the user's, and no dialogue act",
        }

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Predict all variants together; each distinct turn is encoded once."""
        examples = self.read_inputs(rows)
        predicted = self.track(self.model, examples, chunks)
        counts = {
            "frames": len(predicted),
            "turns": len(examples.groups),
            "cut": examples.turns.cut,
        }
        return Predictions(predicted, counts)

    def read_inputs(self, rows: Dataset) -> TurnExamples:
        """Read frame rows for prediction: each distinct turn is one example."""
        frames = read_frames(rows)
        turns = TokenizedTurns(frames.texts, self.tokenizer, self.provenance.max_turn)
        table = ElementTable(frames.schemas)
        return TurnExamples(frames, by_text(frames), turns, table, self._embeddings(table))

    def read_examples(self, rows: Dataset) -> TurnExamples:
        """Read frame rows for training: each turn of a dialogue under a variant is an example."""
        frames = read_frames(rows)
        turns = TokenizedTurns(frames.texts, self.tokenizer, self.provenance.max_turn)
        table = ElementTable(frames.schemas)
        labels = read_labels(rows, frames, table, turns)
        return TurnExamples(frames, by_turn(frames), turns, table, self._embeddings(table), labels)

    def _embeddings(self, table: ElementTable) -> torch.Tensor:
        """The embeddings of a table's sentence pairs; the first process fills the cache."""
        cache = Path(self.options.cache) if self.options.cache else default_cache()
        with self.accelerator.main_process_first():
            return embeddings(table, self.model, self.tokenizer, cache)

    def track(self, model: SgdBaselineModel, examples: TurnExamples, chunks: Path) -> list[Row]:
        """Predict the states of examples.

        Args:
            model: The model, in evaluation mode, on the accelerator's device.
            examples: TurnExamples that ``read_inputs`` returned.
            chunks: Folder for partial results, from which a killed run can resume.

        Returns:
            The prediction row of each frame, the same in every process.
        """
        frames, lengths = examples.frames, examples.lengths
        inputs = (frames.ids, frames.variants, frames.texts, frames.schemas, lengths.tolist())
        results: list[Any] = predict_in_chunks(
            self.accelerator,
            lengths,
            self.options,
            lambda batch: predict_batch(model, examples, batch),
            chunks / fingerprint(weights_digest(model), self.options, *inputs),
        )
        changes: dict[int, Change] = {}
        for group, of_group in zip(examples.groups, results):
            changes |= zip(group.tolist(), msgspec.convert(of_group, list[Change]))
        in_order = [changes[index] for index in range(len(frames))]
        return list(prediction_rows(examples, in_order))

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Select whole dialogues, as a state is the sum of the changes in a dialogue."""
        return whole_dialogues(rows, count)

    @classmethod
    def task(cls, run: Run[SgdSettings], name: str) -> Task:
        """Build the task of fine-tuning the model."""
        tracker = cls._initial(run)
        examples = tracker.read_examples(run.rows)
        inputs = tracker.read_inputs(input_columns(run.dev, cls.READS))  # once for all evaluations

        def collate(indices: Ints) -> Tensors:
            return examples.training_batch(indices.tolist())

        def evaluate(model: Any) -> Evaluation:
            return Evaluation(score_dev(run, lambda chunks: tracker.track(model, inputs, chunks)))

        counts = examples.labels.counts if examples.labels is not None else {}
        facts = {"turns": len(examples.groups), "cut": examples.turns.cut, "labels": counts}
        settings = with_steps(run.settings, examples.lengths, run.accelerator.num_processes)
        return Task(
            tracker.model, settings, examples.lengths, collate, evaluate, tracker.save, facts
        )

    @classmethod
    def _initial(cls, run: Run[SgdSettings]) -> Self:
        """The tracker that training starts from: the last checkpoint, or the recipe's encoder."""
        settings, accelerator = run.settings, run.accelerator
        options = SgdOptions(batch_size=settings.prediction_turns)
        if checkpoint := last_checkpoint(run, ""):
            return cls.load(str(checkpoint), options, accelerator)
        encoder, tokenizer = pretrained_encoder(run, hidden=128)
        provenance = run.provenance.extended(SgdProvenance, max_turn=settings.max_turn)
        model = new_model(encoder, provenance, settings.dropout).to(accelerator.device)
        return cls(model, tokenizer, provenance, options, accelerator)

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """Python code that predicts for one turn and imports only torch and transformers."""
        return example(repository)


def new_model(
    encoder: PreTrainedModel, provenance: SgdProvenance, dropout: float = 0.1
) -> SgdBaselineModel:
    """Create a model of a trainable and a frozen copy of an encoder, and random heads.

    Args:
        encoder: The pretrained encoder.
        provenance: Provenance of the model, whose ``seed`` determines the heads.
        dropout: Probability of dropout on the encoder's outputs, in [0, 1].

    Raises:
        SgdxError: The encoder cannot read turns of ``provenance.max_turn`` tokens.
    """
    max_turn = provenance.max_turn
    longest = getattr(encoder.config, "max_position_embeddings", max_turn)
    if max_turn > longest:
        raise SgdxError(f"max_turn: is {max_turn}, the encoder reads {longest} tokens")
    torch.manual_seed(provenance.seed)
    model = SgdBaselineModel(SgdBaselineConfig(encoder=encoder.config, dropout=dropout))
    for head in model.heads.values():
        head.reset()  # type: ignore[operator]
    for copy in (model.encoder, model.schema_encoder):
        copy.load_state_dict(encoder.state_dict())
    return model


@torch.inference_mode()
def predict_batch(
    model: SgdBaselineModel, examples: TurnExamples, indices: Ints
) -> list[list[Change]]:
    """Predict the changes that the frames of some examples make.

    Args:
        model: The model, in evaluation mode.
        examples: All examples.
        indices: Indices of the examples of this batch.

    Returns:
        For each example the changes of its frames.
    """
    cpu_batch, questions = examples.batch(indices.tolist())
    batch = {name: tensor.to(model.device) for name, tensor in cpu_batch.items()}
    pooled, tokens = model.encode(**{n: batch[n] for n in ENCODER_INPUTS if n in batch})
    logits = {name: tensor.float().cpu() for name, tensor in model.run_heads(pooled, batch).items()}
    spans = _spans(model, examples, indices, tokens, batch, logits, questions)
    changes = iter(read_changes(examples, questions, logits, spans))
    return [[next(changes) for _ in examples.groups[index]] for index in indices.tolist()]


def _spans(
    model: SgdBaselineModel,
    examples: TurnExamples,
    indices: Ints,
    tokens: torch.Tensor,
    batch: Tensors,
    logits: Tensors,
    questions: SlotQuestions,
) -> list[tuple[int, int, int]]:
    """The best spans of the free-form slots that are active: slot, first token, last token."""
    active = (logits["free_status"].argmax(-1) == ACTIVE).nonzero()[:, 0]
    with_spans = batch | {"span": active.to(tokens.device)}
    span_logits = model.spans(tokens, batch["attention_mask"], with_spans)
    sides = examples.turns.batch_sides(examples.texts[indices].tolist(), tokens.shape[1])
    turn = batch["turn"].cpu()[torch.from_numpy(questions.free_frame)[active]]
    start, end = (span_logits[name].float().cpu() for name in ("start", "end"))
    first, last = best_spans(start, end, sides[turn])
    return list(zip(active.tolist(), first.tolist(), last.tolist()))


def prediction_rows(examples: TurnExamples, changes: list[Change]) -> Iterator[Row]:
    """The prediction row of each frame, whose slot values are the sum of the changes so far."""
    frames = examples.frames
    groups = map(frames.group, range(len(frames)))
    for index, values in enumerate(accumulate(groups, changes)):
        frame = {"frame_id": frames.ids[index], "variant": frames.variants[index]}
        change = changes[index]
        in_lists = {slot: [value] for slot, value in values.items()}
        yield prediction_row(frame, change.active_intent, sorted(change.requested_slots), in_lists)
