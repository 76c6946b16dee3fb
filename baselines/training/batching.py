"""Batches of examples of like length under a token budget: plain functions of lengths."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_POOL = 64  # batches' worth of examples that are sorted together


def cut(order: Ints, lengths: Ints, size: int, budget: int) -> list[Ints]:
    """Cut ``order`` into batches.

    Args:
        order: Indices into ``lengths``, like lengths beside each other.
        lengths: Tokens of each example.
        size: The most examples in a batch.
        budget: The most tokens in a batch, padding included; one example alone may have more.
    """
    batches, start, longest = [], 0, 0
    for end, length in enumerate(lengths[order].tolist()):
        longest = max(longest, length)
        if end > start and (end - start == size or longest * (end - start + 1) > budget):
            batches.append(order[start:end])
            start, longest = end, length
    return [*batches, order[start:]] if len(order) else []


def by_length(lengths: Ints, size: int, budget: int) -> list[Ints]:
    """All examples, the longest first: where memory does not suffice, it shows at once."""
    return cut(np.argsort(-lengths, kind="stable"), lengths, size, budget)


def epoch(lengths: Ints, size: int, budget: int, seed: int, number: int) -> list[Ints]:
    """One epoch's batches: each example once, in an order that seed and number decide."""
    rng = np.random.default_rng((seed, number))
    order = rng.permutation(len(lengths))
    pools = [order[i : i + size * _POOL] for i in range(0, len(order), size * _POOL)]
    grouped = np.concatenate([pool[np.argsort(lengths[pool], kind="stable")] for pool in pools])
    batches = cut(grouped, lengths, size, budget)
    return [batches[i] for i in rng.permutation(len(batches))]


def training_batches(
    lengths: Ints,
    size: int,
    budget: int,
    seed: int,
    *,
    begin: int,
    end: int,
    process: int = 0,
    processes: int = 1,
    whole: bool = False,
) -> list[Ints]:
    """One process's batches of a training, epoch after epoch.

    Args:
        begin, end: Which of the process's own batches, counted from the training's start.
        process, processes: Batches are dealt to the processes in turn.
        whole: Leave out batches of fewer than ``size``, as static shapes want.
    """
    batches = _endless(lengths, size, budget, seed, whole)
    return list(islice(batches, begin * processes + process, end * processes, processes))


def _endless(lengths: Ints, size: int, budget: int, seed: int, whole: bool) -> Iterator[Ints]:
    number = 0
    while True:
        batches = epoch(lengths, size, budget, seed, number)
        kept = [batch for batch in batches if len(batch) == size] if whole else batches
        yield from kept or batches
        number += 1
