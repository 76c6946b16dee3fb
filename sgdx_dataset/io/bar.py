"""The progress bar of ``datasets``, as this package shows it."""

from __future__ import annotations

from typing import Any

from datasets.utils import tqdm as datasets_tqdm


class Bar(datasets_tqdm):  # type: ignore[misc]  # datasets is not typed
    """A progress bar that appears after two seconds (or ``delay``) and only on a terminal.

    ``HF_DATASETS_DISABLE_PROGRESS_BARS=1`` turns it off, as it does all bars of ``datasets``.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"delay": 2.0, "disable": None, **options})
