"""The encoder-decoder: a pretrained T5 or a tiny one with random weights, and its answers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from accelerate import Accelerator
from huggingface_hub import hf_hub_download
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
    set_seed,
)
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

from sgdx_dataset import SgdxError

from .. import xla
from ..batching import Ints
from ..checkpoint import load_errors_as_sgdx, load_strict
from ..settings import T5Options
from ..system import read_provenance
from ..task import Provenance, Run
from ..trained import TrainedModel, predict_in_chunks, pretrained_name
from .data import Inputs, filled


def tiny_tokenizer(texts: Iterable[str], size: int = 2000) -> PreTrainedTokenizerFast:
    """Make a byte-level BPE tokenizer, which can encode any text and ends it with ``</s>``."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<pad>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{"pad_token": "<pad>", "eos_token": "</s>"}
    )


def tiny_t5(vocabulary: int, seed: int = 0) -> T5ForConditionalGeneration:
    """Make a T5 with 2 encoder layers, 2 decoder layers and random weights."""
    set_seed(seed)
    config = T5Config(
        vocab_size=vocabulary,
        d_model=64,
        d_kv=16,
        d_ff=256,
        num_layers=2,
        num_heads=4,
        pad_token_id=0,
        eos_token_id=1,
    )
    config.decoder_start_token_id = 0
    return T5ForConditionalGeneration(config)


class T5Provenance(Provenance, frozen=True, kw_only=True):
    """Provenance of a T5 tracker's model, stored in its ``config.json`` under ``sgdx``."""

    format: str  # name of the prompt format
    max_input: int  # in tokens
    max_target: int
    # Commit on the Hub of the model that training started from; empty if that was a folder.
    pretrained_commit: str = ""


def commit_of(name: str, revision: str | None) -> str:
    """The commit of a model on the Hub that a revision means now; empty for a folder."""
    if Path(name).is_dir():
        return ""
    with load_errors_as_sgdx(
        name, "model"
    ):  # a file of the cache is in a folder that the commit names
        return Path(hf_hub_download(name, "config.json", revision=revision)).parent.name


def pretrained_t5(
    run: Run[Any], texts: Iterable[str], provenance: Provenance, max_target: int
) -> str:
    """Name or folder of the encoder-decoder that a recipe starts from; ``tiny`` is made here."""

    def write_tiny(folder: Path) -> None:
        tokenizer = tiny_tokenizer(texts)
        model = tiny_t5(len(tokenizer), run.settings.seed)
        greedily = generation_settings(model, max_target)
        trained = TrainedModel(model, tokenizer, provenance)
        save_model(trained, model, greedily, folder, model.state_dict())

    return pretrained_name(run, write_tiny)


