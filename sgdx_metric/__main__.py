"""Score dialogue state trackers on SGD and SGD-X, compare their scores and explain frames."""

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import BAD_INPUT, run, say

from .cli.commands import (
    run_calls,
    run_compare,
    run_explain,
    run_install,
    run_push,
    run_score,
    run_summarise,
)
from .rows import ScoreError
from .signature import ZERO_MEAN, split_name

_PROGRAM = "sgdx-metric"


def main(argv: list[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit status: 0; 2 after one line on stderr that says why; 1 if nobody reads the standard
        output any longer, as after `| head`; 130 after an interruption. Files are written before
        anything is printed.
    """

    def command() -> None:
        args = _parser().parse_args(argv)
        args.run(args)

    return run(_PROGRAM, command, (ScoreError, SgdxError))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        say(_PROGRAM, f"error: {message}")
        self.exit(BAD_INPUT)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="sgdx-metric", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, work, add_arguments, text in (
        ("install", run_install, None, 'make evaluate.load("sgdx_metric") work anywhere'),
        (
            "score",
            run_score,
            _add_score,
            "score one tracker's predictions for one or more schema variants",
        ),
        (
            "calls",
            run_calls,
            _add_calls,
            "score predicted API calls for one or more schema variants",
        ),
        (
            "summarise",
            run_summarise,
            _add_summarise,
            "average the scores of several runs, such as those of several seeds",
        ),
        ("compare", run_compare, _add_compare, "test whether two trackers' scores differ"),
        (
            "explain",
            run_explain,
            _add_explain,
            "show the scores of one frame slot by slot, or list the frames that broke",
        ),
        ("push", run_push, _add_push, 'make evaluate.load("YOU/sgdx_metric") work for everybody'),
    ):
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        command.set_defaults(run=work)
        if add_arguments:
            add_arguments(command)
    return parser


def _add_push(command: argparse.ArgumentParser) -> None:
    """Add the arguments of ``push``."""
    command.add_argument(
        "repo_id", metavar="REPO_ID", help="Space to push to, YOU/ and the metric's name"
    )
    command.add_argument("--private", action="store_true", help="create it as a private one")


def _add_score(command: argparse.ArgumentParser) -> None:
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
        help="score these dialogues only: a file of `python -m sgdx_dataset subset`, a text file "
        "with one dialogue id a line, or a JSON list; predictions of others are passed over",
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


def _add_calls(command: argparse.ArgumentParser) -> None:
    _add_inputs(command)
    command.add_argument(
        "--output", type=Path, required=True, metavar="FILE", help="the JSON file to write"
    )
    command.add_argument(
        "--dialogues",
        type=Path,
        metavar="FILE",
        help="score these dialogues only: a file of `python -m sgdx_dataset subset`, a text file "
        "with one dialogue id a line, or a JSON list",
    )


def _add_summarise(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "scores",
        nargs="+",
        type=Path,
        metavar="SCORES",
        help="the scores.json of each run; their signatures must be the same in every part",
    )
    command.add_argument(
        "--output", type=Path, metavar="FILE", help="also write means and deviations as JSON"
    )


def _add_compare(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "scores",
        nargs="*",
        type=Path,
        metavar="SCORES",
        help="the scores.json of one tracker, and then that of another",
    )
    for place, which in (("first", "one"), ("second", "the other")):
        command.add_argument(
            f"--{place}",
            nargs="+",
            type=Path,
            metavar="SCORES",
            help=f"instead, the scores.json of each run of {which} tracker, such as of each seed",
        )
    command.add_argument("--json", type=Path, metavar="FILE", help="also write the tables as JSON")


def _add_explain(command: argparse.ArgumentParser) -> None:
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
