"""The time that long work will still take."""

from __future__ import annotations

import time

from datasets.utils import tqdm


class Eta:
    """Estimates the time left until a count is reached, from the speed so far."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end
        self._since = time.perf_counter()

    def left(self, count: int) -> str:
        """The time left after ``count``, as in 1:02:03 or 04:05; ? before anything is done."""
        if count <= self.begin:
            return "?"
        seconds = time.perf_counter() - self._since
        rest = seconds * (self.end - count) / (count - self.begin)
        return str(tqdm.format_interval(rest))
