"""Loading, making and saving a tracker: the model, its tokenizer, and how it was trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch
from transformers import AutoConfig, AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset import SgdxError

from ..data import TrainedOn
from ..encoder import load_encoder, load_tokenizer
from .configuration import SgdBaselineConfig
from .modeling import SgdBaselineModel

# Where the project is at hand, AutoModel takes its code and not what lies beside the weights.
AutoConfig.register(SgdBaselineConfig.model_type, SgdBaselineConfig, exist_ok=True)
AutoModel.register(SgdBaselineConfig, SgdBaselineModel, exist_ok=True)


class About(TrainedOn, frozen=True, kw_only=True):
    """How a model was trained; it stands in its ``config.json`` under ``sgdx``."""

    max_turn: int  # tokens


@dataclass(frozen=True)
class Tracker:
    """A model with its tokenizer, and how to ask it."""

    model: SgdBaselineModel
    tokenizer: PreTrainedTokenizerBase
    about: About


def new_tracker(
    encoder: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, about: About
) -> Tracker:
    """A tracker to train: the encoder twice, once to stay as it is, and heads of the seed's."""
    longest = getattr(encoder.config, "max_position_embeddings", about.max_turn)
    if about.max_turn > longest:
        raise SgdxError(f"max_turn: is {about.max_turn}, the encoder reads {longest} tokens")
    torch.manual_seed(about.seed)
    model = SgdBaselineModel(SgdBaselineConfig(encoder=encoder.config))
    for head in model.heads.values():
        head.reset()  # type: ignore[operator]
    for own in (model.encoder, model.schema_encoder):
        own.load_state_dict(encoder.state_dict())
    return Tracker(model, tokenizer, about)


def make_tracker(name: str, about: About) -> Tracker:
    """``new_tracker`` of an encoder by name or folder.

    Raises:
        SgdxError: As ``load_encoder``, or the encoder is too small for ``about``.
    """
    return new_tracker(*load_encoder(name), about)


def load_tracker(name: str) -> Tracker:
    """A trained tracker by name or folder.

    Raises:
        SgdxError: There is none, or it is no model of ``baselines.sgd_baseline.train``.
    """
    try:
        config = AutoConfig.from_pretrained(name)
        kind = config.model_type
        if not isinstance(config, SgdBaselineConfig):
            raise SgdxError(f"{name}: is a {kind} model, expected one of sgd_baseline.train")
        model = SgdBaselineModel.from_pretrained(name, use_safetensors=True)
        about = msgspec.convert(getattr(config, "sgdx", None), About)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{name}: config.json: sgdx: {error}") from None
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(f"{name}: model cannot be loaded: {reason}") from None
    model.schema_encoder.requires_grad_(False)  # loading forgets it
    return Tracker(model.train(False), load_tokenizer(name), about)


def save_tracker(tracker: Tracker, folder: Path, weights: dict[str, Any]) -> None:
    """Write what ``AutoModel`` (with ``trust_remote_code``) and ``AutoTokenizer`` load."""
    tracker.model.config.sgdx = msgspec.to_builtins(tracker.about)
    tracker.model.save_pretrained(folder, state_dict=weights)
    tracker.tokenizer.save_pretrained(folder)
