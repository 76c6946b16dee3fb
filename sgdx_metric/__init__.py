"""Fuzzy joint goal accuracy and schema sensitivity for SGD and SGD-X."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import score, score_files
    from .errors import ScoreError
    from .result import Result
    from .scoring import score_frames
    from .signature import Rules, Setup
    from .version import __version__

__all__ = [
    "Result",
    "Rules",
    "ScoreError",
    "Setup",
    "__version__",
    "score",
    "score_files",
    "score_frames",
]

# Each is imported when it is first asked for: a command that only shows its help needs none.
_MODULES = {
    "Rules": "signature",
    "ScoreError": "errors",
    "Setup": "signature",
    "__version__": "version",
    "Result": "result",
    "score": "api",
    "score_files": "api",
    "score_frames": "scoring",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
