"""How many requests are sent at once, and how long to wait before a failed one is tried again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class RetryPolicy:
    """How often a request is tried, and how long to wait in between."""

    tries: int = 6  # how often a request is tried before it is given up for this run
    # The longest wait after the first fault, in seconds; it doubles with each further one.
    first: float = 1.0
    # The longest wait that is drawn, in seconds. A longer wait that the server asks for is kept all
    # the same.
    longest: float = 60.0

    def wait(self, faults: int, asked: float | None) -> float:
        """Seconds to wait after so many faults: as asked, else drawn from 0 on ("full jitter")."""
        if asked is not None:
            return max(asked, 0.0)
        bound = min(self.longest, self.first * 2**faults)
        return max(self.first, random.uniform(0, bound))  # noqa: S311 - no secret is made of it


class ConcurrencyLimit:
    """How many requests may be under way at once.

    The limit is halved when the server says that it has too many requests, once for all requests
    that were under way at that time. It grows by one after as many answers in a row as it is high,
    up to what it was in the beginning.

    Args:
        maximum: The limit in the beginning.

    Attributes:
        limit: The limit now.
        under_way: How many requests are under way.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = self.limit = maximum
        self.under_way = 0
        self._answers_in_a_row = 0  # since the limit was raised, or the server had too many
        self._halvings = 0
        self._pause_until = 0.0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def admission(self) -> AsyncIterator[int]:
        """Wait until one more request may be under way; gives the number for ``too_many``."""
        async with self._changed:
            while True:
                await self._changed.wait_for(lambda: self.under_way < self.limit)
                if (pause := self._pause_until - time.monotonic()) <= 0:
                    break
                # Others may finish and enter meanwhile, so both conditions are checked again.
                self._changed.release()
                try:
                    await asyncio.sleep(pause)
                finally:
                    await self._changed.acquire()
            self.under_way += 1
        try:
            yield self._halvings
        finally:
            async with self._changed:
                self.under_way -= 1
                self._changed.notify_all()

    def answered(self) -> None:
        """Note an answer, after which the limit may grow."""
        self._answers_in_a_row += 1
        if self._answers_in_a_row >= self.limit and self.limit < self._maximum:
            self._answers_in_a_row = 0
            self.limit += 1

    def too_many(self, halvings: int, asked: float | None) -> None:
        """Note that the server had too many requests, for one that ``admission`` gave a number."""
        self._answers_in_a_row = 0
        if asked is not None:
            self._pause_until = max(self._pause_until, time.monotonic() + asked)
        if halvings == self._halvings:  # else the complaint is about the time before the last one
            self._halvings += 1
            self.limit = max(1, self.limit // 2)
