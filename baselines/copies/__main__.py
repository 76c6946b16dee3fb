"""Say what the system has to say without learning: controls that the metric is held against."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..command_line import add_data, read_data, run_command
from .systems import SYSTEMS, copy_system, generate


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser("python -m baselines.copies", description=__doc__)
    parser.add_argument(
        "--system",
        required=True,
        choices=SYSTEMS,
        help="what to say: gold (what the corpus says), derived (sentences made of the schemas' "
        "descriptions), templates (hand-written ones, of --templates) or empty (nothing)",
    )
    add_data(parser)
    text = "say these turns only: a file with DIALOGUE/TURN, as in 1_00000/5, for each"
    parser.add_argument("--turns", type=Path, metavar="FILE", help=text)
    text = "folder of <Service>.tsv templates in T2G2's format, for the system templates"
    parser.add_argument("--templates", type=Path, metavar="DIR", help=text)
    text = "folder for CONFIG.jsonl files"
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help=text)
    options = parser.parse_args()

    def command() -> None:
        system = copy_system(options.system, options.templates)
        data, configs = read_data(options)
        paths = generate(system, data, configs, options.output, options.turns)
        print(*paths, sep="\n")

    return run_command("baselines.copies", command)


if __name__ == "__main__":
    sys.exit(main())
