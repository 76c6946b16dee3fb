"""Fuzzy joint goal accuracy and schema sensitivity for SGD and SGD-X."""

from .api import score, score_files
from .report import report
from .rows import ScoreError
from .scoring import score_frames
from .signature import Rules, Setup
from .version import __version__

__all__ = [
    "Rules",
    "ScoreError",
    "Setup",
    "__version__",
    "report",
    "score",
    "score_files",
    "score_frames",
]
