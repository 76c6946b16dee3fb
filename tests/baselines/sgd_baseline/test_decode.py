"""From a turn's tokens and logits to changes and states."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from baselines.encoders import tiny_tokenizer
from baselines.sgd_baseline.data import (
    SYSTEM,
    USER,
    TokenizedTurn,
    TokenizedTurns,
    find_span,
)
from baselines.sgd_baseline.system import best_spans

SIDES = [-1, 0, 0, 0, -1, 1, 1, 1, -1, -1]


@given(st.integers(0, 1000))
def test_best_spans_are_those_of_trying_all_and_may_be_not_in_the_turn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start, end = (torch.from_numpy(rng.normal(scale=2, size=(1, 10))) for _ in range(2))
    begins, ends = (
        np.exp(each) / np.exp(each).sum() for each in (start[0].numpy(), end[0].numpy())
    )
    sums = {
        (i, j): begins[i] + ends[j]
        for i in range(10)
        for j in range(i, 10)
        if SIDES[i] == SIDES[j] >= 0 or i == j == 0
    }
    best = max(sums, key=lambda span: sums[span])
    first, last = best_spans(start, end, torch.tensor([SIDES]))
    assert (first.item(), last.item()) == (best if best != (0, 0) else (-1, -1))


TEXTS = [("Where to?", "To Galway, at 6."), ("", "To Galway.")]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return tiny_tokenizer([text for pair in TEXTS for text in pair] * 9, 200)


def turn(tokenizer: PreTrainedTokenizerFast, system: str, user: str) -> TokenizedTurn:
    return TokenizedTurns([(system, user)], tokenizer, 80).turn(0)


def test_the_limit(tokenizer: PreTrainedTokenizerFast) -> None:
    turns = TokenizedTurns([("Where to? " * 30, "To Galway."), TEXTS[1]], tokenizer, 16)
    assert turns.lengths.tolist() == [16, 6]
    assert turns.cut == 1
    assert turns.turn(0).text(13, 13) == "Galway"  # the shorter of the two stays whole
    turns = TokenizedTurns([("Where to?", "To Galway. " * 30)], tokenizer, 16)
    assert turns.lengths.tolist() == [16]
    assert turns.turn(0).text(1, 3) == "Where to?"


@pytest.mark.parametrize(
    ("system", "user", "values", "said", "side"),
    [
        ("Where to?", "To Galway, at 6.", ["Galway"], "Galway", USER),
        ("To Galway?", "Yes.", ["Cork", "Galway"], "Galway", SYSTEM),
        ("To Galway?", "To Galway.", ["Galway"], "Galway", USER),
        ("At 6?", "At 16 or 6.", ["6"], "6", USER),  # not within 16
        ("", "Somewhere else.", ["Galway"], None, None),
        ("", "Galways", ["Galway"], None, None),
    ],
)
def test_find_span(
    tokenizer: PreTrainedTokenizerFast, system: str, user: str, values: list[str],
    said: str | None, side: int | None,
) -> None:  # fmt: skip
    made = turn(tokenizer, system, user)
    span = find_span(made, values, [])
    found = None if span is None else (made.text(*span), made.sides[span[0]])
    assert found == (None if said is None else (said, side))


def test_the_marked_one_of_equal_words(tokenizer: PreTrainedTokenizerFast) -> None:
    assert find_span(turn(tokenizer, "", "to to to"), ["to"], [(3, 5)]) == (3, 3)
