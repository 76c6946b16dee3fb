"""The four submodels by name: their classes, their settings, and how they are loaded and saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import msgspec
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from sgdx_dataset import SgdxError

from ..encoders.load import load_encoder
from ..training.checkpoint import load_errors_as_sgdx, load_strict
from ..training.settings import Count, EncoderSettings, Fraction
from ..training.task import Provenance
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
    """Settings of one submodel.

    Attributes:
        epochs: Number of epochs, which determines the number of steps.
        steps: Maximum number of steps, if its epochs would take more; None for no maximum.
        warmup: Fraction of the steps in which the learning rate rises, in [0, 1].
        max_tokens: Maximum number of tokens of a sequence; of a longer turn the last are kept.
        negatives: Number of easy negative examples for each positive one, sampled in every epoch.
        hard: Fraction of the hard negative examples, sampled in every epoch, in [0, 1].
        system: Fraction of the positive examples from system turns, sampled in every epoch, in
            [0, 1]; only ``combine`` has some.
    """

    epochs: Count
    steps: Count | None = None
    warmup: Fraction
    max_tokens: Count
    negatives: float = 0.0
    hard: Fraction = 1.0
    system: Fraction = 1.0


class PartsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the four submodels."""

    intent: PartSettings
    combine: PartSettings
    copy: PartSettings
    cross: PartSettings


class SgpSettings(EncoderSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that recipes of SGP-DST have besides the common ones.

    ``evaluate_frames`` is the number of examples that a submodel is evaluated on, and the
    approximate number of frames that the whole tracker is evaluated on, in whole dialogues.

    Attributes:
        parts: Settings of the four submodels.
        steps: Maximum number of steps of each submodel, as in its own settings.
        expected: The expected result and its source, for the reader of the recipe.
    """

    parts: PartsSettings
    steps: Count | None = None  # type: ignore[assignment]  # no maximum but the epochs'
    expected: str


class About(Provenance, frozen=True, kw_only=True):
    """Provenance of a submodel, stored in its ``config.json`` under ``sgdx``.

    Attributes:
        part: Name of the submodel.
        max_tokens: Maximum number of tokens of a sequence.
        model: Name or folder of the pretrained encoder.
    """

    part: Part
    max_tokens: int
    model: str


@dataclass(frozen=True)
class SubModel:
    """A submodel with its tokenizer and its provenance."""

    model: PreTrainedModel
    vocabulary: Vocabulary
    about: About


def new_part(
    name: str, about: About, seed: int, attention_dropout: float | None = None
) -> SubModel:
    """Create a submodel of a pretrained encoder and random heads.

    Args:
        name: Name of the encoder on the Hub, or its folder.
        about: Provenance of the submodel.
        seed: Random seed of the heads.
        attention_dropout: Dropout of attention weights, in [0, 1]; None for the encoder's own.

    Raises:
        SgdxError: The encoder cannot be loaded, or cannot read ``about.max_tokens`` tokens.
    """
    encoder, tokenizer = load_encoder(name, attention_dropout)
    positions = getattr(encoder.config, "max_position_embeddings", None) or about.max_tokens
    if positions < about.max_tokens:
        raise SgdxError(
            f"{name}: reads {positions} tokens, expected max_tokens: {about.max_tokens}"
        )
    torch.manual_seed(seed)
    config = SgpConfig(encoder=encoder.config.to_dict(), features=FEATURES)
    model = MODELS[about.part](config)
    model.use_encoder(encoder)
    return SubModel(model, Vocabulary(tokenizer), about)


def load_part(folder: Path) -> SubModel:
    """Load a submodel that ``save_part`` wrote, without running code from its folder.

    Raises:
        SgdxError: The folder does not hold a submodel.
    """
    with load_errors_as_sgdx(folder, "sub-model"):
        about = msgspec.convert(getattr(SgpConfig.from_pretrained(folder), "sgdx", None), About)
        model = load_strict(MODELS[about.part].from_pretrained, folder)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    return SubModel(model.train(False), Vocabulary(tokenizer), about)


def save_part(part: SubModel, folder: Path, weights: dict[str, torch.Tensor]) -> None:
    """Write a submodel for ``AutoModel`` (with ``trust_remote_code``) and ``AutoTokenizer``.

    Args:
        part: The submodel.
        folder: Folder for the files.
        weights: The weights to write, by parameter name.
    """
    part.model.config.sgdx = msgspec.to_builtins(part.about)
    part.model.save_pretrained(folder, state_dict=weights)
    part.vocabulary.tokenizer.save_pretrained(folder)
