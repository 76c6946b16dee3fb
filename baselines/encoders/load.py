"""Load a pretrained BERT-like encoder and its tokenizer, for trackers to build on."""

from __future__ import annotations

from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from sgdx_dataset import SgdxError

from ..training.checkpoint import load_errors_as_sgdx, load_strict


def load_encoder(
    name: str, attention_dropout: float | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load an encoder and its fast tokenizer; the weights must be safetensors, not a pickle."""
    with load_errors_as_sgdx(name, "encoder"):
        config = AutoConfig.from_pretrained(name, trust_remote_code=False)
        if config.is_encoder_decoder:
            raise SgdxError(
                f"{name}: is an encoder-decoder ({config.model_type}), expected an encoder"
            )
        if not hasattr(config, "hidden_size"):
            raise SgdxError(
                f"{name}: is a {config.model_type} model, expected the pretrained encoder itself"
            )
        tokenizer = load_tokenizer(name)
        if attention_dropout is not None:  # architectures name it differently
            names = ("attention_probs_dropout_prob", "attention_dropout")
            field = next((field for field in names if hasattr(config, field)), None)
            if field is None:
                raise SgdxError(
                    f"{name}: attention_dropout: a {config.model_type} encoder has none, expected "
                    "null"
                )
            setattr(config, field, attention_dropout)
        model: Any = load_strict(
            AutoModel.from_pretrained, name, optional="pooler.", config=config, dtype=torch.float32
        )
    model.config.name_or_path = ""  # models are published, and where their encoder lay is private
    size = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > size:
        raise SgdxError(
            f"{name}: the tokenizer has {len(tokenizer)} tokens, expected at most the encoder's "
            f"{size}"
        )
    return model, tokenizer


def check_positions(encoder: PreTrainedModel, limit: int, setting: str, first: int = 0) -> None:
    """Refuse a setting of more tokens than an encoder reads, whose first position is ``first``."""
    positions = getattr(encoder.config, "max_position_embeddings", None)
    if positions is not None and positions - first < limit:
        raise SgdxError(
            f"{encoder.name_or_path}: reads {positions - first} tokens, expected {setting}: {limit}"
        )


def load_tokenizer(name: str, config: PretrainedConfig | None = None) -> PreTrainedTokenizerBase:
    """Load the tokenizer of an encoder; a model that transformers lacks needs its ``config``."""
    with load_errors_as_sgdx(name, "tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(name, config=config, trust_remote_code=False)
    if not tokenizer.is_fast:
        raise SgdxError(
            f"{name}: its tokenizer {type(tokenizer).__name__} is slow, expected a fast one"
        )
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        # Without vocabulary files, transformers makes an empty tokenizer.
        raise SgdxError(f"{name}: has no tokenizer, expected one with a vocabulary")
    for token in ("pad_token", "cls_token", "sep_token"):
        if getattr(tokenizer, token) is None:
            raise SgdxError(
                f"{name}: the tokenizer has no {token}, expected the tokenizer of an encoder"
            )
    return tokenizer
