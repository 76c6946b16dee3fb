"""Sequences, features and tokens of questions, literally; cutting, spans there and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerBase

from baselines.encoders import corpus_texts, tiny_tokenizer
from baselines.sgp_dst.data import Questions, Sequences, Vocabulary
from baselines.sgp_dst.questions import (
    Question,
    combine_prompt,
    intent_prompt,
    turn_text,
)
from baselines.sgp_dst.training import (
    READS,
    ExampleColumns,
    SgpProvenance,
    SubModel,
    TrainingData,
    training_examples,
)
from sgdx_dataset import SgdxError, frames, load
from sgdx_dataset.schema import Service, read_service
from sgdx_dataset.tracker_inputs import training_columns

from .conftest import CABS

_WORDS = """sys usr null do not care tag sort keep jump none # : ? , . shared destination Whether
others ride along True False Where to the ride goes Bath please Call a cab OrderCab Look up
PlanRide"""
VOCABULARY = Vocabulary(tiny_tokenizer([_WORDS] * 3))


def sequences(*questions: Question, limit: int = 144) -> Sequences:
    return Sequences(Questions(questions), VOCABULARY, limit)


def tokens(made: Sequences, index: int) -> list[str]:
    return list(VOCABULARY.tokenizer.convert_ids_to_tokens(made.table(index)[0].tolist()))


def test_a_batch(cabs: Service) -> None:
    said = turn_text("Where to?", "Bath, please")
    made = sequences(
        Question(said, combine_prompt(cabs, "shared"), 4),
        Question(said, intent_prompt(cabs, "NONE", True)),
    )
    assert " ".join(tokens(made, 0)) == (
        "[CLS] sys : Where to ? usr : Bath , please null [SEP] sort # shared # Whether others ride"
        " along [SEP] null [SEP] do not care [SEP] True [SEP] False [SEP]"
    )
    batch = made.batch(np.array([0, 1]))
    assert batch["input_ids"].shape == (2, 32)
    assert batch["attention_mask"].sum(1).tolist() == made.lengths.tolist() == [32, 29]
    elements = [0] + [-1] * 11 + [0] * 10 + [1, 0, 2, 2, 2, 0, 3, 0, 4, 0]
    assert batch["elements"][0].tolist() == elements
    assert batch["present"].tolist() == [[True] * 4, [True] * 3 + [False]]
    assert made.is_categorical(0)
    assert not sequences(Question(said, combine_prompt(cabs, "fare"))).is_categorical(0)
    assert batch["features"][0].tolist() == [4] * 32
    assert batch["token_type_ids"][0].tolist() == [0] * 13 + [1] * 19
    assert batch["input_ids"][1, 29:].tolist() == [VOCABULARY.tokenizer.pad_token_id] * 3
    features = dict(zip(tokens(made, 1), batch["features"][1].tolist()))
    assert (features["none"], features["Call"], features["[CLS]"]) == (1, 0, 0)
    assert (made.null(0), made.user(0)) == (11, (8, 11))
    assert [tokens(made, 0)[i] for i in range(*made.user(0))] == ["Bath", ",", "please"]


def test_the_last_tokens_of_a_turn_survive(cabs: Service) -> None:
    said = turn_text("Where to?", "Bath, please")
    made = sequences(Question(said, combine_prompt(cabs, "shared")), limit=26)
    assert " ".join(tokens(made, 0)).startswith("[CLS] : Bath , please null [SEP] sort # shared #")
    assert tokens(made, 0)[-2:] == ["False", "[SEP]"]
    assert (len(tokens(made, 0)), made.lengths.tolist(), made.cut) == (26, [26], 1)
    assert made.user(0) == (2, 5)
    assert made.tokens(0, 6, 11) is None  # "Where" was cut
    start = said.text.index("Bath")
    assert made.tokens(0, start, start + 4) == (2, 2)
    assert made.characters(0, 2, 4) == (start, len(said.text))


def test_no_room_for_a_turn(cabs: Service) -> None:
    with pytest.raises(SgdxError, match="max_tokens: 22 leave no room.*'sort # shared # Whether"):
        sequences(Question(turn_text("", "a"), combine_prompt(cabs, "shared")), limit=22)


_WORD = st.text("abc Bath,.?é", min_size=1, max_size=8)


@given(system=_WORD, user=_WORD, limit=st.integers(20, 40))
def test_the_users_tokens_are_the_users(system: str, user: str, limit: int) -> None:
    schema = read_service(CABS)
    said = turn_text(system, user)
    made = sequences(Question(said, combine_prompt(schema, "destination")), limit=limit)
    first, end = made.user(0)
    assert end == made.null(0)
    if first < end:
        start, stop = made.characters(0, first, end - 1)
        assert said.text[start:stop].strip() in user
        assert stop == len(said.text.rstrip())
        assert made.tokens(0, start, stop) == (first, end - 1)


def lesson(tokenizer: PreTrainedTokenizerBase, rows: object) -> TrainingData:
    provenance = SgpProvenance(part="combine", max_tokens=144, model="")
    sub = SubModel(None, tokenizer, provenance)  # type: ignore[arg-type]
    found = training_examples("combine", rows)
    return TrainingData(ExampleColumns(found), sub)


@pytest.mark.parametrize("split", ["train", "test"])
def test_every_gold_span_is_tokens_and_back(split: str) -> None:
    """Of the sample, system turns' too."""
    rows = training_columns(frames(load("original", split, "sample")), READS)
    _check_spans(lesson(tiny_tokenizer(corpus_texts(rows)), rows), most_missed=0)


def _check_spans(made: TrainingData, most_missed: int) -> None:
    spans = np.flatnonzero(made.labels[:, 0] >= 0)
    assert len(spans) > 200
    missed = 0
    for index in spans.tolist():
        start, end = made.labels[index, :2].tolist()
        tokens = made.sequences.tokens(index, start, end)
        if tokens is None:
            missed += 1
            continue
        assert made.sequences.characters(index, *tokens) == (start, end)
        assert made.batch(np.array([index]))["labels"][0, :2].tolist() == list(tokens)
    assert missed == made.missed <= most_missed
