"""Command line: `python -m sgdx_metric install`, `score`, `compare` and `explain`."""

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from .cli.commands import SourceError, run_compare, run_explain, run_install, run_score
from .rows import ScoreError
from .signature import ZERO_MEAN


def main(argv: list[str] | None = None) -> int:
    """Run a command; the exit status is 2 on bad input."""
    args = _parser().parse_args(argv)
    try:
        args.run(args)
    except ScoreError as error:
        print(f"sgdx-metric: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except SourceError as error:
        return int(error.args[0])
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"sgdx-metric: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="sgdx-metric", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("install", help='make evaluate.load("sgdx_metric") work anywhere')
    command.set_defaults(run=run_install)

    command = commands.add_parser("score", help="score prediction files")
    command.set_defaults(run=run_score)
    _add_inputs(command)
    command.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    command.add_argument(
        "--per-frame",
        type=Path,
        metavar="FILE",
        help="write every frame's scores: .parquet, .jsonl",
    )
    command.add_argument(
        "--joint-acc-across-turn", action="store_true", help="joint accuracies of turns, not frames"
    )
    command.add_argument(
        "--zero-mean",
        choices=ZERO_MEAN,
        default="0",
        help="sensitivity of a frame that is wrong under every variant: 0, or left out",
    )

    command = commands.add_parser("compare", help="test whether two systems differ")
    command.set_defaults(run=run_compare)
    command.add_argument("first", type=Path, help="scores.json of a system")
    command.add_argument("second", type=Path, help="scores.json of another")
    command.add_argument("--json", type=Path, metavar="FILE", help="write what the tables say")

    command = commands.add_parser("explain", help="show one frame slot by slot")
    command.set_defaults(run=run_explain)
    command.add_argument("frame_id", metavar="FRAME_ID", help="<dialogue>/<turn>/<service>")
    _add_inputs(command)
    return parser


def _add_inputs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--source", help="the SGD release: directory, archive or 'sample'")
    command.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="a variant of your own: a directory with {train,dev,test}/schema.json",
    )
    command.add_argument("--split", default="test", choices=("train", "validation", "test"))
    command.add_argument(
        "--predictions",
        action="append",
        required=True,
        metavar="VARIANT=PATH",
        help="JSONL file or directory of dialogues_*.json; once for each variant",
    )
    command.add_argument(
        "--no-fuzzy-match", action="store_true", help="free-form values are right or wrong"
    )


if __name__ == "__main__":
    sys.exit(main())
