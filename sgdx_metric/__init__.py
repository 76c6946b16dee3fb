"""Fuzzy joint goal accuracy and schema sensitivity for SGD and SGD-X."""

from .report import report
from .rows import ScoreError
from .scoring import score_frames
from .signature import Rules
from .version import __version__

__all__ = ["Rules", "ScoreError", "__version__", "report", "score_frames"]
