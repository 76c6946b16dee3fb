"""A turn's tokens: the layout, the limit, spans and the texts that they are."""

from __future__ import annotations

import pytest
from transformers import PreTrainedTokenizerFast

from baselines.encoders.tiny import tiny_tokenizer
from baselines.sgd_baseline.labels import find_span
from baselines.sgd_baseline.turns import SYSTEM, USER, TokenizedTurn, TokenizedTurns

TEXTS = [("Where to?", "To Galway, at 6."), ("", "To Galway.")]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return tiny_tokenizer([text for pair in TEXTS for text in pair] * 9, 200)


def turn(tokenizer: PreTrainedTokenizerFast, system: str, user: str) -> TokenizedTurn:
    return TokenizedTurns([(system, user)], tokenizer, 80).turn(0)


def test_layout(tokenizer: PreTrainedTokenizerFast) -> None:
    turns = TokenizedTurns(TEXTS, tokenizer, 80)
    batch = turns.batch([1, 0])
    words = [tokenizer.convert_ids_to_tokens(row) for row in batch["input_ids"].tolist()]
    assert words[0][:6] == ["[CLS]", "[SEP]", "To", "Galway", ".", "[SEP]"]
    assert words[1][:5] == ["[CLS]", "Where", "to", "?", "[SEP]"]
    assert words[0][6:] == ["[PAD]"] * 10
    assert batch["attention_mask"].sum(1).tolist() == turns.lengths[[1, 0]].tolist() == [6, 12]
    assert batch["token_type_ids"][1].tolist() == [0] * 5 + [1] * 7 + [0] * 4
    assert turns.batch_sides([1], 8).tolist() == [[-1, -1, 1, 1, 1, -1, -1, -1]]
    assert turns.cut == 0


def test_the_limit(tokenizer: PreTrainedTokenizerFast) -> None:
    turns = TokenizedTurns([("Where to? " * 30, "To Galway."), TEXTS[1]], tokenizer, 16)
    assert turns.lengths.tolist() == [16, 6]
    assert turns.cut == 1
    assert turns.turn(0).text(13, 13) == "Galway"  # the shorter of the two stays whole


def test_spans_of_either_text(tokenizer: PreTrainedTokenizerFast) -> None:
    made = turn(tokenizer, *TEXTS[0])
    assert made.tokens(SYSTEM, 6, 8) == (2, 2)
    assert made.text(2, 2) == "to"
    assert made.tokens(USER, 3, 9) == (6, 6)
    assert made.text(6, 6) == "Galway"
    assert made.text(5, 6) == "To Galway"
    assert made.tokens(USER, 4, 9) is None


@pytest.mark.parametrize(
    ("system", "user", "values", "marked", "found"),
    [
        ("Where to?", "To Galway, at 6.", ["Galway"], [], "Galway"),
        ("To Galway?", "Yes.", ["Cork", "Galway"], [], "Galway"),
        ("To Galway?", "To Galway.", ["Galway"], [], "user"),
        ("At 6?", "At 16 or 6.", ["6"], [], "6"),  # not within 16
        ("", "to to to", ["to"], [(3, 5)], "second"),
        ("", "Somewhere else.", ["Galway"], [], None),
        ("", "Galways", ["Galway"], [], None),
    ],
)
def test_find_span(
    tokenizer: PreTrainedTokenizerFast,
    system: str,
    user: str,
    values: list[str],
    marked: list[tuple[int, int]],
    found: str | None,
) -> None:
    made = turn(tokenizer, system, user)
    span = find_span(made, values, marked)
    if found is None:
        assert span is None
        return
    assert span is not None
    said = {"user": "Galway", "second": "to"}.get(found, found)
    assert made.text(*span) == said
    if found == "user":
        assert made.sides[span[0]] == USER
    if found == "second":
        assert span == (3, 3)
