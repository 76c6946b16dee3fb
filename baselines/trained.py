"""What trained trackers and generators share: loading, saving, starting, and predicting in batches.

A system adds its model, its training batches and how it decodes. Its ``load`` calls
``load_trained``; its ``task`` starts from ``last_checkpoint`` or ``pretrained_encoder``; its
``predict`` goes through ``predict_in_chunks``, or through ``predict_dialogues`` where a state
depends on the state after the turn before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset import SgdxError
from sgdx_dataset.io.progress import advance

from .data.dialogues import (
    Dialogue,
    State,
    chunks_side_by_side,
    dialogue_bounds,
    prediction_rows,
    read_dialogues,
)
from .encoders.load import load_encoder, load_tokenizer
from .encoders.tiny import corpus_texts, tiny_encoder
from .system import BatchOptions, Row, read_json, read_provenance
from .training import checkpoint
from .training.batching import Ints, by_length, cut, epoch, share
from .training.checkpoint import load_errors_as_sgdx, load_strict, weights_digest
from .training.chunks import run_chunks
from .training.settings import EncoderSettings, EpochSettings
from .training.task import AnyProvenance, Provenance, Run

Weights = dict[str, torch.Tensor]
AnyModel = TypeVar("AnyModel", bound=nn.Module)
_PreTrained = TypeVar("_PreTrained", bound=PreTrainedModel)
_EpochSettings = TypeVar("_EpochSettings", bound=EpochSettings)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class TrainedModel(Generic[AnyModel, AnyProvenance]):
    """A model and what is stored beside it; a system of one model adds its options."""

    model: AnyModel  # on the accelerator's device
    tokenizer: PreTrainedTokenizerBase
    provenance: AnyProvenance  # what the model was trained on, and the limits of what it reads

    def describe(self) -> Row:
        """The digest of the weights and the provenance, for the header of a prediction file."""
        return {"weights": weights_digest(self.model), **msgspec.to_builtins(self.provenance)}

    def save(self, folder: Path, model: PreTrainedModel, weights: Weights) -> None:
        """Write a model that ``AutoModel`` and ``AutoTokenizer`` can load."""
        save_trained(model, self.tokenizer, self.provenance, folder, weights)


def save_trained(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    provenance: Provenance,
    folder: Path,
    weights: Weights,
) -> None:
    """Write a model with its tokenizer, and its provenance as ``sgdx`` in ``config.json``."""
    model.config.name_or_path = ""  # where it was loaded from is private
    model.config.sgdx = msgspec.to_builtins(provenance)
    model.save_pretrained(folder, state_dict=weights)
    tokenizer.save_pretrained(folder)


def load_trained(
    name: str,
    model_class: type[_PreTrained],
    provenance_class: type[AnyProvenance],
    device: torch.device,
) -> tuple[_PreTrained, PreTrainedTokenizerBase, AnyProvenance]:
    """Load a model that ``save_trained`` wrote, in evaluation mode."""
    config_class: Any = model_class.config_class
    config, expected = read_json(name, "config.json") or {}, config_class.model_type
    if (found := config.get("model_type")) != expected:
        raise SgdxError(f"{name}: is a {found} model, expected one of {expected}")
    provenance = read_provenance(name, provenance_class)
    with load_errors_as_sgdx(name, "model"):
        model: Any = load_strict(model_class.from_pretrained, name)
    return model.eval().to(device), load_tokenizer(name, model.config), provenance


def pretrained_name(run: Run[Any], write_tiny: Callable[[Path], None]) -> str:
    """Name or folder of the recipe's pretrained model."""
    # The recipe's model ``tiny`` is made on the first call, in the folder ``initial`` of the run.
    if run.settings.model != "tiny":
        return str(run.settings.model)
    folder = run.output / "initial"
    if run.accelerator.is_main_process and not folder.exists():
        checkpoint.write_folder(folder, write_tiny)
    run.accelerator.wait_for_everyone()
    return str(folder)


