"""Batches: every example once, within size and budget, the same in every process."""

from __future__ import annotations

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from baselines.batching import by_length, cut, epoch, training_batches
from baselines.recipes import find_recipe, read_recipe

LENGTHS = np.array([5, 9, 2, 7, 7, 1, 3, 8])


def test_longest_first_under_a_budget_which_one_example_may_exceed() -> None:
    batches = [batch.tolist() for batch in by_length(LENGTHS, 3, 16)]
    # 9+8 would be 2 x 9 = 18 tokens with padding
    assert batches == [[1], [7, 3], [4, 0], [6, 2, 5]]
    assert [b.tolist() for b in cut(np.array([0, 1]), np.array([50, 1]), 8, 10)] == [[0], [1]]
    assert cut(np.array([], int), LENGTHS, 8, 10) == []


@given(st.lists(st.integers(1, 60), min_size=1, max_size=300), st.integers(1, 9), st.integers(0, 3))
def test_an_epoch_has_each_example_once(lengths: list[int], size: int, number: int) -> None:
    column = np.array(lengths)
    batches = epoch(column, size, 64, 1, number)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= size
        assert len(batch) == 1 or column[batch].max() * len(batch) <= 64


def test_epochs_differ_and_repeat() -> None:
    lengths = np.arange(1, 200)
    first, again, second = (epoch(lengths, 4, 1000, 7, number) for number in (0, 0, 1))
    assert [b.tolist() for b in first] == [b.tolist() for b in again]
    assert [b.tolist() for b in first] != [b.tolist() for b in second]
    padded = sum(lengths[b].max() * len(b) for b in first)
    assert padded < 1.05 * lengths.sum()  # without grouping about 1.6


def test_a_training_can_begin_anywhere_and_be_dealt() -> None:
    def deal(begin: int, end: int, process: int = 0, processes: int = 1) -> list[list[int]]:
        recipe = {"batch_size": 2 * processes, "token_budget": 100, "seed": 3, "steps": end}
        settings = read_recipe(find_recipe("onepass/smoke"))
        settings = msgspec.structs.replace(settings, accumulation=1, **recipe)
        batches = training_batches(settings, LENGTHS, begin, process, processes)
        return [batch.tolist() for batch in batches]

    whole = deal(0, 12)
    assert len(whole) == 12
    assert deal(5, 12) == whole[5:]
    assert deal(0, 6, 0, 2) == whole[0::2]
    assert deal(2, 6, 1, 2) == whole[1::2][2:]
