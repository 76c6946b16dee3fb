"""Make a report of runs: the command of ``sgdx_eval.report``."""

import sys

from .command_line import door

main = door("report")

if __name__ == "__main__":
    sys.exit(main())
