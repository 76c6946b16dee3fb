"""SGD and SGD-X as Hugging Face datasets, with each dialogue's schemas joined into its row.

>>> from sgdx_dataset import frames, load
>>> test = load("v3", split="test", source="sample")
>>> frames(test)[0]["variant"]
'v3'
"""

from .errors import SgdxError
from .hub.prepare import load, prepare
from .release.open import found_variants, open_release
from .release.schema import CONFIGS, SPLITS, VARIANTS
from .rewording.leaks import overlaps
from .rows.frame_rows import frame_tables, frames

__all__ = [
    "CONFIGS",
    "SPLITS",
    "VARIANTS",
    "SgdxError",
    "found_variants",
    "frame_tables",
    "frames",
    "load",
    "open_release",
    "overlaps",
    "prepare",
]
