"""Where a model comes from: its provenance, and how a new one is made of a pretrained encoder."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from ..encoders.load import check_positions
from ..training.task import Provenance
from .frames import Acts
from .layout import MARKERS, Vocabulary
from .modeling import OnePassConfig, OnePassModel, first_position

# With this, AutoModel uses the project's classes instead of the copied code beside the weights.
AutoConfig.register(OnePassConfig.model_type, OnePassConfig, exist_ok=True)
AutoModel.register(OnePassConfig, OnePassModel, exist_ok=True)


class OnePassProvenance(Provenance, frozen=True, kw_only=True):
    """Provenance of a model, stored in its ``config.json`` under ``sgdx``."""

    acts: Acts  # whether the system's dialogue acts are read: always, never or ``sometimes``
    utterances: int  # most that are read
    max_tokens: int  # of a sequence


def new_model(
    encoder: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    provenance: OnePassProvenance,
    dropout: float = 0.1,
) -> OnePassModel:
    """Create a model of a pretrained encoder, vectors of the markers, and random heads."""
    check_positions(encoder, provenance.max_tokens, "max_tokens", first_position(encoder))
    vocabulary = Vocabulary(tokenizer)
    embedded: Any = encoder.get_input_embeddings()
    if len(tokenizer) > embedded.num_embeddings:
        embedded = encoder.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    with torch.no_grad():  # a marker begins as the mean of the pieces of its word
        for marker, word in MARKERS.items():
            pieces = vocabulary.tokens(word).ids.tolist()
            embedded.weight[vocabulary.markers[marker]] = embedded.weight[pieces].mean(0)
    torch.manual_seed(provenance.seed)
    model = OnePassModel(OnePassConfig(encoder=encoder.config.to_dict(), dropout=dropout))
    model.reset_heads()
    model.use_encoder(encoder)
    return model
