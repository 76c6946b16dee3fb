"""``python -m sgdx_dataset COMMAND``, which is ``sgdx COMMAND``."""

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run a command; without arguments, with those of this process."""
    from sgdx_cli import main as sgdx

    return sgdx(arguments)


if __name__ == "__main__":
    sys.exit(main())
