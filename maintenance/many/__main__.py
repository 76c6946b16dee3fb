"""``python -m maintenance.many check FILE ...`` and ``python -m maintenance.many build``."""

from __future__ import annotations

import sys
from pathlib import Path

from sgdx_dataset.io.errors import SgdxError

from .corpus import build, check


def main() -> int:
    """Check files of services, or write the archive of all of them."""
    command, *files = sys.argv[1:] or [""]
    try:
        if command == "check":
            return check([Path(file) for file in files])
        if command == "build":
            build()
            return 0
    except SgdxError as error:
        print(error, file=sys.stderr)
        return 2
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
