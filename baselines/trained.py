"""What trained systems share: loading, saving, starting, and predicting in batches and chunks.

A system adds its model, its training batches and how it decodes. Its ``predict`` goes through
``predict_in_chunks``, or through ``predict_dialogues`` where a state depends on the state after the
turn before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import msgspec
import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import write_bytes
from sgdx_dataset.io.progress import DELAY, advance, moving

from . import xla
from .batching import Ints, by_length, cut, epoch, share
from .checkpoint import (
    check_digest,
    check_packed,
    load_errors_as_sgdx,
    load_strict,
    weights_digest,
    write_folder,
)
from .data.dialogues import (
    Dialogue,
    State,
    chunks_side_by_side,
    dialogue_bounds,
    prediction_rows,
    read_dialogues,
)
from .data.rows import whole_dialogues
from .encoders import corpus_texts, load_encoder, load_tokenizer, tiny_encoder
from .loop import last_checkpoint
from .onepass.modeling import fuse_attention
from .processes import TINY, Shown
from .settings import AnySettings, BatchOptions, EpochSettings
from .system import Row, Tracker, TrainableSystem, read_json, read_provenance
from .task import AnyProvenance, Run

Weights = dict[str, torch.Tensor]
AnyModel = TypeVar("AnyModel", bound=nn.Module)
AnyEncoder = TypeVar("AnyEncoder", bound=PreTrainedModel)
AnyOptions = TypeVar("AnyOptions", bound=BatchOptions)
_EpochSettings = TypeVar("_EpochSettings", bound=EpochSettings)
_Result = TypeVar("_Result")
_SECONDS = 30.0  # from a line of progress to the next


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
        """Write a model that ``AutoModel`` and ``AutoTokenizer`` can load.

        Its provenance becomes ``sgdx`` in ``config.json``.
        """
        model.config.name_or_path = ""  # where it was loaded from is private
        model.config.sgdx = msgspec.to_builtins(self.provenance)
        # A repository of git takes no files that are much larger; the Hub takes all others whole.
        packed = getattr(model.config, "quantization_config", None)
        size = "48MB" if packed else "50GB"
        model.save_pretrained(folder, state_dict=weights, max_shard_size=size)
        self.tokenizer.save_pretrained(folder)


def load_trained(
    name: str,
    model_class: type[AnyEncoder],
    provenance_class: type[AnyProvenance],
    device: torch.device,
) -> tuple[AnyEncoder, PreTrainedTokenizerBase, AnyProvenance]:
    """Load a model that ``TrainedModel.save`` wrote, in evaluation mode."""
    config_class: Any = model_class.config_class
    config, expected = read_json(name, "config.json") or {}, config_class.model_type
    if (found := config.get("model_type")) != expected:
        raise SgdxError(f"{name}: is a {found} model, expected one of {expected}")
    provenance = read_provenance(name, provenance_class)
    with load_errors_as_sgdx(name, "model"):
        check_packed(name)
        model: Any = load_strict(model_class.from_pretrained, name)
    check_digest(name, model)
    fuse_attention(model)
    return xla.move(model.eval(), device), load_tokenizer(name, model.config), provenance


def pretrained_name(run: Run[Any], write_tiny: Callable[[Path], None]) -> str:
    """Name or folder of the recipe's pretrained model."""
    # The recipe's model ``tiny`` is made on the first call, in the folder ``initial`` of the run.
    if run.settings.model != TINY:
        return str(run.settings.model)
    folder = run.output / "initial"
    if run.accelerator.is_main_process and not folder.exists():
        write_folder(folder, write_tiny)
    run.accelerator.wait_for_everyone()
    return str(folder)