def pretrained_encoder(
    run: Run[Any], extra_texts: Sequence[str] = (), hidden: int = 64
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load the recipe's pretrained encoder and its tokenizer."""
    settings: EncoderSettings = run.settings

    def write_tiny(folder: Path) -> None:
        rows = run.rows.select_columns(["history", "utterance", "schema"])
        texts = [*corpus_texts(rows), *extra_texts]
        for component in tiny_encoder(texts, hidden=hidden, seed=settings.seed):
            component.save_pretrained(folder)

    return load_encoder(pretrained_name(run, write_tiny), settings.attention_dropout)


def with_steps(settings: _EpochSettings, lengths: Ints, processes: int) -> _EpochSettings:
    """The recipe with the steps that its epochs of examples take, from lengths [examples]."""
    # The last step is full: it may begin the next epoch.
    size = share(settings.batch_size, settings.accumulation, processes)
    epochs = (
        epoch(lengths, size, settings.token_budget, settings.seed, number)
        for number in range(settings.epochs)
    )
    of_epochs = -(-sum(map(len, epochs)) // (settings.accumulation * processes))
    steps = min(settings.steps or of_epochs, of_epochs)
    return msgspec.structs.replace(settings, steps=steps)


def fingerprint(weights: str, *settings: object, inputs: Iterable[Ints] = ()) -> str:
    """Name of a folder for partial results: a digest of everything that determines them."""
    digest = hashlib.sha256(repr((weights, *settings)).encode())
    for ids in inputs:
        digest.update(ids.tobytes() + b"|")
    return digest.hexdigest()[:16]


def answer_batches(
    lengths: Ints, options: BatchOptions, answer: Callable[[Ints], Sequence[_Result]]
) -> list[_Result]:
    """Answer inputs in batches of similar length, longest first, from lengths [inputs]."""
    answers: dict[int, _Result] = {}
    for batch in by_length(lengths, options.batch_size, options.token_budget):
        answers.update(zip(batch.tolist(), answer(batch), strict=True))
    return [answers[index] for index in range(len(lengths))]


def predict_in_chunks(
    accelerator: Accelerator,
    lengths: Ints,
    options: BatchOptions,
    predict_batch: Callable[[Ints], list[_Result]],
    folder: Path,
) -> list[_Result]:
    """Predict independent inputs, longest first, saving chunk by chunk, from lengths [inputs]."""
    # The longest come first, so that a lack of memory shows in the first batch.
    order = np.argsort(-lengths, kind="stable")
    size = options.chunk_size
    chunks = [order[start : start + size] for start in range(0, len(order), size)]

    def predict_chunk(chunk: Ints) -> list[_Result]:
        batches = cut(chunk, lengths, options.batch_size, options.token_budget)
        results: list[_Result] = []
        for batch in batches:
            results += predict_batch(batch)
            advance(len(batch))
        return results

    return run_chunks(accelerator, chunks, predict_chunk, folder, np.ones_like(lengths), "inputs")


def predict_dialogues(
    accelerator: Accelerator,
    rows: Dataset,
    options: BatchOptions,
    track: Callable[[Sequence[Dialogue]], Sequence[Sequence[State]]],
    folder: Path,
) -> list[Row]:
    """Predict whole dialogues, saving chunk by chunk."""
    bounds = dialogue_bounds(rows)
    variants = np.array(rows["variant"])[bounds[:-1]]

    def predict_chunk(chunk: Ints) -> list[list[Row]]:
        indices = [np.arange(bounds[index], bounds[index + 1]) for index in chunk]
        dialogues = list(read_dialogues(rows.select(np.concatenate(indices))))
        return [prediction_rows(*pair) for pair in zip(dialogues, track(dialogues), strict=True)]

    chunks = chunks_side_by_side(variants, options.chunk_size)
    predicted = run_chunks(accelerator, chunks, predict_chunk, folder, np.diff(bounds), "frames")
    return [row for dialogue in predicted for row in dialogue]
