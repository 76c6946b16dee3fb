"""``python -m sgdx_tools COMMAND``, which is ``sgdx tools COMMAND``."""

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run a command; without arguments, with those of this process."""
    from sgdx_cli import main as sgdx

    return sgdx(["tools", *(sys.argv[1:] if arguments is None else arguments)])


if __name__ == "__main__":
    sys.exit(main())
