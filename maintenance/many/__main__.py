"""``python -m maintenance.many`` writes the archive of all services."""

from __future__ import annotations

import sys

from sgdx_dataset.io.errors import SgdxError

from .corpus import build

if __name__ == "__main__":
    try:
        build()
    except SgdxError as error:  # names the file, the line and what was expected
        sys.exit(str(error))
