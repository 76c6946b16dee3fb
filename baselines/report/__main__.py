"""Make a report of runs: the tables and figures of the SGD-X paper, and the errors behind them.

The output folder then holds index.html, and report.md with its pictures in figures/. index.html
needs no other file and no network. A run is a folder of baselines.evaluate, or a scores.json. The
predictions may be beside it, as predictions/VARIANT.jsonl or VARIANT.jsonl. Trackers and generators
have separate sections in the report. Runs of one system with different seeds become one row. The
report also takes the file that 'python -m sgsacc_metric validate --json' writes.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_dataset.io.arguments import DIALOGUES_HELP
from sgdx_dataset.io.files import staged
from sgdx_metric.cli.files import check_folder

from ..command_line import add_source, run_command
from .call_leaderboard import FILE as CALLS
from .call_leaderboard import HEAD as CALL_HEAD
from .call_leaderboard import own_call_row, parse_call_rows, read_call_rows, render_calls
from .choice import FrameChoice
from .generation.leaderboard import FILE as GENERATORS
from .generation.leaderboard import (
    HEAD,
    generator_row,
    parse_generators,
    read_generators,
    render_generators,
)
from .generation.runs import GeneratorRun
from .inputs import read_inputs, read_ranked
from .leaderboard import own_row, read_own, read_published, render_leaderboard, write_own
from .page import write_report
from .runs import TrackerRun
from .sections import build_report
from .systems import group_runs, names_or_number
from .tools.runs import ToolRun

NAME = "baselines.report"
_DOCS = Path("docs")


def make_report(arguments: argparse.Namespace) -> None:
    """Read the runs, analyse them and write the report; print the files.

    Raises:
        SgdxError, ScoreError: No run can be read, or the output cannot be written.
    """
    if arguments.output is None:
        raise SgdxError("found no --output, expected the folder to write")
    check_folder("--output", arguments.output)
    if arguments.references and arguments.source:
        raise SgdxError(
            f"--references {arguments.references}: found --source too, expected one of them"
        )
    choice = FrameChoice(arguments.dialogues, arguments.service)
    inputs = read_inputs(arguments.runs, arguments.source, arguments.references, choice)
    for reason in inputs.left_out:
        print(f"{NAME}: note: {reason}", file=sys.stderr)
    for reason, names in inputs.not_analysed.items():
        without = f"no slots and no errors of {names_or_number(names)}"
        print(f"{NAME}: note: {without}: {reason}", file=sys.stderr)
    report = build_report(inputs, _command(arguments))
    for path in write_report(report, arguments.output):
        print(path)


def _command(arguments: argparse.Namespace) -> str:
    """The command that makes the report again."""
    words = ["python", "-m", NAME, *map(str, arguments.runs), "--output", str(arguments.output)]
    if arguments.source:
        words += ["--source", arguments.source]
    if arguments.dialogues:
        words += ["--dialogues", str(arguments.dialogues)]
    for service in arguments.service:
        words += ["--service", service]
    if arguments.references:
        words += ["--references", str(arguments.references)]
    return shlex.join(words)


def make_leaderboard(arguments: argparse.Namespace) -> None:
    """Add the runs to the leaderboard's file of own rows and write its page; print both.

    Raises:
        SgdxError, ScoreError: A run cannot be a row, or the file has a fault.
    """
    folder = arguments.output or _DOCS
    check_folder("--output", folder)
    data, page = folder / "leaderboard.toml", folder / "leaderboard.md"
    generators, calls = folder / GENERATORS, folder / CALLS
    runs = [read_ranked(path) for path in dict.fromkeys(arguments.runs)]
    trackers = group_runs([run for run in runs if isinstance(run, TrackerRun)])
    if rows := [own_row(system) for group in trackers for system in group.systems]:
        write_own(data, rows)
    of_turns = group_runs([run for run in runs if isinstance(run, GeneratorRun)])
    if generator_rows := [generator_row(system) for group in of_turns for system in group.systems]:
        write_own(generators, generator_rows, HEAD, parse_generators)
    if call_rows := [own_call_row(run) for run in runs if isinstance(run, ToolRun)]:
        write_own(calls, call_rows, CALL_HEAD, parse_call_rows)
    own = read_own(data) if data.exists() or not (generator_rows or call_rows) else []
    text = render_leaderboard(own, read_published())
    with staged(page) as staging:
        parts = [
            text,
            render_calls(read_call_rows(calls)),
            render_generators(read_generators(generators)),
        ]
        staging.write_text("\n".join(parts), "utf-8")
    print(*(path for path in (data, calls, generators, page) if path.exists()), sep="\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(f"python -m {NAME}", description=__doc__)
    parser.add_argument(
        "runs",
        nargs="*",
        type=Path,
        metavar="RUN",
        help="Give the folders of runs, or files scores.json.",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="Write the report into this folder. With --leaderboard, it holds leaderboard.toml, "
        "leaderboard_generators.toml and leaderboard.md, and the default is docs.",
    )
    add_source(parser)
    parser.add_argument(
        "--references",
        type=Path,
        metavar="DIR",
        help="Read the references from this folder instead. It has the VARIANT.parquet files that "
        "'python -m sgdx_dataset frames' writes. Default: the source that each run names.",
    )
    parser.add_argument(
        "--dialogues",
        type=Path,
        metavar="FILE",
        help=f"{DIALOGUES_HELP} Runs on different subsets can then be compared. Default: all.",
    )
    parser.add_argument(
        "--service",
        action="append",
        default=[],
        metavar="NAME",
        help="Take only the frames of this service, by its original name. The option may be given "
        "several times. Default: all.",
    )
    parser.add_argument(
        "--leaderboard",
        action="store_true",
        help="Add the runs, if there are any, to leaderboard.toml (of generators: "
        "leaderboard_generators.toml) instead of making a report. Then check these files and "
        "write leaderboard.md.",
    )
    return parser


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""

    def run() -> None:
        arguments = _parser().parse_args()
        if arguments.leaderboard:
            make_leaderboard(arguments)
        elif not arguments.runs:
            raise SgdxError("found no RUN, expected at least one run's folder")
        else:
            make_report(arguments)

    return run_command(NAME, run)


if __name__ == "__main__":
    sys.exit(main())
