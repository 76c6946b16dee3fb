"""The four submodels by name: their classes, their settings, and how they are loaded and saved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import msgspec
import torch
from transformers import AutoConfig, PreTrainedModel, PreTrainedTokenizerBase

from sgdx_dataset import SgdxError

from ..trained import TrainedModel, load_trained, read_provenance
from ..training.settings import Count, EncoderSettings, Fraction
from ..training.task import Provenance
from .modeling import CombineModel, CopyModel, IntentModel, SgpConfig
from .prompts import FEATURES
from .sequences import Vocabulary

# With this, AutoTokenizer knows the submodels' configuration without the code beside the weights.
AutoConfig.register(SgpConfig.model_type, SgpConfig, exist_ok=True)

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


class SgpProvenance(Provenance, frozen=True, kw_only=True):
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
class SubModel(TrainedModel[PreTrainedModel, SgpProvenance]):
    """A submodel with its tokenizer and its provenance."""

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer, with the tokens of the texts that it has read so far."""
        return Vocabulary(self.tokenizer)


def new_part(
    encoder: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, provenance: SgpProvenance
) -> SubModel:
    """Create a submodel of a pretrained encoder and random heads.

    Args:
        encoder: The encoder.
        tokenizer: The encoder's tokenizer.
        provenance: Provenance of the submodel, whose ``seed`` determines the heads.

    Raises:
        SgdxError: The encoder cannot read ``provenance.max_tokens`` tokens.
    """
    max_tokens = provenance.max_tokens
    positions = getattr(encoder.config, "max_position_embeddings", None) or max_tokens
    if positions < max_tokens:
        raise SgdxError(
            f"{provenance.model}: reads {positions} tokens, expected max_tokens: {max_tokens}"
        )
    torch.manual_seed(provenance.seed)
    config = SgpConfig(encoder=encoder.config.to_dict(), features=FEATURES)
    model = MODELS[provenance.part](config)
    model.use_encoder(encoder)
    return SubModel(model, tokenizer, provenance)


def load_part(folder: Path, device: torch.device) -> SubModel:
    """Load a submodel that was trained, without running code from its folder.

    Raises:
        SgdxError: The folder does not hold a submodel.
    """
    part = read_provenance(str(folder), SgpProvenance).part
    return SubModel(*load_trained(str(folder), MODELS[part], SgpProvenance, device))
