"""``python -m sgdx_eval.report RUN ...``, which is ``sgdx report RUN ...``."""

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run the command; without arguments, with those of this process."""
    from sgdx_cli import main as sgdx

    return sgdx(["report", *(sys.argv[1:] if arguments is None else arguments)])


if __name__ == "__main__":
    sys.exit(main())
