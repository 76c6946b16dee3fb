"""``python -m baselines.own_apis``, which is ``sgdx own-apis``."""

import sys

from ..command_line import door

main = door("own-apis")

if __name__ == "__main__":
    sys.exit(main())
