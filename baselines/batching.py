"""Which examples make a batch, in which order, and in which process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from sgdx_dataset import SgdxError

from .settings import TrainingSettings

Ints = NDArray[np.int64]
_POOL = 64  # an epoch sorts the examples of this many full batches together by length


def padded(
    rows: Sequence[Sequence[int] | NDArray[np.integer]], fill: int = 0, width: int = 1
) -> Ints:
    """Rows of different lengths as an array [rows, the longest row, or ``width`` if it is more]."""
    array = np.full((len(rows), max([width, *map(len, rows)])), fill, np.int64)
    for number, row in enumerate(rows):
        array[number, : len(row)] = row
    return array


def share(batch_size: int, accumulation: int, processes: int) -> int:
    """The number of examples in one batch of one process."""
    batches = accumulation * processes
    if batch_size % batches:
        raise SgdxError(
            f"batch_size: {batch_size} examples a step cannot be shared equally by {processes} "
            f"processes x {accumulation} batches, expected a multiple of {batches}"
        )
    return batch_size // batches


def cut(order: Ints, lengths: Ints, size: int, budget: int) -> list[Ints]:
    """Cut the examples ``order`` [n] into consecutive batches of at most ``budget`` tokens."""
    # Padding counts as tokens. A longer example makes a batch of its own.
    batches, start, longest = [], 0, 0
    for end, length in enumerate(lengths[order].tolist()):
        longest = max(longest, length)
        if end > start and (end - start == size or longest * (end - start + 1) > budget):
            batches.append(order[start:end])
            start, longest = end, length
    return [*batches, order[start:]] if len(order) else []


def by_length(lengths: Ints, size: int, budget: int) -> list[Ints]:
    """Batches of all examples, longest first, so that a lack of memory shows in the first batch."""
    return cut(np.argsort(-lengths, kind="stable"), lengths, size, budget)


def epoch(lengths: Ints, size: int, budget: int, seed: int, number: int) -> list[Ints]:
    """The batches of one epoch, which contain every example once, in random order."""
    rng = np.random.default_rng((seed, number))
    order = rng.permutation(len(lengths))
    pools = [order[i : i + size * _POOL] for i in range(0, len(order), size * _POOL)]
    grouped = np.concatenate([pool[np.argsort(lengths[pool], kind="stable")] for pool in pools])
    batches = cut(grouped, lengths, size, budget)
    return [batches[i] for i in rng.permutation(len(batches))]


def training_batches(
    settings: TrainingSettings, lengths: Ints, step: int = 0, process: int = 0, processes: int = 1
) -> list[Ints]:
    """The batches of one process after ``step``; epochs follow each other without a break."""
    size = share(settings.batch_size, settings.accumulation, processes)

    def endless() -> Iterator[Ints]:
        for number in count():
            yield from epoch(lengths, size, settings.token_budget, settings.seed, number)

    # The processes take batches in turn.
    begin, end = (steps * settings.accumulation * processes for steps in (step, settings.steps))
    return list(islice(endless(), begin + process, end, processes))
