"""Optional libraries, which are imported only when a command needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import SgdxError


def require(module: str, extra: str = "report") -> Any:
    """Import a module of an optional library.

    Args:
        module: Full name of the module, for example ``sacrebleu.metrics``.
        extra: The extra of this package, as in ``sgdx[report]``, that installs the library.

    Raises:
        SgdxError: The library is not installed; the message has the command that installs it.
    """
    try:
        return import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise SgdxError(f'needs {library}: pip install "sgdx[{extra}]"') from None
