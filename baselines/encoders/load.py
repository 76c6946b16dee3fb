"""Text encoders of BERT's architecture, for trackers to build on; spans between text and tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertModel,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    set_seed,
)

from sgdx_dataset import SgdxError

_SPECIAL = ("pad_token", "cls_token", "sep_token")


def load_encoder(
    name: str, dtype: torch.dtype = torch.float32
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """An encoder and its fast tokenizer by name or folder; its weights are never a pickle.

    Raises:
        SgdxError: There is none, it is no encoder, its tokenizer is not fast (only fast ones know
            where in the text a token stands) or lacks ``[PAD]``, ``[CLS]`` or ``[SEP]``.
    """
    try:
        config = AutoConfig.from_pretrained(name)
        if config.is_encoder_decoder:
            raise SgdxError(f"{name}: is an encoder-decoder ({config.model_type}), not an encoder")
        tokenizer = load_tokenizer(name)
        model = AutoModel.from_pretrained(name, dtype=dtype, use_safetensors=True)
    except SgdxError:
        raise
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(f"{name}: encoder cannot be loaded: {reason}") from None
    known = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > known:
        raise SgdxError(f"{name}: the tokenizer has {len(tokenizer)} tokens, the encoder {known}")
    return model, tokenizer


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """An encoder's tokenizer by name or folder; errors as ``load_encoder``."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().split("\n")[0]
        raise SgdxError(f"{name}: tokenizer cannot be loaded: {reason}") from None
    if not tokenizer.is_fast:
        raise SgdxError(f"{name}: its {type(tokenizer).__name__} is slow, expected a fast one")
    if len(tokenizer) <= len(tokenizer.all_special_tokens):  # made up, where its files are missing
        raise SgdxError(f"{name}: has no tokenizer, expected one with a vocabulary")
    for token in _SPECIAL:
        if getattr(tokenizer, token) is None:
            raise SgdxError(f"{name}: the tokenizer has no {token}, expected an encoder's")
    return tokenizer


def pooled(output: Any) -> torch.Tensor:
    """What an encoder's output says of whole texts [texts, hidden]: pooled, or else ``[CLS]``'s."""
    vector: torch.Tensor | None = getattr(output, "pooler_output", None)
    return output.last_hidden_state[:, 0] if vector is None else vector


def token_span(offsets: Sequence[Sequence[int]], start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token of a span of characters.

    Args:
        offsets: Per token, the characters [begin, end) of the text; special tokens have (0, 0).
        start, end: Of the span: the characters [start, end).

    Returns:
        Tokens that cover the span and nothing else, or None if there are none: the span begins or
        ends inside a token, or beyond those that are there.
    """
    first = [i for i, (begin, stop) in enumerate(offsets) if begin == start and stop > begin]
    last = [i for i, (begin, stop) in enumerate(offsets) if stop == end and stop > begin]
    # Bytes of one character have the same offsets.
    return (first[0], last[-1]) if first and last and start < end else None


def character_span(offsets: Sequence[Sequence[int]], first: int, last: int) -> tuple[int, int]:
    """The characters [start, end) from the first to the last token: ``token_span``, undone."""
    return int(offsets[first][0]), int(offsets[last][1])


def corpus_texts(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """What is said in frame rows and in their schemas, each text once."""
    seen: set[str] = set()
    for row in rows:
        said = (turn["utterance"] for turn in row["history"])
        for text in (*said, row["utterance"], *schema_texts(row["schema"])):
            if text not in seen:
                seen.add(text)
                yield text


def schema_texts(schema: dict[str, Any]) -> Iterator[str]:
    """A service's names, descriptions and values."""
    yield schema["description"]
    for element in (*schema["intents"], *schema["slots"]):
        yield from (element["name"], element["description"], *element.get("possible_values", ()))


def tiny_encoder(
    texts: Iterable[str], vocabulary: int = 2000, hidden: int = 64, seed: int = 0
) -> tuple[BertModel, PreTrainedTokenizerFast]:
    """A BERT of 2 layers and a tokenizer of these texts, to try recipes with.

    Its weights are random, and those of a seed always the same.
    """
    tokenizer = tiny_tokenizer(texts, vocabulary)
    set_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_hidden_layers=2,
        num_attention_heads=4,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.1,  # random texts should not all look alike
    )
    return BertModel(config), tokenizer


def tiny_tokenizer(texts: Iterable[str], vocabulary: int = 2000) -> PreTrainedTokenizerFast:
    """A cased WordPiece tokenizer with the most frequent words of these texts and all characters.

    The same texts always give the same one, as trainers of tokenizers do not promise.
    """
    names = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    normalizer = normalizers.BertNormalizer(lowercase=False)
    words = Counter(word for text in texts for word, _ in split(normalizer.normalize_str(text)))
    letters = sorted({letter for word in words for letter in word})
    frequent = sorted(words, key=lambda word: (-words[word], word))
    pieces = dict.fromkeys([*names, *letters, *(f"##{each}" for each in letters)])
    pieces |= dict.fromkeys(frequent[: max(0, vocabulary - len(pieces))])
    places = {piece: place for place, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(places, unk_token="[UNK]"))  # noqa: S106  # no password
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, places[name]) for name in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{name[1:-1].lower()}_token": name for name in names},
    )
