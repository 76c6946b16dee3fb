"""Trackers, which read frame rows, and generators, which read turn rows, and their commands."""

import os

# MKL otherwise rounds by where an array lies in memory, so that a resumed training, or the same one
# again, ends in other bits on some processors. It reads this before its first product.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
