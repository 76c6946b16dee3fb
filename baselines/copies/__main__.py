"""``python -m baselines.copies``, which is ``sgdx copies``."""

import sys

from ..command_line import door

main = door("copies")

if __name__ == "__main__":
    sys.exit(main())
