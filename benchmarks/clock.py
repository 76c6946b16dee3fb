"""The clocks of the benchmarks, and how work is timed by them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch

_Result = TypeVar("_Result")


def work_clock() -> float:
    """Seconds since some moment, of which only differences mean anything.

    On CPUs it is the CPU time of all threads together, so that other work on the machine changes
    the figures little. On a GPU it is the wall time after all work given to the GPU is done.
    """
    return wall_clock() if torch.cuda.is_available() else time.process_time()


def wall_clock() -> float:
    """Wall time in seconds, after all work given to a GPU is done."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def timed(
    work: Callable[..., _Result], *arguments: object, clock: Callable[[], float] = work_clock
) -> tuple[float, _Result]:
    """The seconds that a call takes, and its result.

    Args:
        work: The function to call.
        arguments: Its arguments.
        clock: The clock to time it by.
    """
    start = clock()
    result = work(*arguments)
    return clock() - start, result


@contextmanager
def timing(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Add the seconds that a block takes, by ``work_clock``, to those of a name."""
    start = work_clock()
    yield
    seconds[name] = seconds.get(name, 0.0) + work_clock() - start
