"""The encoder-decoder: a pretrained T5 or a tiny one with random weights, and its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import torch
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
from sgdx_dataset.io.progress import advance

from .. import xla
from ..batching import Ints
from ..checkpoint import load_errors_as_sgdx, load_strict
from ..run_folder import read_provenance
from ..tracker import Tracker, answer_batches
from ..xla import Tensors
from .data import TextExamples, filled

Answer = TypeVar("Answer")


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


def commit_of(name: str, revision: str | None) -> str:
    """The commit of a model on the Hub that a revision means now; empty for a folder."""
    if Path(name).is_dir():
        return ""
    with load_errors_as_sgdx(
        name, "model"
    ):  # a file of the cache is in a folder that the commit names
        return Path(hf_hub_download(name, "config.json", revision=revision)).parent.name


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


def check_positions(name: str, model: PreTrainedModel, *limits: int) -> None:
    """Check that a model can read and write as many tokens as its limits allow."""
    positions = getattr(model.config, "max_position_embeddings", None)  # T5 has no such limit
    if positions is not None and max(limits) > positions:
        raise SgdxError(f"{name}: has {positions} positions, expected max_input at most that")


class EncoderDecoder(Tracker):
    """A system whose model is any encoder-decoder of transformers, which stays one of its class."""

    @classmethod
    def start(cls, settings: Any, **facts: Any) -> Self:
        """A recipe's encoder-decoder as this system, of which ``Seen`` has more facts."""
        name = settings.model
        commit = commit_of(name, settings.revision)
        model, tokenizer = load_model(name, commit or None)
        check_positions(name, model, settings.max_input, settings.max_target)
        # The cache helps only in generation, which asks for it; the decoder has its own config.
        for part in (model, model.get_decoder()):
            part.config.use_cache = False
        seen = cls.Seen.of(settings, pretrained_commit=commit, **facts)
        return cls.completed(model, tokenizer, seen)

    @classmethod
    def from_pretrained(cls, name: str | Path, **options: Any) -> Self:  # type: ignore[override]
        """Load a trained system, in evaluation mode, on the CPU; ``options`` are of ``Options``."""
        seen: Any = read_provenance(str(name), cls.Seen)
        model, tokenizer = load_model(str(name))
        system = cls.completed(model.eval(), tokenizer, seen, **options)
        limit = getattr(system.options, "max_input", None) or system.seen.max_input
        check_positions(str(name), model, limit, system.seen.max_target)
        return system

    @classmethod
    def completed(cls, model: Any, tokenizer: Any, seen: Any, **options: Any) -> Self:
        """A model with what it needs besides; its class gets the methods of this one."""
        plain = type(model)
        own = {"PLAIN": plain, "__module__": plain.__module__}
        model.__class__ = type(plain.__name__, (cls, plain), own)
        return super().completed(model, tokenizer, seen, **options)

    def generation(self, beams: int = 1, length_penalty: float = 1.0) -> GenerationConfig:
        """Settings of ``generate`` for this model."""
        special = ("bos_token_id", "decoder_start_token_id", "eos_token_id", "pad_token_id")
        special_ids = {name: getattr(self.generation_config, name, None) for name in special}
        more = {"length_penalty": length_penalty} if beams > 1 else {}
        limit = self.seen.max_target
        return GenerationConfig(
            **special_ids, max_new_tokens=limit, do_sample=False, num_beams=beams, **more
        )

    def answers(
        self, examples: TextExamples, rows: int, write: Callable[[Tensors], Sequence[Answer]]
    ) -> list[Answer]:
        """What ``write`` gives for the input of each example; distinct inputs are read once."""
        beams = self.generation().num_beams

        def answer(batch: Ints) -> Sequence[Answer]:
            written = write(examples.prompts(batch))
            advance(len(batch) * rows // len(examples.input_lengths))
            return written

        of_inputs = answer_batches(examples.input_lengths * beams, self.options, answer)
        return [of_inputs[number] for number in examples.numbers.tolist()]

    def save_pretrained(  # type: ignore[override]
        self, save_directory: str | Path, state_dict: Any = None, **options: Any
    ) -> None:
        """Write a model that ``AutoModelForSeq2SeqLM`` and ``AutoTokenizer`` can load."""
        # T5 1.1 does not scale the decoder's outputs, which transformers 4 reads from
        # ``tie_word_embeddings: false``, and it then expects an output layer in the file. Version 5
        # would write true, and understands both.
        weights = self.state_dict() if state_dict is None else state_dict
        if getattr(self.config, "scale_decoder_outputs", True) is False:
            self.config.tie_word_embeddings = False
            output = weights.get("lm_head.weight", weights["shared.weight"])
            weights = {**weights, "lm_head.weight": output.clone()}  # else it is left out if tied
        self.generation_config = self.generation()
        super().save_pretrained(save_directory, state_dict=weights, **options)


def generate(model: Any, batch: Tensors, settings: GenerationConfig, limit: int) -> torch.Tensor:
    """What ``model.generate`` returns for a batch of inputs of at most ``limit`` tokens."""
    device = model.device
    if not xla.is_xla(device):
        on_device = {name: tensor.to(device) for name, tensor in batch.items()}
        written: torch.Tensor = model.generate(**on_device, generation_config=settings)
        return written
    # The search runs on the host; XLA computes one program, the logits of the next token. There is
    # no cache, whose length would differ from token to token.
    full = xla.in_few_shapes(batch, limit, filled, device)
    ids, mask = full["input_ids"], full["attention_mask"]
    states = model.get_encoder()(ids.to(device), attention_mask=wide(mask).to(device))[0]

    def next_logits(
        decoder_input_ids: torch.Tensor,
        encoder_outputs: Any,
        attention_mask: torch.Tensor,
        **_: Any,
    ) -> Seq2SeqLMOutput:
        length = decoder_input_ids.shape[1]
        room = settings.max_new_tokens - length
        output = type(model).forward(
            model,
            encoder_outputs=encoder_outputs,
            attention_mask=wide(attention_mask).to(device),
            decoder_input_ids=nn.functional.pad(decoder_input_ids, (0, room)).to(device),
            use_cache=False,
        )
        last = torch.full((len(output.logits), 1, 1), length - 1).to(device)
        chosen = output.logits.gather(1, last.expand(-1, -1, output.logits.shape[-1]))
        return Seq2SeqLMOutput(logits=xla.on_host({"logits": chosen}, device)["logits"])

    model.forward = next_logits
    try:
        written = model.generate(
            input_ids=ids,
            attention_mask=mask,
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            generation_config=settings,
            use_cache=False,
        )
    finally:
        del model.forward
    return written[: len(batch["input_ids"])]


def wide(mask: torch.Tensor) -> torch.Tensor:
    """A mask [inputs, 1, 1, tokens], about which transformers asks nothing of the device."""
    return mask[:, None, None] > 0


def texts_of(tokenizer: PreTrainedTokenizerBase, tokens: torch.Tensor) -> list[str]:
    """The texts that a model has written, from tokens [texts, tokens] without special ones."""
    decoded: list[str] = tokenizer.batch_decode(
        tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return decoded
