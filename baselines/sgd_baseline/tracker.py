"""The tracker SGD baseline, which encodes each distinct turn once, independently of the schemas.

A frozen encoder embeds the schema elements. One pass of the turn encoder then serves all services
of a turn, under all schema variants. Source: Rastogi et al. 2020 (arXiv 1909.05855).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
import torch
from accelerate import Accelerator
from datasets import Dataset
from transformers import PreTrainedModel

from sgdx_dataset.tracker_inputs import input_columns

from ..encoders.tracker import EncoderTracker
from ..system import Predictions, Row
from ..trained import (
    fingerprint,
    predict_in_chunks,
    with_steps,
)
from ..training.batching import Ints
from ..training.checkpoint import weights_digest
from ..training.settings import Settings
from ..training.task import Evaluation, Run, Task, score_dev
from .batches import Tensors, TurnExamples
from .card_example import example
from .decode import predict_batch, prediction_rows
from .frames import Change, by_text, by_turn, read_frames
from .labels import read_labels
from .model import SgdProvenance, new_model
from .modeling import SgdBaselineModel
from .schema_embeddings import ElementTable, default_cache, embeddings
from .settings import SgdOptions, SgdSettings
from .turns import TokenizedTurns


class SgdTracker(EncoderTracker[SgdBaselineModel, SgdProvenance, SgdOptions, SgdSettings]):
    """Predicts the changes that turns make to states, and adds them up."""

    NAME: ClassVar[str] = "sgd_baseline"
    READS: ClassVar[tuple[str, ...]] = ("history", "utterance", "schema")
    OPTIONS: ClassVar[type[SgdOptions]] = SgdOptions
    SETTINGS: ClassVar[type[Settings]] = SgdSettings
    MODEL: ClassVar[type[SgdBaselineModel]] = SgdBaselineModel
    PROVENANCE: ClassVar[type[SgdProvenance]] = SgdProvenance

    @classmethod
    def load(cls, model: str, options: SgdOptions, accelerator: Accelerator) -> Self:
        """Load a trained model from a folder or the Hub."""
        tracker = super().load(model, options, accelerator)
        tracker.model.schema_encoder.requires_grad_(False)  # loading makes it trainable
        return tracker

    def describe(self) -> Row:
        """The model's digest and provenance, what it reads, and what it predicts."""
        return {
            **super().describe(),
            "tracks": ("active_intent", "requested_slots", "slot_values"),
            "reads": "the system's last utterance and the user's, and no dialogue act",
        }

    def predict(self, rows: Dataset, chunks: Path) -> Predictions:
        """Predict all variants together; each distinct turn is encoded once."""
        examples = self.read(rows)
        predicted = self.track(self.model, examples, chunks)
        counts = {
            "frames": len(predicted),
            "turns": len(examples.groups),
            "cut": examples.turns.cut,
        }
        return Predictions(predicted, counts)

    def read(self, rows: Dataset, *, labelled: bool = False) -> TurnExamples:
        """Read frame rows: distinct turns for prediction, those of each dialogue with labels."""
        frames = read_frames(rows)
        turns = TokenizedTurns(frames.texts, self.tokenizer, self.provenance.max_turn)
        table = ElementTable(frames.schemas)
        labels = read_labels(rows, frames, table, turns) if labelled else None
        groups = by_turn(frames) if labelled else by_text(frames)
        return TurnExamples(frames, groups, turns, table, self._embeddings(table), labels)

    def _embeddings(self, table: ElementTable) -> torch.Tensor:
        """The embeddings of a table's sentence pairs; the first process fills the cache."""
        cache = Path(self.options.cache) if self.options.cache else default_cache()
        with self.accelerator.main_process_first():
            return embeddings(table, self.model, self.tokenizer, cache)

    def track(self, model: SgdBaselineModel, examples: TurnExamples, chunks: Path) -> list[Row]:
        """The prediction row of each frame of examples, the same in every process."""
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
    def task(cls, run: Run[SgdSettings], name: str) -> Task:
        """Build the task of fine-tuning the model."""
        settings = run.settings
        options = SgdOptions(batch_size=settings.prediction_turns)
        provenance = run.provenance.extended(SgdProvenance, max_turn=settings.max_turn)

        def new(encoder: PreTrainedModel, _: object) -> SgdBaselineModel:
            return new_model(encoder, provenance, settings.dropout)

        tracker = cls.initial(run, options, provenance, new, hidden=128)
        examples = tracker.read(run.rows, labelled=True)
        inputs = tracker.read(input_columns(run.dev, cls.READS))  # once for all evaluations

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

    @staticmethod
    def example(repository: str, settings: Row) -> str:
        """Python code that predicts for one turn and imports only torch and transformers."""
        return example(repository)
