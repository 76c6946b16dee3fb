"""Where a model comes from: its provenance, and how a new one is made of a pretrained encoder."""

from __future__ import annotations

import torch
from transformers import AutoConfig, AutoModel, PreTrainedModel

from ..encoders.load import check_positions
from ..training.task import Provenance
from .modeling import SgdBaselineConfig, SgdBaselineModel

# With this, AutoModel uses the project's classes instead of the copied code beside the weights.
AutoConfig.register(SgdBaselineConfig.model_type, SgdBaselineConfig, exist_ok=True)
AutoModel.register(SgdBaselineConfig, SgdBaselineModel, exist_ok=True)


class SgdProvenance(Provenance, frozen=True, kw_only=True):
    """Provenance of a model, stored in its ``config.json`` under ``sgdx``."""

    max_turn: int  # most tokens of a turn


def new_model(
    encoder: PreTrainedModel, provenance: SgdProvenance, dropout: float = 0.1
) -> SgdBaselineModel:
    """Create a model of a trainable and a frozen copy of an encoder, and random heads."""
    check_positions(encoder, provenance.max_turn, "max_turn")
    torch.manual_seed(provenance.seed)
    model = SgdBaselineModel(SgdBaselineConfig(encoder=encoder.config, dropout=dropout))
    for head in model.heads.values():
        head.reset()  # type: ignore[operator]
    for copy in (model.encoder, model.schema_encoder):
        copy.load_state_dict(encoder.state_dict())
    return model
