"""Loading a text encoder of BERT's architecture, for trackers to build on."""

from __future__ import annotations

from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from sgdx_dataset import SgdxError

_SPECIAL = ("pad_token", "cls_token", "sep_token")


def load_encoder(
    name: str, dtype: torch.dtype = torch.float32
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """An encoder and its fast tokenizer by name or folder; its weights are never a pickle.

    Raises:
        SgdxError: There is none, it is no encoder, its tokenizer is not fast (only fast ones know
            where in the text a token stands) or lacks ``[PAD]``, ``[CLS]`` or ``[SEP]``.
    """
    try:
        config = AutoConfig.from_pretrained(name)
        if config.is_encoder_decoder:
            raise SgdxError(f"{name}: is an encoder-decoder ({config.model_type}), not an encoder")
        tokenizer = load_tokenizer(name)
        model = AutoModel.from_pretrained(name, dtype=dtype, use_safetensors=True)
    except SgdxError:
        raise
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(f"{name}: encoder cannot be loaded: {reason}") from None
    known = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > known:
        raise SgdxError(f"{name}: the tokenizer has {len(tokenizer)} tokens, the encoder {known}")
    return model, tokenizer


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """An encoder's tokenizer by name or folder; errors as ``load_encoder``."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(f"{name}: tokenizer cannot be loaded: {reason}") from None
    if not tokenizer.is_fast:
        raise SgdxError(f"{name}: its {type(tokenizer).__name__} is slow, expected a fast one")
    if len(tokenizer) <= len(tokenizer.all_special_tokens):  # made up, where its files are missing
        raise SgdxError(f"{name}: has no tokenizer, expected one with a vocabulary")
    for token in _SPECIAL:
        if getattr(tokenizer, token) is None:
            raise SgdxError(f"{name}: the tokenizer has no {token}, expected an encoder's")
    return tokenizer


def pooled(output: Any) -> torch.Tensor:
    """What an encoder's output says of whole texts [texts, hidden]: pooled, or else ``[CLS]``'s."""
    vector: torch.Tensor | None = getattr(output, "pooler_output", None)
    return output.last_hidden_state[:, 0] if vector is None else vector
