"""SGD and SGD-X as Hugging Face datasets: every schema variant, the schema joined into every row.

>>> from sgdx_dataset import frames, load
>>> test = load("v3", split="test", source="sample")
>>> frames(test)[0]["variant"]
'v3'
"""

from .errors import SgdxError
from .frames import frame_tables, frames
from .overlaps import overlaps
from .prepare import load, prepare
from .schema import CONFIGS, SPLITS, VARIANTS
from .sources import found_variants, open_release

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
