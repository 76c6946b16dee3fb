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
    from .configs import CONFIGS, SPLITS, VARIANTS
    from .hub.prepare import load, prepare
    from .io.errors import SgdxError
    from .release.open import find_variants, open_release
    from .rewording.leaks import overlaps
    from .rows.frame_rows import frame_tables, frames
    from .rows.turn_rows import turn_tables, turns

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
    "overlaps",
    "prepare",
    "turn_tables",
    "turns",
]

# Each is imported when it is first asked for: ``datasets`` takes a second, and a command that only
# shows its help needs none of them.
_MODULES = {
    "CONFIGS": "configs",
    "SPLITS": "configs",
    "VARIANTS": "configs",
    "SgdxError": "io.errors",
    "find_variants": "release.open",
    "frame_tables": "rows.frame_rows",
    "frames": "rows.frame_rows",
    "load": "hub.prepare",
    "open_release": "release.open",
    "overlaps": "rewording.leaks",
    "prepare": "hub.prepare",
    "turn_tables": "rows.turn_rows",
    "turns": "rows.turn_rows",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
