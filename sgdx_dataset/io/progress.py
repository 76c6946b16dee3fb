"""One progress bar for a command's whole work, however many configs and splits it goes through."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from tqdm import tqdm

DELAY = 2.0  # seconds: work that is done sooner shows no bar
_OFF = ("1", "ON", "YES", "TRUE")  # of HF_DATASETS_DISABLE_PROGRESS_BARS, as datasets reads it


class Bar(Protocol):
    """What shows how far work is."""

    def update(self, n: int) -> object:
        """Move it by a number of steps."""


_current: ContextVar[Bar | None] = ContextVar("work in progress", default=None)


@contextmanager
def progress(description: str, total: int, unit: str = " files") -> Iterator[None]:
    """Show one bar for the work in the ``with`` block, which ``advance`` moves."""
    if _current.get() is not None:
        yield
        return
    with _without_datasets_bars() as is_on:
        disable = None if is_on else True  # None: off unless it is a terminal
        bar = tqdm(desc=description, total=total, unit=unit, delay=DELAY, disable=disable)
        with bar, moving(bar):
            yield


@contextmanager
def moving(bar: Bar) -> Iterator[None]:
    """Let ``advance`` move this bar while the context is open."""
    token = _current.set(bar)
    try:
        yield
    finally:
        _current.reset(token)


def advance(steps: int = 1) -> None:
    """Move the bar of the work that is being done, if there is any."""
    if (bar := _current.get()) is not None:
        bar.update(steps)


@contextmanager
def _without_datasets_bars() -> Iterator[bool]:
    """Turn the bars of ``datasets`` off; give whether the user wants any at all."""
    if "datasets" not in sys.modules:  # there is nothing that could show a bar
        yield os.environ.get("HF_DATASETS_DISABLE_PROGRESS_BARS", "").upper() not in _OFF
        return
    from datasets import config
    from datasets.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    if config.HF_DATASETS_DISABLE_PROGRESS_BARS is not None or are_progress_bars_disabled():
        yield not are_progress_bars_disabled()  # the user has decided, and that stays so
        return
    disable_progress_bars()
    try:
        yield True
    finally:
        enable_progress_bars()
