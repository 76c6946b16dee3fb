"""Score generated responses on SGD and SGD-X: the commands of ``sgdx_eval``."""

import sys


def main(argv: list[str] | None = None) -> int:
    """Run a command; return the exit status."""
    from sgdx_eval.program import main as run_program

    return run_program("sgsacc_metric", argv)


if __name__ == "__main__":
    sys.exit(main())
