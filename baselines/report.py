"""Make a report of runs: the command of ``sgdx_eval.report``."""

import sys


def main() -> int:
    """Run the command; return the exit status."""
    from sgdx_eval.report.__main__ import main as make_report

    return make_report()


if __name__ == "__main__":
    sys.exit(main())
