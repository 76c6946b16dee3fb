"""How fast to ask a server: how many requests are under way, and how long to wait after a fault."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """What is put up with.

    Attributes:
        tries: How often a request is tried before it is given up for this run.
        first: The longest wait after the first fault, in seconds; it doubles with each further one.
        most: The longest wait that is drawn, in seconds. A wait that the server asks for is kept
            even where it is longer.
    """

    tries: int = 6
    first: float = 1.0
    most: float = 60.0

    def wait(self, faults: int, asked: float | None) -> float:
        """Seconds to wait before the next try.

        Args:
            faults: How many tries of the request have failed, 1 or more.
            asked: The wait that the server asks for, in seconds; without it, the wait is drawn
                evenly from 0 to a bound that doubles ("full jitter"), and is ``first`` at least.
        """
        if asked is not None:
            return max(asked, 0.0)
        bound = min(self.most, self.first * 2**faults)
        return max(self.first, random.uniform(0, bound))  # noqa: S311 - no secret is made of it


class Pace:
    """How many requests may be under way at once.

    The number is halved when the server says that it has too many, once for all requests that were
    under way at that time. It grows by one after each round of as many answers without such a
    fault, up to what it was in the beginning.

    Args:
        most: How many at most.
    """

    def __init__(self, most: int) -> None:
        self._most = self.limit = most
        self.under_way = 0
        self._clean = 0
        self._slowed = 0  # how often the number was halved
        self._pause_until = 0.0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Wait until one more request may be under way; gives the number for ``too_many``."""
        async with self._changed:
            while True:
                await self._changed.wait_for(lambda: self.under_way < self.limit)
                if (pause := self._pause_until - time.monotonic()) <= 0:
                    break
                self._changed.release()
                try:
                    await asyncio.sleep(pause)
                finally:
                    await self._changed.acquire()
            self.under_way += 1
        try:
            yield self._slowed
        finally:
            async with self._changed:
                self.under_way -= 1
                self._changed.notify_all()

    def answered(self) -> None:
        """Note an answer without a fault."""
        self._clean += 1
        if self._clean >= self.limit and self.limit < self._most:
            self._clean = 0
            self.limit += 1

    def too_many(self, slowed: int, asked: float | None) -> None:
        """Note that the server had too many requests.

        Args:
            slowed: What ``turn`` gave to the request.
            asked: For how many seconds the server wants no requests; None if it does not say.
        """
        self._clean = 0
        if asked is not None:
            self._pause_until = max(self._pause_until, time.monotonic() + asked)
        if slowed == self._slowed:
            self._slowed += 1
            self.limit = max(1, self.limit // 2)
