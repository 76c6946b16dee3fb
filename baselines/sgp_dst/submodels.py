"""The four sub-models by name: what each is made of, its settings, how it is loaded and saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import msgspec
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from sgdx_dataset import SgdxError

from ..encoders.load import load_encoder
from ..tracker import TrainedOn
from ..training.settings import Count, Fraction, Settings
from .modeling import CombineModel, CopyModel, IntentModel, SgpConfig
from .prompts import FEATURES
from .sequences import Vocabulary

Part = Literal["intent", "combine", "copy", "cross"]
PARTS: tuple[Part, ...] = get_args(Part)
MODELS: dict[Part, type[IntentModel] | type[CombineModel] | type[CopyModel]] = {
    "intent": IntentModel,
    "combine": CombineModel,
    "copy": CopyModel,
    "cross": CopyModel,
}


class PartSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of one sub-model."""

    epochs: Count
    warmup: Fraction  # of the steps
    max_tokens: Count  # of a sequence; of a turn that does not fit the last are kept
    negatives: float = 0.0  # sampled anew each epoch, for one positive


class PartsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the four sub-models."""

    intent: PartSettings
    combine: PartSettings
    copy: PartSettings
    cross: PartSettings


class SgpSettings(Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a recipe of SGP-DST may set besides. A sub-model's ``epochs`` decide its steps.

    ``evaluate_frames`` counts a sub-model's examples, and of the joined tracker about as many
    frames, in whole dialogues.
    """

    parts: PartsSettings
    steps: Count = 2**31 - 1  # at most, whatever the epochs
    expected: str  # result, and where that is from


class About(TrainedOn, frozen=True, kw_only=True):
    """How a sub-model was trained; it stands in its ``config.json`` under ``sgdx``."""

    part: Part
    max_tokens: int
    model: str


@dataclass(frozen=True)
class SubModel:
    """A sub-model and its tokenizer."""

    model: PreTrainedModel
    vocabulary: Vocabulary
    about: About


def new_part(name: str, about: About, seed: int) -> SubModel:
    """A sub-model over a pretrained encoder; its heads are random, those of a seed the same.

    Raises:
        SgdxError: As ``load_encoder``, or the encoder cannot read that many tokens.
    """
    encoder, tokenizer = load_encoder(name)
    most = getattr(encoder.config, "max_position_embeddings", None) or about.max_tokens
    if most < about.max_tokens:
        raise SgdxError(f"{name}: reads {most} tokens, expected max_tokens: {about.max_tokens}")
    torch.manual_seed(seed)
    config = SgpConfig(encoder=encoder.config.to_dict(), features=FEATURES)
    model = MODELS[about.part](config)
    model.take(encoder)
    return SubModel(model, Vocabulary(tokenizer), about)


def load_part(folder: Path) -> SubModel:
    """A sub-model of ``save_part``. Its class is this project's: no code of the folder is run.

    Raises:
        SgdxError: There is none.
    """
    try:
        about = msgspec.convert(getattr(SgpConfig.from_pretrained(folder), "sgdx", None), About)
        model = MODELS[about.part].from_pretrained(folder, use_safetensors=True)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(f"{folder}: sub-model cannot be loaded: {reason}") from None
    return SubModel(model.train(False), Vocabulary(tokenizer), about)


def save_part(part: SubModel, folder: Path, weights: dict[str, torch.Tensor]) -> None:
    """Write what ``AutoModel`` (with ``trust_remote_code``) and ``AutoTokenizer`` load."""
    part.model.config.sgdx = msgspec.to_builtins(part.about)
    part.model.save_pretrained(folder, state_dict=weights)
    part.vocabulary.tokenizer.save_pretrained(folder)
