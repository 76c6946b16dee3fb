"""The clock of the benchmarks that run models."""

from __future__ import annotations

import time

import torch


def now() -> float:
    """Seconds since some moment, to be subtracted from each other.

    On CPUs it is CPU time of all threads together, so that other work on the machine changes the
    figures little. On a GPU it is the time on the wall after all work given to the GPU is done.
    """
    if not torch.cuda.is_available():
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()
