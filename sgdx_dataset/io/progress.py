"""One progress bar for a command's whole work, however many configs and splits it goes through."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tqdm import tqdm

PROGRESS_SECONDS = 10.0  # between two lines of what is done
DELAY = 2.0  # seconds: work that is done sooner shows no bar
_OFF = ("1", "ON", "YES", "TRUE")  # of HF_DATASETS_DISABLE_PROGRESS_BARS, as datasets reads it


# What shows how far work is: it has ``update(steps)``.
_current: ContextVar[Any] = ContextVar("work in progress", default=None)


@contextmanager
def progress(description: str, total: int, unit: str = " files") -> Iterator[None]:
    """Show one bar for the work in the ``with`` block, which ``advance`` moves."""
    if _current.get() is not None:
        yield
        return
    setting = os.environ.get("HF_DATASETS_DISABLE_PROGRESS_BARS")
    bars = sys.modules.get("datasets.utils")  # which may show bars of its own
    off = (setting or "").upper() in _OFF or (bars and bars.are_progress_bars_disabled())
    quiet = bars if not off and setting is None else None
    # None: off unless it is a terminal.
    bar = tqdm(desc=description, total=total, unit=unit, delay=DELAY, disable=True if off else None)
    if quiet:
        quiet.disable_progress_bars()
    try:
        with bar, moving(bar):
            yield
    finally:
        if quiet:
            quiet.enable_progress_bars()


@contextmanager
def lines_of_progress(work: str) -> Iterator[Callable[[str], None]]:
    """Print every ten seconds what is done, and the last thing that the given function was told."""
    said, ended = "waiting for the first answer", threading.Event()

    def tell(text: str) -> None:
        nonlocal said
        said = text

    def print_lines() -> None:
        while not ended.wait(PROGRESS_SECONDS):
            print(f"{work}: {said}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        yield tell
    finally:
        ended.set()
        thread.join()


@contextmanager
def moving(bar: Any) -> Iterator[None]:
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
