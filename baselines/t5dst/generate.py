"""Greedy generation with an encoder-decoder, in batches of inputs of about the same length.

By default, finished sequences leave the batch. XLA compiles a program for every new combination of
shapes, so for XLA all sequences stay until all have ended, and no shape changes from step to step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from transformers import (
    DynamicCache,
    EncoderDecoderCache,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    StaticCache,
)
from transformers.modeling_outputs import BaseModelOutput

from ..trained import TrainedModel, fingerprint, predict_in_chunks
from ..training.batching import Ints
from ..training.checkpoint import weights_digest
from .inputs import Inputs
from .model import T5Provenance
from .settings import T5Options

_DROP = 4  # finished sequences are removed once they are at least 1 / _DROP of the batch


def answer_all(
    trained: TrainedModel[PreTrainedModel, T5Provenance],
    inputs: Inputs,
    options: T5Options,
    accelerator: Accelerator,
    chunks: Path,
) -> tuple[list[str], int]:
    """The answers to all inputs, of which equal ones are read once; and how many differ."""
    device = accelerator.device
    _, first, input_of = np.unique(inputs.pairs, axis=0, return_index=True, return_inverse=True)
    static = options.static_shapes or device.type == "xla"
    widths = inputs.lengths[first]
    if static:
        widths = bucket_widths(widths, inputs.limits.max_input)

    def answer(batch: Ints) -> list[str]:
        width = int(widths[batch].max()) if static else None
        rows = static_rows(batch, width, options) if width else batch
        tensors = inputs.batch(first[rows], width)
        ids, mask = (tensors[name].to(device) for name in ("input_ids", "attention_mask"))
        tokens = greedy(trained.model, ids, mask, trained.provenance.max_target, static)
        return texts_of(trained.tokenizer, tokens[: len(batch)])

    folder = chunks / fingerprint(
        weights_digest(trained.model),
        trained.provenance,
        options,
        inputs=(inputs.ids(index) for index in first.tolist()),
    )
    answers = predict_in_chunks(accelerator, widths, options, answer, folder)
    return [answers[index] for index in input_of.reshape(-1).tolist()], len(first)


def bucket_widths(lengths: Ints, longest: int) -> Ints:
    """The widths that inputs are padded to where shapes are static, from lengths [inputs]."""
    widths = np.array([-(-longest // (8 * parts)) * 8 for parts in (8, 4, 2, 1)], np.int64)
    return widths[np.searchsorted(widths, lengths)]


def static_rows(batch: Ints, width: int, options: T5Options) -> Ints:
    """A batch as large as every batch of its width is, filled up with copies of its last input."""
    size = max(1, min(options.batch_size, options.token_budget // width))
    return np.concatenate([batch, np.repeat(batch[-1:], size - len(batch))])


def texts_of(tokenizer: PreTrainedTokenizerBase, tokens: Ints | torch.Tensor) -> list[str]:
    """The texts that a model has written, from tokens [texts, tokens] without special ones."""
    decoded: list[str] = tokenizer.batch_decode(
        tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return decoded


@torch.inference_mode()
def greedy(
    model: PreTrainedModel,
    input_ids: torch.Tensor,
    attention_mask: torch.Tensor,
    max_target: int,
    static: bool = False,
) -> Ints:
    """The most likely token at each place, padded with the end token [inputs, max_target]."""
    # The model is called as a whole only, never its encoder or decoder, because parallel training
    # may gather its parameters in that call.
    start, end = _start_and_end(model)
    token = torch.full((len(input_ids), 1), start, device=input_ids.device)
    outputs = torch.full((len(input_ids), max_target), end, device=input_ids.device)
    rows = torch.arange(len(input_ids), device=input_ids.device)  # inputs still in the batch
    alive = torch.ones_like(rows, dtype=torch.bool)
    # A tensor, as XLA would compile another program for each number.
    position = torch.zeros_like(rows[:1])
    # The part of the cache for the input is written once, so it never grows.
    of_answers = (
        StaticCache(config=model.config, max_cache_len=max_target) if static else DynamicCache()
    )
    cache = EncoderDecoderCache(of_answers, DynamicCache())
    source: dict[str, Any] = {"input_ids": input_ids}
    if static:  # without it, some models make a mask that grows with the answer
        source["decoder_attention_mask"] = torch.ones_like(outputs)
    for _ in range(max_target):
        step = model(
            **source,
            attention_mask=attention_mask,
            decoder_input_ids=token,
            past_key_values=cache,
            use_cache=True,
        )
        if "input_ids" in source:
            del source["input_ids"]
            source["encoder_outputs"] = BaseModelOutput(step.encoder_last_hidden_state)
        # Finished sequences that are still in the batch go on with the end token, as padding.
        token = step.logits[:, -1].argmax(-1, keepdim=True).masked_fill(~alive[:, None], end)
        outputs[rows, position] = token[:, 0]
        position += 1
        alive &= token[:, 0] != end
        left = int(alive.sum())
        if left == 0:
            break
        if not static and (len(rows) - left) * _DROP >= len(rows):
            # Cache, encoder outputs and mask must lose the same rows as the tokens.
            unfinished = alive.nonzero()[:, 0]
            cache.batch_select_indices(unfinished)
            source = {"encoder_outputs": BaseModelOutput(source["encoder_outputs"][0][unfinished])}
            token, rows, alive = token[unfinished], rows[unfinished], alive[unfinished]
            attention_mask = attention_mask[unfinished]
    return np.asarray(outputs[:, : int(position)].cpu())


def _start_and_end(model: PreTrainedModel) -> tuple[int, int]:
    """The token that a decoder starts with, and the token that ends a sequence."""
    tokens = []
    for name in ("decoder_start_token_id", "eos_token_id"):
        token = getattr(model.generation_config, name)
        token = getattr(model.config, name) if token is None else token
        tokens.append(int(token[0] if isinstance(token, list) else token))
    return tokens[0], tokens[1]
