"""Optional libraries, which are imported only when a command needs them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .errors import SgdxError


def require(module: str, extra: str = "report") -> Any:
    """Import a module of an optional library, which an extra of the package installs."""
    try:
        return import_module(module)
    except ImportError as error:
        library = (error.name or module).partition(".")[0]
        if find_spec(library):  # installed, so that the fault is another one
            raise
        address = f"sgdx[{extra}] @ git+https://github.com/YOU/sgdx.git"
        raise SgdxError(f'needs {library}: pip install "{address}"') from None