def load_model(
    name: str, revision: str | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load an encoder-decoder and its tokenizer; the weights must be safetensors, not a pickle."""
    with load_errors_as_sgdx(name, "model"):
        config = AutoConfig.from_pretrained(name, revision=revision, trust_remote_code=False)
        if not config.is_encoder_decoder:
            raise SgdxError(f"{name}: is a {config.model_type} model, expected an encoder-decoder")
        tokenizer = AutoTokenizer.from_pretrained(name, revision=revision, trust_remote_code=False)
        model: PreTrainedModel = load_strict(
            AutoModelForSeq2SeqLM.from_pretrained, name, revision=revision, dtype=torch.float32
        )
    for token in ("pad_token", "eos_token"):
        if getattr(tokenizer, token) is None:
            raise SgdxError(f"{name}: the tokenizer has no {token}, expected one")
    return model, tokenizer


def provenance_under(options: T5Options, name: str, model: PreTrainedModel) -> T5Provenance:
    """The provenance of a model, whose inputs may be longer than in training."""
    provenance = read_provenance(name, T5Provenance)
    if options.max_input is not None:
        provenance = msgspec.structs.replace(provenance, max_input=options.max_input)
    check_positions(name, model, provenance)
    return provenance


def check_positions(name: str, model: PreTrainedModel, provenance: T5Provenance) -> None:
    """Check that a model can read and write as many tokens as its limits allow."""
    positions = getattr(model.config, "max_position_embeddings", None)  # T5 has no such limit
    most = max(provenance.max_input, provenance.max_target)
    if positions is not None and most > positions:
        raise SgdxError(f"{name}: has {positions} positions, expected max_input at most that")


def generation_settings(
    model: PreTrainedModel, max_target: int, beams: int = 1, length_penalty: float = 1.0
) -> GenerationConfig:
    """Settings of ``model.generate``; with one beam it has the same result as ``greedy``."""
    special = ("bos_token_id", "decoder_start_token_id", "eos_token_id", "pad_token_id")
    special_ids = {name: getattr(model.generation_config, name, None) for name in special}
    more = {"length_penalty": length_penalty} if beams > 1 else {}
    return GenerationConfig(
        **special_ids, max_new_tokens=max_target, do_sample=False, num_beams=beams, **more
    )


def save_model(
    trained: TrainedModel[Any, Any],
    model: PreTrainedModel,
    generation: GenerationConfig,
    folder: Path,
    weights: dict[str, torch.Tensor],
) -> None:
    """Write a model that ``AutoModelForSeq2SeqLM`` and ``AutoTokenizer`` can load."""
    # T5 1.1 does not scale the decoder's outputs, which transformers 4 reads from
    # ``tie_word_embeddings: false``, and it then expects an output layer in the file. Version 5
    # would write true, and understands both.
    config = model.config
    if getattr(config, "scale_decoder_outputs", True) is False:
        config.tie_word_embeddings = False
        output = weights.get("lm_head.weight", weights["shared.weight"])
        weights = {**weights, "lm_head.weight": output.clone()}  # else it is left out where tied
    model.generation_config = generation
    TrainedModel.save(trained, folder, model, weights)


@torch.no_grad()
def answer_all(
    trained: TrainedModel[PreTrainedModel, T5Provenance],
    inputs: Inputs,
    options: T5Options,
    accelerator: Accelerator,
    chunks: Path,
) -> tuple[list[str], int]:
    """The greedy answers to all inputs, of which equal ones are read once; and how many differ."""
    model = trained.model
    _, first, input_of = np.unique(inputs.pairs, axis=0, return_index=True, return_inverse=True)
    settings = generation_settings(model, trained.provenance.max_target)

    def answer(batch: Ints) -> list[str]:
        tokens = generate(model, inputs.batch(first[batch]), settings, inputs.limits.max_input)
        return texts_of(trained.tokenizer, tokens)

    answers = predict_in_chunks(accelerator, inputs.lengths[first], options, answer, chunks)
    return [answers[index] for index in input_of.reshape(-1).tolist()], len(first)


def generate(
    model: Any, batch: dict[str, torch.Tensor], settings: GenerationConfig, limit: int
) -> torch.Tensor:
    """What ``model.generate`` returns for a batch of inputs of at most ``limit`` tokens."""
    if not xla.is_xla(model.device):
        on_device = {name: tensor.to(model.device) for name, tensor in batch.items()}
        written: torch.Tensor = model.generate(**on_device, generation_config=settings)
        return written
    # The search runs on the host; XLA computes one program, the logits of the next token. There is
    # no cache, whose length would differ from token to token.
    count = len(batch["input_ids"])
    full = xla.in_few_shapes(batch, limit, filled, model.device)
    ids, mask = full["input_ids"], full["attention_mask"]
    encoded = encoder_states(model, ids, mask)

    def next_logits(
        decoder_input_ids: torch.Tensor,
        encoder_outputs: Any,
        attention_mask: torch.Tensor,
        **_: Any,
    ) -> Seq2SeqLMOutput:
        length = decoder_input_ids.shape[1]
        room = settings.max_new_tokens - length
        logits = (
            type(model)
            .forward(
                model,
                encoder_outputs=encoder_outputs,
                attention_mask=wide(attention_mask).to(model.device),
                decoder_input_ids=nn.functional.pad(decoder_input_ids, (0, room)).to(model.device),
                use_cache=False,
            )
            .logits
        )
        last = torch.full((len(logits), 1, 1), length - 1).to(model.device)
        chosen = logits.gather(1, last.expand(-1, -1, logits.shape[-1]))
        return Seq2SeqLMOutput(logits=xla.on_host({"logits": chosen}, model.device)["logits"])

    model.forward = next_logits
    try:
        written = model.generate(
            input_ids=ids,
            attention_mask=mask,
            encoder_outputs=encoded,
            generation_config=settings,
            use_cache=False,
        )
    finally:
        del model.forward
    return written[:count]


def wide(mask: torch.Tensor) -> torch.Tensor:
    """A mask [inputs, 1, 1, tokens], about which transformers asks nothing of the device."""
    return mask[:, None, None] > 0


def encoder_states(model: Any, ids: torch.Tensor, mask: torch.Tensor) -> BaseModelOutput:
    """The vectors of a batch's tokens, on XLA."""
    device = model.device
    states = model.get_encoder()(ids.to(device), attention_mask=wide(mask).to(device))[0]
    return BaseModelOutput(last_hidden_state=states)


def texts_of(tokenizer: PreTrainedTokenizerBase, tokens: torch.Tensor) -> list[str]:
    """The texts that a model has written, from tokens [texts, tokens] without special ones."""
    decoded: list[str] = tokenizer.batch_decode(
        tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return decoded
