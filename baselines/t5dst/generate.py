"""Greedy generation for an encoder-decoder, where finished sequences leave the batch."""

from __future__ import annotations

import numpy as np
import torch
from transformers import DynamicCache, EncoderDecoderCache, PreTrainedModel

from ..training.batching import Ints

_DROP = 4  # finished sequences are removed once they are at least 1 / _DROP of the batch


@torch.inference_mode()
def greedy(
    model: PreTrainedModel, input_ids: torch.Tensor, attention_mask: torch.Tensor, max_target: int
) -> Ints:
    """Generate the most likely token at each place until a sequence ends.

    Args:
        model: An encoder-decoder in evaluation mode.
        input_ids: Tokens of the inputs [inputs, tokens], as ``Inputs.batch`` makes them.
        attention_mask: Which tokens are no padding [inputs, 1, 1, tokens].
        max_target: Maximum number of tokens of an answer.

    Returns:
        Tokens of the answers [inputs, at most max_target], padded with the end token.
    """
    end = _end_token(model)
    hidden = model.get_encoder()(input_ids=input_ids, attention_mask=attention_mask)[0]
    start = model.generation_config.decoder_start_token_id
    if start is None:
        start = model.config.decoder_start_token_id
    token = torch.full((len(input_ids), 1), start, device=hidden.device)
    outputs = torch.full((len(input_ids), max_target), end, device=hidden.device)
    rows = torch.arange(len(input_ids), device=hidden.device)  # inputs still in the batch
    alive = torch.ones_like(rows, dtype=torch.bool)
    cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
    for place in range(max_target):
        step = model(
            encoder_outputs=(hidden,),
            attention_mask=attention_mask,
            decoder_input_ids=token,
            past_key_values=cache,
            use_cache=True,
        )
        token = step.logits[:, -1].argmax(-1, keepdim=True).masked_fill(~alive[:, None], end)
        outputs[rows, place] = token[:, 0]
        alive &= token[:, 0] != end
        ended = len(rows) - int(alive.sum())
        if ended == len(rows):
            return np.asarray(outputs[:, : place + 1].cpu())
        if ended * _DROP >= len(rows):
            kept = alive.nonzero()[:, 0]
            cache.batch_select_indices(kept)
            hidden, attention_mask = hidden[kept], attention_mask[kept]
            token, rows, alive = token[kept], rows[kept], alive[kept]
    return np.asarray(outputs.cpu())


def _end_token(model: PreTrainedModel) -> int:
    """The token that ends a sequence."""
    end = model.generation_config.eos_token_id
    if end is None:
        end = model.config.eos_token_id
    return int(end[0] if isinstance(end, list) else end)
