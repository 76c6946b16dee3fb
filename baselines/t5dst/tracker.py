"""Loading and saving a tracker: any encoder-decoder checkpoint, and what was said to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from sgdx_dataset import SgdxError

from ..data import TrainedOn
from .formats import Format, get_format
from .inputs import Limits


class About(TrainedOn, frozen=True, kw_only=True):
    """How a model was trained; it stands in its ``config.json`` under ``sgdx``."""

    format: str
    max_input: int
    max_target: int


@dataclass(frozen=True)
class Tracker:
    """A model with its tokenizer, and how to ask it."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    about: About

    @property
    def prompt(self) -> Format:
        """Its prompt format."""
        return get_format(self.about.format)

    @property
    def limits(self) -> Limits:
        """The most tokens that it reads and writes."""
        return Limits(self.about.max_input, self.about.max_target)


def load_model(
    name: str, dtype: torch.dtype = torch.float32
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """An encoder-decoder by name or folder; its weights are safetensors, never a pickle.

    Raises:
        SgdxError: There is none, it is no encoder-decoder, or its tokenizer cannot pad or end.
    """
    try:
        config = AutoConfig.from_pretrained(name)
        if not config.is_encoder_decoder:
            raise SgdxError(f"{name}: is a {config.model_type} model, expected an encoder-decoder")
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModelForSeq2SeqLM.from_pretrained(name, dtype=dtype, use_safetensors=True)
    except SgdxError:
        raise
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(f"{name}: model cannot be loaded: {reason}") from None
    for token in ("pad_token", "eos_token"):
        if getattr(tokenizer, token) is None:
            raise SgdxError(f"{name}: the tokenizer has no {token}, expected one")
    return model, tokenizer


def load_tracker(
    name: str, about: About | None = None, dtype: torch.dtype = torch.float32
) -> Tracker:
    """A trained tracker; ``about`` is for a model that does not say itself how to be asked.

    Raises:
        SgdxError: As ``load_model``, or nothing says how to ask it.
    """
    model, tokenizer = load_model(name, dtype)
    said: Any = getattr(model.config, "sgdx", None)
    try:
        about = msgspec.convert(said, About) if said is not None else about
    except msgspec.ValidationError as error:
        raise SgdxError(f"{name}: config.json: sgdx: {error}") from None
    if about is None:
        raise SgdxError(
            f"{name}: config.json has no 'sgdx', expected a model of baselines.t5dst.train; "
            "for another give --format"
        )
    get_format(about.format)
    return Tracker(model.eval(), tokenizer, about)


def greedy_settings(model: PreTrainedModel, about: About) -> GenerationConfig:
    """Settings under which ``model.generate`` does what ``greedy`` does, whatever it came with."""
    kept = ("bos_token_id", "decoder_start_token_id", "eos_token_id", "pad_token_id")
    given = {name: getattr(model.generation_config, name, None) for name in kept}
    return GenerationConfig(**given, max_new_tokens=about.max_target, do_sample=False, num_beams=1)


def save_tracker(tracker: Tracker, folder: Path, weights: dict[str, torch.Tensor]) -> None:
    """Write what ``AutoModelForSeq2SeqLM`` and ``AutoTokenizer`` load."""
    tracker.model.config.sgdx = msgspec.to_builtins(tracker.about)
    tracker.model.generation_config = greedy_settings(tracker.model, tracker.about)
    tracker.model.save_pretrained(folder, state_dict=weights)
    tracker.tokenizer.save_pretrained(folder)
