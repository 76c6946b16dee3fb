"""One progress bar for a command's whole work, however many configs and splits it goes through."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

DELAY = 2.0  # seconds: work that is done sooner shows no bar


@dataclass
class _Work:
    """A command's work in progress. It has no bar before ``DELAY`` seconds have passed."""

    description: str
    total: int
    unit: str
    start: float = field(default_factory=time.time)
    done: int = 0
    bar: Any = None

    def advance(self, steps: int) -> None:
        self.done += steps
        if self.bar is not None:
            self.bar.update(steps)
        elif time.time() - self.start >= DELAY and sys.stderr.isatty():
            self.make_bar()

    def make_bar(self) -> None:
        from .bar import Bar  # It imports ``datasets``, which takes a second.

        self.bar = Bar(desc=self.description, total=self.total, unit=self.unit, delay=DELAY)
        self.bar.start_t = self.start
        self.bar.update(self.done)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


_current: ContextVar[_Work | None] = ContextVar("work in progress", default=None)


@contextmanager
def progress(description: str, total: int, unit: str = " files") -> Iterator[None]:
    """Show one bar for the work in the ``with`` block, which ``advance`` moves.

    The bar appears after ``DELAY`` seconds and only on a terminal. Where a bar is shown already,
    that one goes on and no second one appears. The bars of ``datasets`` itself, one for every
    config and split, are off meanwhile.

    Args:
        description: What is being done, for example ``Preparing``.
        total: How many steps the work has.
        unit: What a step is, with the space that separates it from the number.
    """
    if _current.get() is not None:
        yield
        return
    work = _Work(description, total, unit)
    if "datasets" in sys.modules:  # The bar is made before all further bars are turned off.
        work.make_bar()
    with closing(work), _without_datasets_bars():
        token = _current.set(work)
        try:
            yield
        finally:
            _current.reset(token)


def advance(steps: int = 1) -> None:
    """Move the bar of the work that is being done, if there is any."""
    if (work := _current.get()) is not None:
        work.advance(steps)


@contextmanager
def _without_datasets_bars() -> Iterator[None]:
    if "datasets" not in sys.modules:
        yield  # there is nothing that could show a bar
        return
    import datasets
    from datasets.utils import disable_progress_bars, enable_progress_bars

    forced = datasets.config.HF_DATASETS_DISABLE_PROGRESS_BARS is not None
    if forced or datasets.utils.are_progress_bars_disabled():
        yield  # the user has decided, and that stays so
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
