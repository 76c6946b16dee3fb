"""Generate responses without learning: the gold ones, derived ones, templates, or none at all."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sgdx_dataset.io.arguments import paths_by_name
from sgdx_dataset.release.schema import split_name

from ..command_line import add_source, run_command, source_of
from ..data.requested import DEFAULT_CONFIGS, RequestedData
from .systems import SYSTEMS, copy_system, generate


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser("python -m baselines.copies", description=__doc__)
    text = "what to say: " + ", ".join(SYSTEMS)
    parser.add_argument("--system", required=True, choices=SYSTEMS, help=text)
    add_source(parser)
    text = "a schema variant of your own, as for sgdx_dataset; may be repeated"
    parser.add_argument("--variant", action="append", default=[], metavar="NAME=PATH", help=text)
    text = "wordings to generate under; default: original and v1 to v5"
    parser.add_argument("--config", nargs="+", default=DEFAULT_CONFIGS, help=text)
    parser.add_argument("--split", default="test", help="the split; default: test")
    text = "generate these dialogues only: a file with their ids"
    parser.add_argument("--dialogues", type=Path, metavar="FILE", help=text)
    text = "generate these turns only: a file with DIALOGUE/TURN, as in 1_00000/5, for each"
    parser.add_argument("--turns", type=Path, metavar="FILE", help=text)
    text = "folder of <Service>.tsv templates in T2G2's format, for the system templates"
    parser.add_argument("--templates", type=Path, metavar="DIR", help=text)
    text = "folder for CONFIG.jsonl files"
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help=text)
    options = parser.parse_args()

    def command() -> None:
        system = copy_system(options.system, options.templates)
        variants = paths_by_name("--variant", options.variant)
        split = split_name(options.split)
        data = RequestedData(source_of(options), split, variants, options.dialogues)
        paths = generate(system, data, options.config, options.output, options.turns)
        print(*paths, sep="\n")

    return run_command("baselines.copies", command)


if __name__ == "__main__":
    sys.exit(main())
