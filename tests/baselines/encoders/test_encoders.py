"""Encoders load or say why not; spans map to tokens and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoConfig, BertForMaskedLM, T5Config, T5Model

from baselines.encoders import (
    character_span,
    load_encoder,
    tiny_encoder,
    tiny_tokenizer,
    token_span,
)
from baselines.onepass.system import OnePassTracker
from sgdx_dataset import SgdxError

# [CLS] take me to gal ##way . [SEP]
OFFSETS = [(0, 0), (0, 4), (5, 7), (8, 10), (11, 14), (14, 17), (17, 18), (0, 0)]


@pytest.mark.parametrize(
    ("offsets", "characters", "tokens"),
    [
        (OFFSETS, (11, 17), (4, 5)),
        (OFFSETS, (0, 18), (1, 6)),
        (OFFSETS, (12, 17), None),  # begins inside a token
        (OFFSETS, (11, 16), None),  # ends inside a token
        (OFFSETS, (11, 30), None),  # beyond the end
        (OFFSETS, (0, 0), None),
        ([(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)], (1, 2), (1, 3)),  # bytes of one character
    ],
)
def test_a_span_of_tokens(
    offsets: list[tuple[int, int]], characters: tuple[int, int], tokens: tuple[int, int] | None
) -> None:
    assert token_span(offsets, *characters) == tokens


@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.data())
def test_spans_of_tokens_come_back(widths: list[int], data: st.DataObject) -> None:
    offsets, place = [(0, 0)], 0
    for width in widths:
        offsets.append((place, place + width))
        place += width + data.draw(st.integers(0, 1))
    first = data.draw(st.integers(1, len(widths)))
    last = data.draw(st.integers(first, len(widths)))
    assert token_span(offsets, *character_span(offsets, first, last)) == (first, last)


def test_an_encoder_is_found_in_a_model_with_a_head(tmp_path: Path) -> None:
    model, tokenizer = tiny_encoder(["Where to?"], 60, 32)
    head = BertForMaskedLM(model.config)
    head.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    loaded, _ = load_encoder(str(tmp_path))
    words = "embeddings.word_embeddings.weight"
    assert torch.equal(loaded.state_dict()[words], head.bert.state_dict()[words])


WORDS = ["Where to?"]
T5 = T5Config(vocab_size=60, d_model=16, d_ff=16, num_layers=1)


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        (lambda: [AutoConfig.for_model(OnePassTracker.NAME)], "onepass model"),
        (
            lambda: [T5Model(T5), tiny_tokenizer(WORDS, 60)],
            r"\(t5\)",
        ),
        (lambda: [tiny_encoder(WORDS, 60, 32)[0], without_cls(tiny_tokenizer(WORDS))], "cls_token"),
        (lambda: [tiny_tokenizer(WORDS)], "cannot be loaded"),
        # transformers makes one of special tokens alone up
        (lambda: [tiny_encoder(WORDS, 60, 32)[0]], "has no tokenizer"),
        (
            lambda: [
                tiny_encoder(WORDS, 60, 32)[0],
                tiny_tokenizer(["To the Botanical Garden in Galway"], 200),
            ],
            r"tokenizer has \d+ tokens",
        ),
    ],
)
def test_what_is_no_encoder_is_refused_in_one_line(
    parts: Callable[[], list[Any]], named: str, tmp_path: Path
) -> None:
    for part in parts():
        part.save_pretrained(tmp_path)
    with pytest.raises(SgdxError, match=f"^{tmp_path}: .*{named}") as caught:
        load_encoder(str(tmp_path))
    assert "\n" not in str(caught.value)


def without_cls(tokenizer: Any) -> Any:
    tokenizer.cls_token = None
    return tokenizer
