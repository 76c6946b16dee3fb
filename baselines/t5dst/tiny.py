"""A tiny T5 with random weights and a tokenizer for given texts, to try a recipe with."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration, set_seed


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
