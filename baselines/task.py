"""What the loop asks of a task: examples, batches, and an evaluation on dev."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
from datasets import Dataset

from .batching import Ints
from .settings import Also, AnySettings, Augment, Settings

if TYPE_CHECKING:
    import torch
    from accelerate import Accelerator
    from transformers import PreTrainedModel

AnyProvenance = TypeVar("AnyProvenance", bound="Provenance")


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Which schemas a model was trained on, and with which seed.

    It is stored as ``seen`` in ``run.json`` and as ``sgdx`` in the model's ``config.json``, and
    every file that is made with the model repeats it. All but the seed are also of the model that
    the training started from.
    """

    tracker: str = ""  # name of the system in ``baselines.system.SYSTEMS``
    train: tuple[str, ...] = ("original",)  # schema variants
    augment: Augment | None = None  # None if only the original schemas were used
    also: Also | None = None  # None if only one corpus was used
    also_before: tuple[Also, ...] = ()  # others, of the models that it started from
    schemas: str = ""  # SHA-256 of the augmentation's schemas; empty without one
    overlaps: int = 0  # number of texts trained on that v1..v5 contain and the original does not
    oracle: bool = False  # whether it was trained on schemas that it is evaluated on
    seed: int = 0

    def continued_from(self, start: Provenance) -> Provenance:
        """The provenance of a model that starts from another, which has seen words already."""
        own, before = (self.also, *self.also_before), (start.also, *start.also_before)
        corpora = [corpus for corpus in dict.fromkeys((*own, *before)) if corpus is not None]
        return msgspec.structs.replace(
            self,
            train=tuple(dict.fromkeys((*start.train, *self.train))),
            augment=self.augment or start.augment,
            also=corpora[0] if corpora else None,
            also_before=tuple(corpora[1:]),
            schemas=self.schemas or start.schemas,
            overlaps=max(self.overlaps, start.overlaps),
            oracle=self.oracle or start.oracle,
        )

    def extended(self, provenance_class: type[AnyProvenance], **facts: Any) -> AnyProvenance:
        """The provenance of a system's model, which has facts of its own besides."""
        return provenance_class(**msgspec.structs.asdict(self), **facts)


@dataclass(frozen=True)
class Run(Generic[AnySettings]):
    """A training run, from which a system builds its training tasks."""

    accelerator: Accelerator
    settings: AnySettings  # the recipe, of the system's type ``SETTINGS``
    provenance: Provenance  # of the models that are trained
    # Of the train split: the columns that the system reads and the gold state, or for a generator
    # the gold utterance.
    rows: Dataset
    data: str  # a digest of what these rows are
    dev: Dataset  # rows of the dev split to evaluate on, with all columns
    output: Path  # the run folder
    resume: bool  # whether to continue from the checkpoints in the run folder


class Evaluation(NamedTuple):
    """The evaluation of a model on dev."""

    score: float  # in [0, 1], where higher is better
    # Values that were chosen on dev, by their names in the model's configuration. The training loop
    # stores them there, so that they are saved with the model.
    config: Mapping[str, float] = {}


@dataclass(frozen=True)
class Task:
    """What a system provides for the training of one model."""

    model: PreTrainedModel  # called with a batch it returns an output that has a ``loss``
    settings: Settings  # the recipe, with the number of steps of this task
    lengths: Ints  # number of tokens of each training example [examples]
    # Makes a batch on the CPU from an array of indices of examples.
    collate: Callable[[Ints], dict[str, torch.Tensor]]
    # Evaluates a model on dev, without changing it. All processes call it together.
    evaluate: Callable[[PreTrainedModel], Evaluation]
    # Writes a model with the given weights into a folder.
    save: Callable[[Path, PreTrainedModel, dict[str, torch.Tensor]], None]
    facts: dict[str, Any] = field(default_factory=dict)  # further ones for ``run.json``
    measure: str = "dev_joint_goal_accuracy"  # name of the score in the log
    # Fills a batch up to a number of rows and of tokens, which XLA needs to compile few programs.
    fill: Callable[[dict[str, torch.Tensor], int, int], dict[str, torch.Tensor]] = (
        lambda batch, rows, width: batch
    )


Row = dict[str, Any]


def joint_goal_accuracy(rows: Dataset, predictions: Sequence[Row]) -> float:
    """Joint goal accuracy, in [0, 1], of the predictions for one schema variant."""
    import numpy as np

    from sgdx_metric import score_frames
    from sgdx_metric.rows import PREDICTION, REFERENCE

    references = rows.select_columns(REFERENCE.names).with_format("arrow")[:]
    predicted = pa.Table.from_pylist(list(predictions), schema=PREDICTION)
    variant = str(rows[0]["variant"])
    scores = score_frames(references, predicted, variant).scores["joint_goal_accuracy"]
    return float(np.nanmean(scores))


def predict_dev(run: Run[Any], predict: Callable[[Path], Sequence[Row]]) -> Sequence[Row]:
    """Predict dev rows with the current model, never reusing results of an earlier one."""
    folder = run.output / "dev"
    if run.accelerator.is_main_process:
        shutil.rmtree(folder, ignore_errors=True)
    run.accelerator.wait_for_everyone()
    predicted = predict(folder)
    if run.accelerator.is_main_process:
        shutil.rmtree(folder)
    return predicted


def score_dev(run: Run[Any], predict: Callable[[Path], Sequence[Row]]) -> float:
    """Predict the dev frames of a run and score the predictions by joint goal accuracy."""
    return joint_goal_accuracy(run.dev, predict_dev(run, predict))
