"""The four submodels by name: their classes, their provenance, and how they are made and loaded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..encoders.load import check_positions
from ..system import read_provenance
from ..trained import TrainedModel, load_trained
from ..training.task import Provenance
from .modeling import CombineModel, CopyModel, IntentModel
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


class SgpProvenance(Provenance, frozen=True, kw_only=True):
    """Provenance of a submodel, stored in its ``config.json`` under ``sgdx``."""

    part: Part
    max_tokens: int  # of a sequence
    model: str  # name or folder of the pretrained encoder


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
    """Create a submodel of a pretrained encoder and random heads."""
    check_positions(encoder, provenance.max_tokens, "max_tokens")
    torch.manual_seed(provenance.seed)
    model_class: Any = MODELS[provenance.part]
    config = model_class.config_class(encoder=encoder.config.to_dict(), features=FEATURES)
    model = model_class(config)
    model.use_encoder(encoder)
    return SubModel(model, tokenizer, provenance)


def load_part(folder: Path, device: torch.device) -> SubModel:
    """Load a submodel that was trained, without running code from its folder."""
    part = read_provenance(str(folder), SgpProvenance).part
    return SubModel(*load_trained(str(folder), MODELS[part], SgpProvenance, device))
