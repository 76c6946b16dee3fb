"""A tiny BERT with random weights and a tokenizer for given texts, to try a recipe with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, set_seed


def corpus_texts(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The utterances of frame rows and the texts of their schemas, without repetition."""
    texts: set[str] = set()
    for row in rows:
        utterances = (turn["utterance"] for turn in row["history"])
        for text in (*utterances, row["utterance"], *schema_texts(row["schema"])):
            if text not in texts:
                texts.add(text)
                yield text


def schema_texts(schema: dict[str, Any]) -> Iterator[str]:
    """The names, descriptions and possible values in the schema of a service."""
    yield schema["description"]
    for element in (*schema["intents"], *schema["slots"]):
        yield from (element["name"], element["description"], *element.get("possible_values", ()))


def tiny_encoder(
    texts: Iterable[str], vocabulary: int = 2000, hidden: int = 64, seed: int = 0
) -> tuple[BertModel, PreTrainedTokenizerFast]:
    """Make a BERT of 2 layers with random weights, and its tokenizer."""
    tokenizer = tiny_tokenizer(texts, vocabulary)
    set_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_hidden_layers=2,
        num_attention_heads=4,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.1,  # large enough for different texts to get different vectors
    )
    return BertModel(config), tokenizer


def tiny_tokenizer(texts: Iterable[str], vocabulary: int = 2000) -> PreTrainedTokenizerFast:
    """Make a cased WordPiece tokenizer of the characters and the most frequent words of texts."""
    # The same texts always give the same tokenizer, which tokenizer trainers do not guarantee.
    names = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    normalizer = normalizers.BertNormalizer(lowercase=False)
    words = Counter(word for text in texts for word, _ in split(normalizer.normalize_str(text)))
    letters = sorted({letter for word in words for letter in word})
    frequent = sorted(words, key=lambda word: (-words[word], word))
    pieces = dict.fromkeys([*names, *letters, *(f"##{letter}" for letter in letters)])
    pieces |= dict.fromkeys(frequent[: max(0, vocabulary - len(pieces))])
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))  # noqa: S106  # no password
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, ids[name]) for name in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{name[1:-1].lower()}_token": name for name in names},
    )
