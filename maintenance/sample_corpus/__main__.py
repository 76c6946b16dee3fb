"""Write the sample corpus, which is the same every time."""

import argparse
from pathlib import Path

from .corpus import write


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m maintenance.sample_corpus", description=__doc__
    )
    sample = Path(__file__).parents[2] / "sgdx_dataset" / "sample"
    text = "folder to write to; default: the shipped sample corpus, sgdx_dataset/sample"
    parser.add_argument("--output", type=Path, default=sample, metavar="DIR", help=text)
    write(parser.parse_args().output)


if __name__ == "__main__":
    main()
