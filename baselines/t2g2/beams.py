"""Beam search in batches of inputs of about the same length, with likelihoods.

Results are saved chunk by chunk, so that a killed run can resume.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from transformers import GenerationConfig

from ..system import BatchOptions
from ..t5dst.generate import texts_of
from ..trained import TrainedModel, fingerprint, predict_in_chunks
from ..training.batching import Ints
from ..training.checkpoint import weights_digest
from .examples import UtteranceExamples
from .model import Model, T2G2Provenance, beam_settings

ScoredUtterance = tuple[str, float]  # an utterance, and its mean log-likelihood per token


@torch.inference_mode()
def beam_search(
    model: Model, input_ids: torch.Tensor, attention_mask: torch.Tensor, settings: GenerationConfig
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best beam [inputs, tokens], and its mean log-likelihood per token [inputs]."""
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
    trained: TrainedModel[Model, T2G2Provenance],
    examples: UtteranceExamples,
    options: BatchOptions,
    accelerator: Accelerator,
    chunks: Path,
) -> list[ScoredUtterance]:
    """Generate an utterance for every example; equal inputs are read once."""
    model = trained.model
    settings = beam_settings(model, trained.provenance)
    lengths = np.array([len(ids) for ids in examples.inputs], np.int64) * settings.num_beams

    def generate_batch(batch: Ints) -> list[ScoredUtterance]:
        tensors = examples.batch(batch)
        ids, mask = (tensors[name].to(model.device) for name in ("input_ids", "attention_mask"))
        tokens, likelihoods = beam_search(model, ids, mask, settings)
        rounded = [round(likelihood, 6) for likelihood in likelihoods.tolist()]
        texts = [text.strip() for text in texts_of(trained.tokenizer, tokens)]
        return list(zip(texts, rounded, strict=True))

    weights = weights_digest(model)
    folder = chunks / fingerprint(
        weights, settings.to_json_string(), options, inputs=examples.inputs
    )
    distinct = predict_in_chunks(accelerator, lengths, options, generate_batch, folder)
    return [(distinct[index][0], distinct[index][1]) for index in examples.input_numbers.tolist()]
