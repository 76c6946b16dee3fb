"""The base of trackers that fine-tune one BERT-like encoder: how they are loaded and started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import torch
from accelerate import Accelerator
from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset import SgdxError

from ..data.frames import whole_dialogues
from ..system import BatchOptions, Tracker, TrainableSystem, read_json
from ..trained import TrainedModel, load_trained, pretrained_encoder
from ..training.loop import last_checkpoint
from ..training.settings import AnySettings, EpochSettings
from ..training.task import AnyProvenance, Run

AnyOptions = TypeVar("AnyOptions", bound=BatchOptions)
AnyEncoder = TypeVar("AnyEncoder", bound=PreTrainedModel)


@dataclass(frozen=True)
class EncoderTracker(
    TrainedModel[AnyEncoder, AnyProvenance],
    Tracker,
    TrainableSystem[AnyOptions, AnySettings],
):
    """A tracker of one encoder with heads; it adds its batches and its decoding."""

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
        if settings.model != "tiny":
            config = read_json(settings.model, "config.json") or {}
            if config.get("model_type") == config_class.model_type:  # a model of this tracker
                start = cls.load(settings.model, options, run.accelerator)
                others = [cls.load(name, options, run.accelerator) for name in settings.average]
                take_mean([start.model, *(other.model for other in others)])
                return replace(start, provenance=provenance)
        if settings.average:
            raise SgdxError(
                f"average: the recipe's model is {settings.model}, expected a trained {cls.NAME}"
            )
        encoder, tokenizer = pretrained_encoder(run, **tiny)
        model: Any = new_model(encoder, tokenizer)
        on_device: AnyEncoder = model.to(run.accelerator.device)
        return cls(on_device, tokenizer, provenance, options, run.accelerator)

    @classmethod
    def dev(cls, rows: Dataset, count: int) -> Dataset:
        """Select whole dialogues, as a state is the sum of the changes in a dialogue."""
        return whole_dialogues(rows, count)


@torch.no_grad()
def take_mean(models: Sequence[torch.nn.Module]) -> None:
    """Give the first of several models of the same shape the mean of their weights."""
    for weights in zip(*(model.parameters() for model in models), strict=True):
        weights[0].copy_(torch.stack(weights).mean(0))
