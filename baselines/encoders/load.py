"""Load a pretrained BERT-like encoder and its tokenizer, for trackers to build on."""

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
    """Load an encoder and its fast tokenizer; the weights must be safetensors, not a pickle.

    Args:
        name: Name on the Hub, or a folder.
        dtype: Number format of the weights.

    Raises:
        SgdxError: The encoder or its tokenizer cannot be loaded; it is not an encoder; or the
            tokenizer is not fast (only fast ones know where in the text a token stands), has more
            tokens than the encoder, or lacks a padding, ``[CLS]`` or ``[SEP]`` token.
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
    """Load the tokenizer of an encoder.

    Args:
        name: Name on the Hub, or a folder.

    Raises:
        SgdxError: The tokenizer cannot be loaded, is not fast, has no vocabulary, or lacks a
            padding, ``[CLS]`` or ``[SEP]`` token.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(f"{name}: tokenizer cannot be loaded: {reason}") from None
    if not tokenizer.is_fast:
        raise SgdxError(f"{name}: its {type(tokenizer).__name__} is slow, expected a fast one")
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        # Without vocabulary files, transformers makes an empty tokenizer.
        raise SgdxError(f"{name}: has no tokenizer, expected one with a vocabulary")
    for token in _SPECIAL:
        if getattr(tokenizer, token) is None:
            raise SgdxError(f"{name}: the tokenizer has no {token}, expected an encoder's")
    return tokenizer


def pooled(output: Any) -> torch.Tensor:
    """One vector for each text [texts, hidden]: the pooled output, else that of ``[CLS]``.

    Args:
        output: What the encoder returned.
    """
    vector: torch.Tensor | None = getattr(output, "pooler_output", None)
    return output.last_hidden_state[:, 0] if vector is None else vector
