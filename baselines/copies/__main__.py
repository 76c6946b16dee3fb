"""Generate responses without learning, as controls for the metric of generation."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sgdx_dataset.io.arguments import TURNS_HELP

from ..command_line import add_data, read_data, run_command
from .systems import SYSTEMS, copy_system, generate


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser("python -m baselines.copies", description=__doc__)
    parser.add_argument(
        "--system",
        required=True,
        choices=SYSTEMS,
        help="Say this: gold (what the corpus says), derived (sentences made from the schemas' "
        "descriptions), templates (hand-written ones, of --templates), or empty (nothing).",
    )
    add_data(parser)
    parser.add_argument("--turns", type=Path, metavar="FILE", help=TURNS_HELP)
    text = (
        "Read the templates for --system templates from this folder. It has <Service>.tsv files "
        "in T2G2's format."
    )
    parser.add_argument("--templates", type=Path, metavar="DIR", help=text)
    text = "Write CONFIG.jsonl for each wording into this folder."
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
