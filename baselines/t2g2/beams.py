"""Beam search in batches of inputs of about the same length, with likelihoods.

Results are saved chunk by chunk, so that a killed run can resume.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from transformers import GenerationConfig, PreTrainedTokenizerBase

from ..training.batching import Ints, by_length, cut
from ..training.checkpoint import weights_digest
from ..training.chunks import run_chunks
from .examples import UtteranceExamples
from .model import Model

ScoredUtterance = tuple[str, float]  # an utterance, and its mean log-likelihood per token


@torch.inference_mode()
def beam_search(
    model: Model, input_ids: torch.Tensor, attention_mask: torch.Tensor, settings: GenerationConfig
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best beam for each input, and how rounded it is.

    Args:
        model: An encoder-decoder in evaluation mode, with a prefix or without.
        input_ids: Tokens of the inputs [inputs, tokens].
        attention_mask: 1 for tokens, 0 for padding [inputs, tokens].
        settings: Settings of the search.

    Returns:
        Tokens of the outputs, padded, without the start token [inputs, tokens]; and for each the
        mean log-likelihood per token, the end token included, natural logarithm [inputs].
    """
    whole: torch.Tensor = model.generate(  # type: ignore[operator]
        input_ids=input_ids, attention_mask=attention_mask, generation_config=settings
    )
    tokens = whole[:, 1:]
    ended = tokens == settings.eos_token_id
    # 0 end tokens before it: a token counts up to and with the first end token, later ones are
    # padding.
    real = ended.cumsum(-1) - ended.long() == 0
    # Beam scores are divided by a power of the length, so the log-likelihoods are computed again.
    logits = model(
        input_ids=input_ids, attention_mask=attention_mask, decoder_input_ids=whole[:, :-1]
    ).logits
    log_likelihoods = logits.float().log_softmax(-1).gather(-1, tokens[..., None])[..., 0]
    return tokens, (log_likelihoods * real).sum(-1) / real.sum(-1)


def generate_all(
    model: Model,
    tokenizer: PreTrainedTokenizerBase,
    examples: UtteranceExamples,
    settings: GenerationConfig,
    limits: tuple[int, int, int],
    accelerator: Accelerator,
    folder: Path,
) -> list[ScoredUtterance]:
    """Generate an utterance for every example; equal inputs are read once.

    Args:
        model: The model, on the accelerator's device.
        tokenizer: The model's tokenizer.
        examples: The inputs.
        settings: Settings of the search.
        limits: Maximum number of inputs in a batch; of tokens in a batch, where an input counts
            once for every beam; and of inputs in a chunk.
        accelerator: The processes and the device.
        folder: Folder for partial results, from which a killed run can resume.

    Returns:
        The utterance for each example and its likelihood, the same in every process.
    """
    size, budget, chunk_size = limits
    lengths = np.array([len(ids) for ids in examples.inputs], np.int64) * settings.num_beams
    # One batch without limits: all distinct inputs, in the order in which chunks are cut.
    (order,) = by_length(lengths, len(lengths), int(lengths.sum()) * len(lengths)) or [lengths]
    chunks = [order[i : i + chunk_size] for i in range(0, len(order), chunk_size)]

    def work(chunk: Ints) -> list[ScoredUtterance]:
        utterances: list[ScoredUtterance] = []
        for batch in cut(chunk, lengths, size, budget):
            tensors = examples.batch(batch)
            ids, mask = (tensors[name].to(model.device) for name in ("input_ids", "attention_mask"))
            tokens, likelihoods = beam_search(model, ids, mask, settings)
            rounded = [round(likelihood, 6) for likelihood in likelihoods.tolist()]
            utterances += zip(texts_of(tokenizer, tokens), rounded, strict=True)
        return utterances

    name = _fingerprint(model, examples, settings, limits)[:16]
    distinct = run_chunks(accelerator, chunks, work, folder / name)
    return [(distinct[index][0], distinct[index][1]) for index in examples.input_numbers.tolist()]


def texts_of(tokenizer: PreTrainedTokenizerBase, tokens: torch.Tensor) -> list[str]:
    """The texts of outputs, from tokens [inputs, tokens]."""
    decoded: list[str] = tokenizer.batch_decode(
        tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return [text.strip() for text in decoded]


def _fingerprint(
    model: Any, examples: UtteranceExamples, settings: GenerationConfig, limits: Sequence[int]
) -> str:
    """SHA-256 of everything that determines the partial results."""
    decisive = (weights_digest(model), settings.to_json_string(), limits)
    digest = hashlib.sha256(repr(decisive).encode())
    for ids in examples.inputs:
        digest.update(ids.tobytes() + b"|")
    return digest.hexdigest()
