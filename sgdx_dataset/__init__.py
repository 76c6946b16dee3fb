"""SGD and SGD-X as Hugging Face datasets, with each dialogue's schemas joined into its row.

>>> from sgdx_dataset import frames, load
>>> test = load("v3", split="test", source="sample")
>>> frames(test)[0]["variant"]
'v3'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .io.errors import SgdxError
from .release.open import find_variants, open_release
from .release.schema import CONFIGS, SPLITS, VARIANTS
from .rows.frame_rows import frame_tables, frames
from .rows.turn_rows import turn_tables, turns

if TYPE_CHECKING:
    from .hub.prepare import load, prepare
    from .rewording.leaks import overlaps

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

# Functions whose modules import ``datasets``, which takes a second. They are imported when they are
# first asked for, so that scoring, which needs none of them, does not wait for it.
_MODULES = {"load": ".hub.prepare", "prepare": ".hub.prepare", "overlaps": ".rewording.leaks"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)
