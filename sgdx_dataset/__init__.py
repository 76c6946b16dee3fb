"""SGD and SGD-X as Hugging Face datasets, with each dialogue's schemas joined into its row.

>>> from sgdx_dataset import frames, load
>>> test = load("v3", split="test", source="sample")
>>> frames(test)[0]["variant"]
'v3'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cache import load, prepare
    from .configs import CONFIGS, SPLITS, VARIANTS
    from .io.errors import SgdxError
    from .release import find_variants, open_release
    from .row_datasets import frames, turns
    from .rows import frame_tables, turn_tables

__all__ = [
    "CONFIGS",
    "SPLITS",
    "VARIANTS",
    "SgdxError",
    "find_variants",
    "frame_tables",
    "frames",
    "load",
    "open_release",
    "prepare",
    "turn_tables",
    "turns",
]

# Each is imported when it is first asked for: ``datasets`` takes a second, and a command that only
# shows its help needs none of them.
_MODULES = {
    "configs": ("CONFIGS", "SPLITS", "VARIANTS"),
    "io.errors": ("SgdxError",),
    "release": ("find_variants", "open_release"),
    "rows": ("frame_tables", "turn_tables"),
    "row_datasets": ("frames", "turns"),
    "cache": ("load", "prepare"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
