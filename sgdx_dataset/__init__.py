"""SGD and SGD-X as Hugging Face datasets: every schema variant, the schema joined into every row.

>>> from sgdx_dataset import frames, load
>>> test = load("v3", split="test", source="sample")
>>> frames(test)[0]["variant"]
'v3'
"""

from .errors import SgdxError
from .frames import frames
from .prepare import load, prepare
from .schema import CONFIGS, SPLITS, VARIANTS

__all__ = ["CONFIGS", "SPLITS", "VARIANTS", "SgdxError", "frames", "load", "prepare"]
