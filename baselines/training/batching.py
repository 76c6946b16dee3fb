"""Group examples of similar length into batches under a token budget, given their lengths."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sgdx_dataset import SgdxError

Ints = NDArray[np.int64]
_POOL = 64  # an epoch sorts the examples of this many full batches together by length


def share(batch_size: int, accumulation: int, processes: int) -> int:
    """The number of examples in one batch of one process.

    Args:
        batch_size: Number of examples of an optimizer step, over all processes.
        accumulation: Number of batches in which a process reads its share of a step.
        processes: Number of processes.

    Raises:
        SgdxError: The examples cannot be shared equally.
    """
    batches = accumulation * processes
    if batch_size % batches:
        raise SgdxError(
            f"batch_size: {batch_size} examples a step cannot be shared equally by {processes} "
            f"processes x {accumulation} batches, expected a multiple of {batches}"
        )
    return batch_size // batches


def cut(order: Ints, lengths: Ints, size: int, budget: int) -> list[Ints]:
    """Cut a sequence of examples into consecutive batches.

    Args:
        order: Indices of examples [n], with similar lengths next to each other.
        lengths: Number of tokens of each example [examples].
        size: Maximum number of examples in a batch.
        budget: Maximum number of tokens in a batch, padding included. A longer example makes a
            batch of its own.

    Returns:
        The indices of each batch, [examples of the batch] each.
    """
    batches, start, longest = [], 0, 0
    for end, length in enumerate(lengths[order].tolist()):
        longest = max(longest, length)
        if end > start and (end - start == size or longest * (end - start + 1) > budget):
            batches.append(order[start:end])
            start, longest = end, length
    return [*batches, order[start:]] if len(order) else []


def by_length(lengths: Ints, size: int, budget: int) -> list[Ints]:
    """Batches of all examples, longest first, so that a lack of memory shows in the first batch.

    Args:
        lengths: Number of tokens of each example [examples].
        size: Maximum number of examples in a batch.
        budget: Maximum number of tokens in a batch, padding included.
    """
    return cut(np.argsort(-lengths, kind="stable"), lengths, size, budget)


def epoch(lengths: Ints, size: int, budget: int, seed: int, number: int) -> list[Ints]:
    """The batches of one epoch, which contain every example once, in random order.

    Args:
        lengths: Number of tokens of each example [examples].
        size: Maximum number of examples in a batch.
        budget: Maximum number of tokens in a batch, padding included.
        seed: Random seed, which together with ``number`` determines the order.
        number: Number of the epoch, from 0.
    """
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
    """The training batches of one process; epochs follow each other without a break.

    Args:
        lengths: Number of tokens of each example [examples].
        size: Maximum number of examples in a batch.
        budget: Maximum number of tokens in a batch, padding included.
        seed: Random seed of the order of the examples.
        begin: Number of the first batch to return; the process's batches are numbered from 0.
        end: Number of the batch to stop before.
        process: Index of the process, from 0. The processes take batches in turn.
        processes: Number of processes.
        whole: Whether to leave out batches of fewer than ``size`` examples, for static shapes.
    """
    batches = _endless(lengths, size, budget, seed, whole)
    return list(islice(batches, begin * processes + process, end * processes, processes))


def _endless(lengths: Ints, size: int, budget: int, seed: int, whole: bool) -> Iterator[Ints]:
    number = 0
    while True:
        batches = epoch(lengths, size, budget, seed, number)
        full = [batch for batch in batches if len(batch) == size] if whole else batches
        yield from full or batches
        number += 1
