"""BERT-like encoders: loading them, making tiny ones to try a recipe with, and spans of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertModel,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    set_seed,
)

from sgdx_dataset import SgdxError

from .checkpoint import load_errors_as_sgdx, load_strict
from .onepass.modeling import fuse_attention  # there, as it is published with the model


def token_span(offsets: Sequence[Sequence[int]], start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token that cover exactly a span of characters; None if none do."""
    # Special tokens have the offsets (0, 0).
    first = [i for i, (begin, stop) in enumerate(offsets) if begin == start and stop > begin]
    last = [i for i, (begin, stop) in enumerate(offsets) if stop == end and stop > begin]
    # Several tokens have the same offsets where they are bytes of one character.
    return (first[0], last[-1]) if first and last and start < end else None


def character_span(offsets: Sequence[Sequence[int]], first: int, last: int) -> tuple[int, int]:
    """The characters [start, end) that a span of tokens covers: the inverse of ``token_span``."""
    return int(offsets[first][0]), int(offsets[last][1])


def likeliest_spans(
    start: torch.Tensor, end: torch.Tensor, allowed: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """First token, last token and P(start) + P(end) of the likeliest spans, [sequences] each."""
    # All are [sequences, tokens]. The sum is -inf where no token is allowed. The running maximum
    # gives each token the best start up to it, so one pass tries all ends.
    begun, first = start.masked_fill(~allowed, -torch.inf).cummax(1)
    score, last = (begun + end.masked_fill(~allowed, -torch.inf)).max(1)
    return first.gather(1, last[:, None])[:, 0], last, score


def load_encoder(
    name: str, attention_dropout: float | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load an encoder and its fast tokenizer; the weights must be safetensors, not a pickle."""
    with load_errors_as_sgdx(name, "encoder"):
        config = AutoConfig.from_pretrained(name, trust_remote_code=False)
        if config.is_encoder_decoder:
            raise SgdxError(
                f"{name}: is an encoder-decoder ({config.model_type}), expected an encoder"
            )
        if not hasattr(config, "hidden_size"):
            raise SgdxError(
                f"{name}: is a {config.model_type} model, expected the pretrained encoder itself"
            )
        tokenizer = load_tokenizer(name)
        if attention_dropout is not None:  # architectures name it differently
            names = ("attention_probs_dropout_prob", "attention_dropout")
            field = next((field for field in names if hasattr(config, field)), None)
            if field is None:
                raise SgdxError(
                    f"{name}: attention_dropout: a {config.model_type} encoder has none, expected "
                    "null"
                )
            setattr(config, field, attention_dropout)
        model: Any = load_strict(
            AutoModel.from_pretrained, name, optional="pooler.", config=config, dtype=torch.float32
        )
    model.config.name_or_path = ""  # models are published, and where their encoder lay is private
    size = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > size:
        raise SgdxError(
            f"{name}: the tokenizer has {len(tokenizer)} tokens, expected at most the encoder's "
            f"{size}"
        )
    fuse_attention(model)
    return model, tokenizer


def check_positions(encoder: PreTrainedModel, limit: int, setting: str, first: int = 0) -> None:
    """Refuse a setting of more tokens than an encoder reads, whose first position is ``first``."""
    positions = getattr(encoder.config, "max_position_embeddings", None)
    if positions is not None and positions - first < limit:
        raise SgdxError(
            f"{encoder.name_or_path}: reads {positions - first} tokens, expected {setting}: {limit}"
        )


def load_tokenizer(name: str, config: PretrainedConfig | None = None) -> PreTrainedTokenizerBase:
    """Load the tokenizer of an encoder; a model that transformers lacks needs its ``config``."""
    with load_errors_as_sgdx(name, "tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(name, config=config, trust_remote_code=False)
    if not tokenizer.is_fast:
        raise SgdxError(
            f"{name}: its tokenizer {type(tokenizer).__name__} is slow, expected a fast one"
        )
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        # Without vocabulary files, transformers makes an empty tokenizer.
        raise SgdxError(f"{name}: has no tokenizer, expected one with a vocabulary")
    for token in ("pad_token", "cls_token", "sep_token"):
        if getattr(tokenizer, token) is None:
            raise SgdxError(
                f"{name}: the tokenizer has no {token}, expected the tokenizer of an encoder"
            )
    return tokenizer


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
