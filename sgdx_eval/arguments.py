"""What the command lines of both metrics share: how they run, and arguments that mean the same."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, NoReturn

from sgdx_dataset import SgdxError
from sgdx_dataset.io.arguments import DEFAULT_SOURCE, DIALOGUES_HELP, SOURCES, VARIANT_HELP
from sgdx_dataset.io.console import BAD_INPUT, run, say
from sgdx_metric.bootstrap import DIALOGUES, OVER
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import split_name
from sgsacc_metric.candidates import APPENDIX_B, RULES
from sgsacc_metric.models import DTYPES

# A parser, or a group of its arguments.
Arguments = argparse._ActionsContainer


class Command(NamedTuple):
    """A command of a metric.

    Attributes:
        name: The command's name.
        run: What it does with its arguments.
        add_arguments: Adds its arguments to its parser.
        help: What it does, in a sentence that begins with a verb.
    """

    name: str
    run: Callable[[argparse.Namespace], None]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    help: str


def run_program(
    program: str, description: str | None, commands: Iterable[Command], argv: list[str] | None
) -> int:
    """Run one of a metric's commands.

    Args:
        program: The program's module, which every message begins with, as in "sgdx_metric".
        description: What the program does.
        commands: Its commands.
        argv: The arguments; None for those of the process.

    Returns:
        The exit status: 0; 2 after one line on stderr that says why; 1 if nobody reads the standard
        output any longer, as after `| head`; 130 after an interruption. Files are written before
        anything is printed.
    """

    def parse_and_run() -> None:
        args = _parser(program, description, commands).parse_args(argv)
        args.run(args)

    return run(program, parse_and_run, (ScoreError, SgdxError))


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, as all others are."""

    def error(self, message: str) -> NoReturn:
        program = self.prog.split()[2]  # Of `python -m PROGRAM COMMAND`.
        say(program, f"error: {message}")
        self.exit(BAD_INPUT)


def _parser(
    program: str, description: str | None, commands: Iterable[Command]
) -> argparse.ArgumentParser:
    parser = _Parser(prog=f"python -m {program}", description=description)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in commands:
        subparser = subparsers.add_parser(command.name, help=command.help, description=command.help)
        subparser.set_defaults(run=command.run)
        command.add_arguments(subparser)
    return parser


