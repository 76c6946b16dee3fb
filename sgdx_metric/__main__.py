"""``python -m sgdx_metric COMMAND``, which is ``sgdx COMMAND``."""

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run a command; without arguments, with those of this process."""
    from sgdx_cli import main as sgdx

    words = sys.argv[1:] if arguments is None else arguments
    return sgdx(["push-metric", *words[1:]] if words[:1] == ["push"] else arguments)


if __name__ == "__main__":
    sys.exit(main())
