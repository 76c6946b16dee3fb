"""From logits to changes: the best span, statuses, values."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from baselines.sgd_baseline.batches import SlotQuestions
from baselines.sgd_baseline.decode import best_spans, read_changes
from baselines.sgd_baseline.schema_embeddings import ElementTable
from baselines.sgd_baseline.states import Change

from .test_schema_embeddings import CABS

SIDES = [-1, 0, 0, 0, -1, 1, 1, 1, -1, -1]


def test_best_spans_on_literal_logits() -> None:
    start, end = torch.zeros(3, 10), torch.zeros(3, 10)
    start[0, 6], end[0, 7] = 2.0, 2.0
    start[1, 7], end[1, 5], end[1, 7] = 3.0, 9.0, 1.0  # the end may not be before the start
    start[2, 2], end[2, 7], end[2, 3] = 5.0, 5.0, 1.0  # nor in the other text
    start[:, 4] = end[:, 9] = 4.0  # special tokens are no text
    first, last = best_spans(start, end, torch.tensor([SIDES] * 3))
    assert list(zip(first.tolist(), last.tolist())) == [(6, 7), (5, 5), (2, 3)]


def test_what_is_not_in_the_turn_is_at_its_first_token() -> None:
    start, end = torch.zeros(3, 10), torch.zeros(3, 10)
    start[:, 0] = end[:, 0] = 3.0
    start[1, 5] = end[1, 6] = 4.0  # a better span
    start[2, 5] = 3.5  # a better first token, but its partners are worse
    first, last = best_spans(start, end, torch.tensor([SIDES] * 3))
    assert list(zip(first.tolist(), last.tolist())) == [(-1, -1), (5, 6), (-1, -1)]


def test_no_text_no_span() -> None:
    first, last = best_spans(torch.zeros(1, 3), torch.zeros(1, 3), torch.full((1, 3), -1))
    assert (first.tolist(), last.tolist()) == ([-1], [-1])
    none = best_spans(torch.zeros(0, 3), torch.zeros(0, 3), torch.zeros(0, 3))
    assert [len(each) for each in none] == [0, 0]


@given(st.integers(0, 1000))
def test_best_spans_are_those_of_trying_all(seed: int) -> None:
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


class _Examples:
    """Two frames of one service and one turn."""

    def __init__(self) -> None:
        self.table = ElementTable([CABS])
        self.frames: Any = type("F", (), {"service": np.array([0, 0]), "text": np.array([0, 0])})
        self.turns: Any = type("T", (), {"turn": staticmethod(lambda index: self)})

    def text(self, first: int, last: int) -> str:
        return f"{first}-{last}"


def test_changes() -> None:
    asked = SlotQuestions(
        np.arange(2), np.array([0, 0]), np.arange(2), np.array([0, 0]), np.arange(2)
    )
    logits = {
        "intent": [[0.0, 1.0, 2.0], [3.0, 1.0, 2.0]],
        "requested": [-1.0, 1.0, 0.1, -0.1],  # seats, seats, to, to
        "categorical_status": [[0.0, 1.0, 2.0], [0.0, 2.0, 1.0]],
        "value": [[0.0, 1.0], [1.0, 0.0]],
        "free_status": [[9.0, 0.0, 0.0], [0.0, 0.0, 9.0]],
    }
    tensors = {name: torch.tensor(column) for name, column in logits.items()}
    examples: Any = _Examples()
    assert read_changes(examples, asked, tensors, [(1, 4, 6)]) == [
        Change("FindCab", ["to"], {"seats": "2"}),
        Change("NONE", ["seats"], {"seats": "dontcare", "to": "4-6"}),
    ]
    tensors["free_status"] = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 9.0]])
    found = read_changes(examples, asked, tensors, [(1, -1, -1)])
    assert [change.slot_values.get("to") for change in found] == ["dontcare", None]