def add_none(_: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def add_push(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `push`."""
    command.add_argument(
        "repo_id", metavar="REPO_ID", help="Push to this Space: YOU/ and the metric's name."
    )
    command.add_argument("--private", action="store_true", help="Create a private repository.")


def add_references(command: argparse.ArgumentParser, rows: str) -> None:
    """Add the arguments that say what is scored against.

    Args:
        command: The command's parser.
        rows: The command of `sgdx_dataset` that writes the references' rows: "frames" or "turns".
    """
    command.add_argument(
        "--source",
        metavar="PATH",
        help=f"Read the references from this source: {SOURCES}. Default: the source that the "
        f"predictions name, else {DEFAULT_SOURCE}.",
    )
    command.add_argument(
        "--references",
        type=Path,
        metavar="DIR",
        help="Read the references from this folder instead. It has the VARIANT.parquet files that "
        f"'python -m sgdx_dataset {rows}' writes.",
    )
    command.add_argument(
        "--variant", action="append", default=[], metavar="NAME=PATH", help=VARIANT_HELP
    )
    command.add_argument(
        "--split",
        default="test",
        type=split_name,
        choices=("train", "validation", "test"),
        help="Take this split: train, validation (or dev) or test. Default: test.",
    )


def add_predictions(command: argparse.ArgumentParser, layouts: str = "") -> None:
    """Add the argument that names the prediction files.

    Args:
        command: The command's parser.
        layouts: Sentences on what a PATH may be, which follow after a space.
    """
    command.add_argument(
        "--predictions",
        action="append",
        required=True,
        metavar="DIR | VARIANT=PATH",
        help="Read the predictions from one folder with VARIANT.jsonl for each variant, or give "
        f"VARIANT=PATH once for each variant.{layouts}",
    )


def add_over(command: argparse.ArgumentParser) -> None:
    """Add the argument that says what intervals are over."""
    command.add_argument(
        "--over",
        choices=OVER,
        default=DIALOGUES,
        help="Say what the intervals are drawn over: the dialogues, as if there were other "
        "dialogues; the wordings, as if somebody had written other wordings; or both. "
        "Default: dialogues.",
    )


def add_dialogues(
    command: argparse.ArgumentParser, default: str = "those that the predictions name, else all"
) -> None:
    """Add the argument that chooses dialogues.

    Args:
        command: The command's parser.
        default: Which dialogues are chosen without it.
    """
    command.add_argument(
        "--dialogues",
        type=Path,
        metavar="FILE",
        help=f"{DIALOGUES_HELP} Default: {default}.",
    )


def add_scores_output(command: argparse.ArgumentParser) -> None:
    """Add the argument that names the file of scores to write."""
    text = (
        "Write the scores to this JSON file, which other commands read. Default: only print tables."
    )
    command.add_argument("--output", type=Path, metavar="FILE", help=text)


def add_json_output(command: argparse.ArgumentParser) -> None:
    """Add the argument that names a file for the tables that are printed."""
    command.add_argument(
        "--json", type=Path, metavar="FILE", help="Also write the tables to this JSON file."
    )


def add_gold(command: Arguments) -> None:
    """Add the argument that names the gold side of generated turns."""
    command.add_argument(
        "--gold",
        type=Path,
        metavar="FILE",
        help="Read this file, which the command references wrote, instead of making it again.",
    )


def add_evaluator(command: Arguments) -> None:
    """Add the argument that says whose words have to be entailed."""
    command.add_argument(
        "--evaluator",
        default="original",
        metavar="VARIANT",
        help="Make the sentences that have to be entailed from the words of this variant, "
        "whatever the generator read. Default: original.",
    )


def add_nli(command: Arguments, default: str | None) -> None:
    """Add the arguments that say which model of entailment is asked, and how."""
    without = "none, which gives only BLEU and slot error rates"
    command.add_argument(
        "--nli",
        default=default,
        metavar="MODEL",
        help="Compute SGSAcc with this model of entailment: a folder with safetensors, a name on "
        "the Hub, which may end in @REVISION, or 'lexical' for a comparison of words, which needs "
        f"no model. Default: {default or without}.",
    )
    command.add_argument(
        "--dtype",
        choices=DTYPES,
        default=DTYPES[0],
        help="Set the precision of the model. With fewer bits, nearly equal probabilities may "
        "change their order. Default: float32.",
    )
    command.add_argument(
        "--device",
        metavar="DEVICE",
        help="Run the model on this device, as in cpu or cuda:1. Default: a GPU if there is one.",
    )
    command.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="Keep the model's answers in this folder, so that no pair of sentences is judged "
        "twice. Default: sgsacc_metric in the Hugging Face home.",
    )
    command.add_argument(
        "--rules",
        choices=RULES,
        default=APPENDIX_B,
        help="Choose how sentences are made from actions: as in the paper's appendix B (the "
        "default), or with more forms of our own.",
    )
    command.add_argument(
        "--no-context",
        action="store_true",
        help="Judge a response only alone, and not again after the previous turn.",
    )
    command.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="Set the random seed of the wrong values for validation. Default: 0.",
    )


def add_validation(command: Arguments) -> None:
    """Add the argument that leaves validation out."""
    command.add_argument(
        "--no-validation",
        action="store_true",
        help="Do not find out on which turns the model can be relied on.",
    )


def add_scored_turns(command: argparse.ArgumentParser) -> None:
    """Add what only generated turns have of what is scored."""
    group = command.add_argument_group("of generated turns")
    add_evaluator(group)
    add_gold(group)
    add_nli(group, None)
    add_validation(group)


def add_per_item(command: argparse.ArgumentParser) -> None:
    """Add the argument that names the file of scores of single items."""
    command.add_argument(
        "--per-frame",
        "--per-turn",
        dest="per_item",
        type=Path,
        metavar="FILE",
        help="Also write the scores of every frame, call or turn to this file. Its name ends in "
        ".parquet or .jsonl, of turns in .jsonl.",
    )
