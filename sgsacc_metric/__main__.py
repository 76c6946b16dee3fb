"""``python -m sgsacc_metric COMMAND``, which is ``sgdx COMMAND`` or ``sgdx responses COMMAND``."""

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run a command; without arguments, with those of this process."""
    from sgdx_cli import main as sgdx
    from sgdx_metric.__main__ import main as metric

    words = sys.argv[1:] if arguments is None else arguments
    of_responses = words[:1] in (["score"], ["references"], ["validate"])
    return sgdx(["responses", *words]) if of_responses else metric(arguments)


if __name__ == "__main__":
    sys.exit(main())
