"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import SgdxError


@contextmanager
def staged(place: Path) -> Iterator[Path]:
    """Give a path beside ``place`` to write to; what is written there becomes ``place`` at the end.

    The block writes a file, or makes a folder, at the path that it is given (``.NAME.incomplete``).
    Where the block raises an error, what it wrote is removed and ``place`` is as it was before.
    What a killed run has left at that path is removed first. Missing parent folders are made.

    Raises:
        SgdxError: The file or folder cannot be written.
    """
    staging = place.with_name(f".{place.name}.incomplete")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _remove(staging)
        yield staging
        staging.replace(place)
    except OSError as error:
        raise SgdxError(f"{place}: cannot be written: {error}") from None
    finally:
        _remove(staging)


def _remove(path: Path) -> None:
    """Remove a file or folder if it is there; what cannot be removed is left."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