def pretrained_encoder(
    run: Run[Any], extra_texts: Sequence[str] = (), hidden: int = 64
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load the recipe's pretrained encoder and its tokenizer."""

    def write_tiny(folder: Path) -> None:
        rows = run.rows.select_columns(["history", "utterance", "schema"])
        texts = [*corpus_texts(rows), *extra_texts]
        for component in tiny_encoder(texts, hidden=hidden, seed=run.settings.seed):
            component.save_pretrained(folder)

    return load_encoder(pretrained_name(run, write_tiny), run.settings.attention_dropout)


@dataclass(frozen=True)
class EncoderTracker(
    TrainedModel[AnyEncoder, AnyProvenance],
    Tracker,
    TrainableSystem[AnyOptions, AnySettings],
):
    """A tracker of one BERT-like encoder with heads; it adds its batches and its decoding."""

    MODEL: ClassVar[type[Any]]
    PROVENANCE: ClassVar[type[Any]]

    options: AnyOptions  # of prediction
    accelerator: Accelerator  # the processes and the device

    @classmethod
    def load(cls, model: str, options: AnyOptions, accelerator: Accelerator) -> Self:
        """Load a trained model from a folder or the Hub."""
        loaded = load_trained(model, cls.MODEL, cls.PROVENANCE, accelerator.device)
        return cls(*loaded, options, accelerator)

    @classmethod
    def initial(
        cls,
        run: Run[Any],
        options: AnyOptions,
        provenance: AnyProvenance,
        new_model: Callable[[PreTrainedModel, PreTrainedTokenizerBase], AnyEncoder],
        **tiny: Any,
    ) -> Self:
        """The tracker that training starts from: a checkpoint, the recipe's tracker or encoder."""
        # ``tiny`` holds what ``pretrained_encoder`` needs to make a tiny encoder.
        if checkpoint := last_checkpoint(run, ""):
            return cls.load(str(checkpoint), options, run.accelerator)
        config_class: Any = cls.MODEL.config_class
        settings: EpochSettings = run.settings
        config = {} if settings.model == TINY else read_json(settings.model, "config.json") or {}
        if config.get("model_type") == config_class.model_type:  # a model of this tracker
            start = cls.load(settings.model, options, run.accelerator)
            others = [cls.load(name, options, run.accelerator) for name in settings.average]
            own = dict(start.model.named_parameters())
            for name, other in zip(settings.average, others):
                theirs = dict(other.model.named_parameters())
                shapes = [{n: w.shape for n, w in each.items()} for each in (own, theirs)]
                if shapes[0] != shapes[1]:
                    raise SgdxError(f"average: {name}: has other sizes than {settings.model}")
                if other.tokenizer.get_vocab() != start.tokenizer.get_vocab():
                    raise SgdxError(f"average: {name}: has other words than {settings.model}")
            models = [own, *(dict(other.model.named_parameters()) for other in others)]
            with torch.no_grad():  # the first becomes the mean
                for name, weight in own.items():
                    weight.copy_(torch.stack([model[name] for model in models]).mean(0))
            return replace(start, provenance=provenance)
        if settings.average:
            raise SgdxError(
                f"average: the recipe's model is {settings.model}, expected a trained {cls.NAME}"
            )
        encoder, tokenizer = pretrained_encoder(run, **tiny)
        model: Any = new_model(encoder, tokenizer)
        on_device: AnyEncoder = xla.move(model, run.accelerator.device)
        return cls(on_device, tokenizer, provenance, options, run.accelerator)

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Select whole dialogues, as a state is the sum of the changes in a dialogue."""
        return whole_dialogues(rows, count)


def with_steps(settings: _EpochSettings, lengths: Ints, processes: int) -> _EpochSettings:
    """The recipe with the steps that its epochs of examples take, from lengths [examples]."""
    # The last step is full: it may begin the next epoch.
    size = share(settings.batch_size, settings.accumulation, processes)
    batches = sum(
        len(epoch(lengths, size, settings.token_budget, settings.seed, number))
        for number in range(settings.epochs)
    )
    of_epochs = -(-batches // (settings.accumulation * processes))
    return msgspec.structs.replace(settings, steps=min(settings.steps or of_epochs, of_epochs))


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
        results: list[_Result] = []
        for batch in cut(chunk, lengths, options.batch_size, options.token_budget):
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


class _Predicting(Shown):
    """Prints a line now and then, too."""

    lines = 0

    def update(self, steps: int) -> None:
        """Move on, and show it."""
        super().update(steps)
        if steps and time.perf_counter() - self.since > DELAY + _SECONDS * self.lines:
            self.lines += 1
            self.line(f"{self.done} of {self.end} {self.unit}, {self.left} left")


def run_chunks(
    accelerator: Accelerator,
    chunks: Sequence[Ints],
    work: Callable[[Ints], list[_Result]],
    folder: Path,
    sizes: Ints,
    unit: str,
) -> list[_Result]:
    """Process all chunks, which the processes take in turn, and collect the results.

    A killed run that is started again processes only the chunks whose files are missing in
    ``folder``. ``sizes`` says of how many units each example is [examples]; ``work`` may
    ``advance`` by them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    numbers = range(accelerator.process_index, len(chunks), accelerator.num_processes)
    missing = [number for number in numbers if not (folder / f"{number:06d}.json").exists()]
    ends = np.cumsum([sizes[chunks[number]].sum() for number in missing]).tolist()
    shown = _Predicting(accelerator, "Predicting", unit, ends[-1] if ends else 0)
    if finished := len(numbers) - len(missing):
        shown.line(f"going on at chunk {finished} of {len(numbers)}")
    with moving(shown), shown.bar:
        for number, end in zip(missing, ends):
            write_bytes(folder / f"{number:06d}.json", msgspec.json.encode(work(chunks[number])))
            shown.update(end - shown.done)
    accelerator.wait_for_everyone()
    results: dict[int, _Result] = {}
    for number, chunk in enumerate(chunks):
        of_chunk = msgspec.json.decode((folder / f"{number:06d}.json").read_bytes())
        results.update(zip(chunk.tolist(), of_chunk, strict=True))
    accelerator.wait_for_everyone()
    return [results[index] for index in range(len(results))]
