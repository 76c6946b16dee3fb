"""Attention in training on CPUs, where PyTorch's fused one takes long to go backwards.

With bfloat16, the backward pass of the fused attention takes more than a third of a training step
on a CPU that multiplies bfloat16 matrices. Plain matrix products make the step 1.2 to 1.9 times as
fast there. Prediction, float32 and other devices keep the fused attention, which is the faster one
for them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

ATTENTION = "sgdx_training"  # the name under which transformers knows the attention function


def train_with_matrix_products(model: nn.Module) -> None:
    """Let the encoders in a model use ``training_attention`` in place of PyTorch's fused one."""
    # Encoder-decoders and encoders that have an attention of their own, such as DeBERTa, are left
    # as they are. Nothing of it is saved with the model.
    for part in model.modules():
        if (
            isinstance(part, PreTrainedModel)
            and part.config._attn_implementation == "sdpa"
            and not part.config.is_encoder_decoder
        ):
            part.config._attn_implementation = ATTENTION


def training_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attend by matrix products if they are faster: [texts, queries, heads, size] in all."""
    # Queries are [texts, heads, queries, size], keys and values [texts, heads, keys, size]. The
    # mask [texts, 1, 1 or queries, keys] is true for yes, or numbers that are added to the scores.
    trained = query.requires_grad and query.device.type == "cpu" and query.dtype == torch.bfloat16
    plain = (
        not getattr(module, "is_causal", True) and getattr(module, "num_key_value_groups", 1) == 1
    )
    if not (trained and plain):
        attended: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, **options
        )
        return attended
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = (query * scale) @ key.transpose(-1, -2)
    if attention_mask is not None:
        if attention_mask.dtype == torch.bool:
            # Adding is faster than filling in, as one mask serves all heads and both directions.
            lowest = torch.finfo(scores.dtype).min
            attention_mask = scores.new_zeros(()).where(attention_mask, lowest)
        scores = scores + attention_mask.to(scores.dtype)
    # Autocast would turn the weights into float32, which takes longer and is no more exact: a
    # softmax of bfloat16 is computed in float32 within.
    with torch.autocast(query.device.type, enabled=False):
        weights = nn.functional.dropout(scores.softmax(-1), dropout)
    return (weights @ value).transpose(1, 2).contiguous(), None


AttentionInterface.register(ATTENTION, training_attention)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)
