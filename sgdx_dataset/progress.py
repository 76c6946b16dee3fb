"""One progress bar for a command's whole work, however many configs and splits it goes through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import datasets
from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from datasets.utils import tqdm as datasets_tqdm

DELAY = 2.0  # seconds: work that is done sooner shows no bar


class Bar(datasets_tqdm):  # type: ignore[misc]  # datasets is not typed
    """A progress bar that appears after ``DELAY`` seconds and only on a terminal.

    ``HF_DATASETS_DISABLE_PROGRESS_BARS=1`` turns it off, as it does all bars of ``datasets``.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"delay": DELAY, "disable": None, **options})


_current: ContextVar[Bar | None] = ContextVar("current progress bar", default=None)


@contextmanager
def progress(description: str, total: int, unit: str = " files") -> Iterator[None]:
    """Show one bar for the work in the ``with`` block, which ``advance`` moves.

    Where a bar is shown already, that one goes on and no second one appears. The bars of
    ``datasets`` itself, one for every config and split, are off meanwhile.

    Args:
        description: What is being done, for example ``Preparing``.
        total: How many steps the work has.
        unit: What a step is, with the space that separates it from the number.
    """
    if _current.get() is not None:
        yield
        return
    with Bar(desc=description, total=total, unit=unit) as bar, _without_datasets_bars():
        token = _current.set(bar)
        try:
            yield
        finally:
            _current.reset(token)


def advance(steps: int = 1) -> None:
    """Move the bar that is shown, if there is one."""
    if (bar := _current.get()) is not None:
        bar.update(steps)


@contextmanager
def _without_datasets_bars() -> Iterator[None]:
    forced = datasets.config.HF_DATASETS_DISABLE_PROGRESS_BARS is not None
    if forced or are_progress_bars_disabled():
        yield  # the user has decided, and that stays so
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
