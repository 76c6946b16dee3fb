"""Make a report of runs: the tables and figures of the SGD-X paper, and the errors behind them.

The output folder then holds index.html, and report.md with its pictures in figures/. index.html
needs no other file and no network. A run is a folder of baselines.evaluate, or a scores.json of any
task. The predictions may be beside it, as predictions/VARIANT.jsonl or VARIANT.jsonl. Trackers,
generators and calls have separate sections in the report. Runs of one system with different seeds
become one row. The report also takes the file that 'python -m sgsacc_metric validate --json'
writes.
"""

from __future__ import annotations

import argparse
import shlex
import sys

from sgdx_dataset import SgdxError
from sgdx_dataset.io.arguments import SOURCE_HELP
from sgdx_dataset.io.console import run
from sgdx_eval.arguments import add, dialogues, file, option
from sgdx_eval.files import check_folder
from sgdx_metric.errors import ScoreError

from .inputs import Choice, read_inputs
from .page import names_or_number, write_report
from .sections import build_report

NAME = "baselines.report"


def make_report(arguments: argparse.Namespace) -> None:
    """Read the runs, analyse them and write the report; print the files."""
    check_folder("--output", arguments.output)
    if arguments.references and arguments.source:
        raise SgdxError(
            f"--references {arguments.references}: found --source too, expected one of them"
        )
    choice = Choice(arguments.source, arguments.references, arguments.dialogues, arguments.service)
    inputs = read_inputs(arguments.runs, choice)
    for reason in inputs.left_out:
        print(f"{NAME}: note: {reason}", file=sys.stderr)
    for reason, names in inputs.not_analysed.items():
        without = f"no slots and no errors of {names_or_number(names)}"
        print(f"{NAME}: note: {without}: {reason}", file=sys.stderr)
    command = shlex.join(["python", "-m", NAME, *sys.argv[1:]])
    report = build_report(inputs, command)
    for path in write_report(report, arguments.output):
        print(path)


_OPTIONS = (
    file("runs", "Give the folders of runs, or files scores.json.", "RUN", nargs="+"),
    file("--output", "Write the report into this folder.", "DIR", required=True),
    option("--source", SOURCE_HELP, metavar="PATH"),
    file(
        "--references",
        "Read the references from this folder instead. It has the VARIANT.parquet files that "
        "'python -m sgdx_dataset frames' writes. Default: the source that each run names.",
        "DIR",
    ),
    dialogues("all. Runs on different subsets can then be compared"),
    option(
        "--service",
        "Take only what is of this service, by its original name. The option may be given several "
        "times. Default: all.",
        action="append",
        default=[],
        metavar="NAME",
    ),
)


def main() -> int:
    """Run the command; returns the exit status, which is 2 after a one-line error message."""
    parser = argparse.ArgumentParser(f"python -m {NAME}", description=__doc__)
    add(parser, _OPTIONS)
    return run(NAME, lambda: make_report(parser.parse_args()), (SgdxError, ScoreError))


if __name__ == "__main__":
    sys.exit(main())
