"""Score dialogue state trackers on SGD and SGD-X, compare their scores and explain frames."""

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from .cli.commands import run_compare, run_explain, run_install, run_score
from .rows import ScoreError
from .signature import ZERO_MEAN, split_name


def main(argv: list[str] | None = None) -> int:
    """Run a command; return the exit status: 0, or 2 after one line on stderr that says why."""
    args = _parser().parse_args(argv)
    try:
        args.run(args)
    except ScoreError as error:
        print(f"sgdx-metric: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"sgdx-metric: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="sgdx-metric", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("install", help='make evaluate.load("sgdx_metric") work anywhere')
    command.set_defaults(run=run_install)

    command = commands.add_parser(
        "score", help="score one tracker's predictions for one or more schema variants"
    )
    command.set_defaults(run=run_score)
    _add_inputs(command)
    command.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="the JSON file to write",
    )
    command.add_argument(
        "--per-frame",
        type=Path,
        metavar="FILE",
        help="also write the scores of every frame; the name ends in .parquet or .jsonl",
    )
    command.add_argument(
        "--plots",
        type=Path,
        metavar="DIR",
        help="also draw joint goal accuracy by variant and its drop by service, as PNG; needs the "
        "extra sgdx[report]",
    )
    command.add_argument(
        "--dialogues",
        type=Path,
        metavar="FILE",
        help="score these dialogues only: a text file with one dialogue id a line, or a JSON list; "
        "predictions of other dialogues are passed over",
    )
    command.add_argument(
        "--system-acts",
        choices=("yes", "no"),
        help="whether the tracker was given the system's dialogue acts, where the predictions do "
        "not say so themselves; it stands in the signature and changes no score",
    )
    command.add_argument(
        "--joint-acc-across-turn",
        action="store_true",
        help="compute joint accuracies over whole turns instead of frames, as MultiWOZ does",
    )
    command.add_argument(
        "--zero-mean",
        choices=ZERO_MEAN,
        default="0",
        help="schema sensitivity of a frame that is wrong under every variant: counted as 0, the "
        "default, or dropped from the mean",
    )

    command = commands.add_parser("compare", help="test whether two trackers' scores differ")
    command.set_defaults(run=run_compare)
    command.add_argument("first", type=Path, help="the scores.json of one tracker")
    command.add_argument("second", type=Path, help="the scores.json of another tracker")
    command.add_argument("--json", type=Path, metavar="FILE", help="also write the tables as JSON")

    command = commands.add_parser(
        "explain", help="show the scores of one frame slot by slot, or list the frames that broke"
    )
    command.set_defaults(run=run_explain)
    command.add_argument(
        "frame_id",
        nargs="?",
        metavar="FRAME_ID",
        help="DIALOGUE/TURN/SERVICE, as in 1_00000/4/Hotels_2, with the service's original name",
    )
    command.add_argument(
        "--changed",
        nargs=2,
        metavar=("FIRST", "SECOND"),
        help="instead of FRAME_ID, list the frames that score less under the variant SECOND than "
        "under FIRST, as in --changed original v5",
    )
    _add_inputs(command)
    return parser


def _add_inputs(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--source",
        metavar="PATH",
        help="where the references come from: the SGD release as a directory or an archive, or "
        "'sample' for the small corpus in the package; default: $SGDX_SOURCE, else what "
        "sgdx_dataset prepare was given",
    )
    command.add_argument(
        "--references",
        type=Path,
        metavar="DIR",
        help="instead of --source, a folder of VARIANT.parquet as 'python -m sgdx_dataset frames' "
        "writes them",
    )
    command.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="a schema variant of your own: a directory with {train,dev,test}/schema.json, or an "
        "overlay, a .json file of changes to the train schema; may be repeated",
    )
    command.add_argument(
        "--split",
        default="test",
        type=split_name,
        choices=("train", "validation", "test"),
        help="the split that was predicted; dev is another name of validation; default: test",
    )
    command.add_argument(
        "--predictions",
        action="append",
        required=True,
        metavar="DIR | VARIANT=PATH",
        help="either one folder with VARIANT.jsonl or VARIANT/ for each variant, or VARIANT=PATH "
        "once for each variant, PATH being a JSONL file or a directory of dialogues_*.json",
    )
    command.add_argument(
        "--no-fuzzy-match",
        action="store_true",
        help="score a free-form value 1 if it equals a reference value and 0 if not, instead of by "
        "its similarity",
    )


if __name__ == "__main__":
    sys.exit(main())
