"""Libraries of the extras, imported when a command needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import SgdxError


def require(module: str, extra: str = "report") -> Any:
    """Import ``module``; where it is not installed, ``SgdxError`` says which extra brings it."""
    try:
        return import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise SgdxError(f'needs {library}: pip install "sgdx[{extra}]"') from None
