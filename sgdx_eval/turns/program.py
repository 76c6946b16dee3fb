"""Score generated responses on SGD and SGD-X: are they faithful, under every wording?"""

import argparse
from pathlib import Path

from sgdx_dataset.io.arguments import TURNS_HELP
from sgdx_eval.arguments import (
    Command,
    add_dialogues,
    add_evaluator,
    add_json_output,
    add_nli,
    add_none,
    add_push,
    add_references,
    add_validation,
    run_program,
)
from sgdx_eval.program import SHARED
from sgsacc_metric.models import DEFAULT_MODEL

from .commands import run_agreement, run_install, run_push, run_references, run_validate


def main(argv: list[str] | None = None) -> int:
    """Run a command; return the exit status, as `run_program` gives it."""
    return run_program("sgsacc_metric", __doc__, _COMMANDS, argv)


def _add_references(command: argparse.ArgumentParser) -> None:
    add_references(command, "turns")
    add_evaluator(command)
    add_nli(command, DEFAULT_MODEL)
    add_validation(command)
    command.add_argument(
        "--output", type=Path, required=True, metavar="FILE", help="Write the JSONL file here."
    )


def _add_validate(command: argparse.ArgumentParser) -> None:
    add_references(command, "turns")
    command.add_argument(
        "--evaluators",
        nargs="+",
        metavar="VARIANT",
        help="Make the sentences that have to be entailed from the words of these variants, one "
        "variant after the other. Default: original and v1 to v5.",
    )
    add_nli(command, DEFAULT_MODEL)
    add_json_output(command)
    add_dialogues(command)
    command.add_argument("--turns", type=Path, metavar="FILE", help=TURNS_HELP)


def _add_agreement(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "labels",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="Give tables (.csv, .tsv or .jsonl) with a column item, such as 1_00000/5, and a "
        "column of labels for each person. The column model has those of the model.",
    )
    add_json_output(command)


_COMMANDS = (
    Command("install", run_install, add_none, 'Make evaluate.load("sgsacc_metric") work anywhere.'),
    Command(
        "push",
        run_push,
        add_push,
        'Publish the metric, so that evaluate.load("YOU/sgsacc_metric") works for everybody.',
    ),
    *SHARED,
    Command(
        "references",
        run_references,
        _add_references,
        "Write what each turn has to entail, and which turns are valid, for score --gold.",
    ),
    Command(
        "validate",
        run_validate,
        _add_validate,
        "Test the model of entailment on the gold responses, and print the published figures "
        "beside it.",
    ),
    Command(
        "agreement",
        run_agreement,
        _add_agreement,
        "Measure how far people agree with each other, and a model with most of them.",
    ),
)
