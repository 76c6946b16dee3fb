"""Inputs: the schema part survives, each text is tokenized once, answers match the joint text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from baselines.t5dst.data import Inputs, Texts, TokenLimits, filled
from baselines.t5dst.formats import FORMATS
from baselines.t5dst.model import tiny_tokenizer
from baselines.t5dst.settings import FormatName
from sgdx_dataset import frames, load
from sgdx_dataset.tracker_inputs import GOLD


@pytest.fixture(scope="module")
def rows() -> Any:
    return frames(load("original", "train", "sample")).select(range(24))


@pytest.fixture(scope="module")
def tokenizer(rows: Any) -> PreTrainedTokenizerFast:
    return tiny_tokenizer(rows["utterance"], 400)


def read(rows: Any, name: FormatName, shuffle: int | None = None) -> Texts:
    return Texts(rows, FORMATS[name], shuffle, with_answers=shuffle is not None)


@pytest.mark.parametrize("name", FORMATS)
def test_history_is_cut_from_its_beginning_and_the_schema_survives(
    rows: Any, tokenizer: PreTrainedTokenizerFast, name: FormatName
) -> None:
    prompt, texts = FORMATS[name], read(rows, name)
    whole = Inputs(texts, tokenizer, prompt, TokenLimits(4096, 64))
    nothing = {"inputs": 0, "of": len(texts.pairs), "history_tokens": 0, "answers": 0}
    assert whole.facts["cut"] == nothing
    longest = max(len(part) for part in whole.parts)
    short = Inputs(texts, tokenizer, prompt, TokenLimits(longest + 12, 64))
    assert short.facts["cut"]["inputs"] > 0
    assert short.facts["cut"]["history_tokens"] == int((whole.lengths - short.lengths).sum())
    histories, parts = list(texts.histories), list(texts.parts)
    for index, (history, part) in enumerate(texts.pairs):
        ids = short.ids(short.numbers[index])
        assert len(ids) == short.lengths[index] <= longest + 12
        text = str(tokenizer.decode(ids, skip_special_tokens=True))
        assert parts[part].strip() in text
        kept = text.replace(parts[part], "").lstrip("\N{REPLACEMENT CHARACTER}")  # half a letter
        assert histories[history].endswith(kept)


def test_a_batch_counts_by_the_tokens_of_its_answers(
    rows: Any, tokenizer: PreTrainedTokenizerFast
) -> None:
    inputs = Inputs(read(rows, "t5dst", 0), tokenizer, FORMATS["t5dst"], TokenLimits(256, 32))
    plain = inputs.batch(np.array([0, 9]))
    for batch in (plain, filled(plain, 4, 256, 32)):
        assert batch["weight"].item() == (batch["labels"] != -100).sum().item()
        assert batch["attention_mask"].sum(1).tolist()[:2] == inputs.lengths[[0, 9]].tolist()
    assert (batch["input_ids"].shape, batch["labels"].shape) == ((4, 256), (4, 32))


def test_shuffling_depends_on_the_seed_alone(rows: Any) -> None:
    first, again, other = (list(read(rows, "d3st", seed).parts) for seed in (1, 1, 2))
    assert first == again != other
    shown = Texts(rows.remove_columns(list(GOLD)), FORMATS["d3st"], 1)  # to predict, without gold
    assert list(shown.parts) == first
    assert not shown.targets
