"""How faithful generated responses are: SER, BLEU and SGSAcc under every variant of the schemas."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sgdx_metric.errors import ScoreError
from sgdx_metric.version import __version__

if TYPE_CHECKING:
    from .api import score
    from .gold import Options

__all__ = ["Options", "ScoreError", "__version__", "score"]


def __getattr__(name: str) -> Any:
    if name not in ("Options", "score"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.api"), name)  # imported when it is first asked for
