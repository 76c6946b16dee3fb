"""The options of both metrics' commands, each said once, and how commands of them are run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

from sgdx_dataset import SgdxError
from sgdx_dataset.io import arguments as shared
from sgdx_dataset.io.console import BAD_INPUT, run, say
from sgdx_metric import bootstrap
from sgdx_metric.errors import ScoreError
from sgdx_metric.signature import ZERO_MEAN, split_name
from sgsacc_metric import candidates
from sgsacc_metric.models import DTYPES

from .task import OF_FRAMES, OF_STATES, OF_TURNS

Arguments: TypeAlias = "argparse._ActionsContainer"


class Option(NamedTuple):
    """What `add_argument` is given, and the heading of the options that it stands among."""

    names: str
    keywords: dict[str, Any]
    group: str = ""

    def is_given(self, args: argparse.Namespace) -> bool:
        """Whether it has another value than the one that it has without being given."""
        name = self.names.removeprefix("--").replace("-", "_")
        default = self.keywords.get("default", self.keywords.get("action") and False)
        return bool(getattr(args, name) != default)


class Command(NamedTuple):
    """A command of a metric; its help is a sentence that begins with a verb."""

    name: str
    run: Callable[[argparse.Namespace], None]
    help: str
    options: Iterable[Option] = ()


def option(names: str, help: str, **keywords: Any) -> Option:
    """An option by all its names, or an argument without dashes."""
    return Option(names, {"help": help, **keywords})


def file(names: str, help: str, metavar: str = "FILE", **keywords: Any) -> Option:
    """An option that is a path."""
    return option(names, help, type=Path, metavar=metavar, **keywords)


def flag(name: str, help: str) -> Option:
    """An option without a value."""
    return option(name, help, action="store_true")


def under(group: str, *options: Option) -> tuple[Option, ...]:
    """Options under a heading."""
    return tuple(option._replace(group=group) for option in options)


def add(command: argparse.ArgumentParser, options: Iterable[Option]) -> None:
    """Add options to a parser, those of a group under its heading."""
    groups: dict[str, Arguments] = {"": command}
    for names, keywords, group in options:
        if group not in groups:
            groups[group] = command.add_argument_group(group)
        groups[group].add_argument(*names.split(), **keywords)


def run_program(
    program: str, description: str, commands: Iterable[Command], argv: list[str] | None
) -> int:
    """Run one of a metric's commands; None as arguments for those of the process.

    The exit status is 0; 2 after one line on stderr that says why; 1 if nobody reads the standard
    output any longer, as after `| head`; 130 after an interruption.
    """

    def parse_and_run() -> None:
        parser = _Parser(prog=f"python -m {program}", description=description)
        subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
        for command in commands:
            text = command.help
            subparser = subparsers.add_parser(command.name, help=text, description=text)
            subparser.set_defaults(run=command.run, program=program, options=command.options)
            add(subparser, command.options)
        args = parser.parse_args(argv)
        args.run(args)

    return run(program, parse_and_run, (ScoreError, SgdxError))


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, as all others are."""

    def error(self, message: str) -> NoReturn:
        program = self.prog.split()[2]  # Of `python -m PROGRAM COMMAND`.
        say(program, f"error: {message}")
        self.exit(BAD_INPUT)


# ---- options of several commands


def references(rows: str) -> tuple[Option, ...]:
    """What is scored against: the rows that the dataset's command "frames" or "turns" writes."""
    return (
        option(
            "--source",
            f"Read the references from this source: {shared.SOURCES}. Default: the source that the "
            f"predictions name, else {shared.DEFAULT_SOURCE}.",
            metavar="PATH",
        ),
        file(
            "--references",
            "Read the references from this folder instead. It has the VARIANT.parquet files that "
            f"'python -m sgdx_dataset {rows}' writes.",
            "DIR",
        ),
        option("--variant", shared.VARIANT_HELP, action="append", default=[], metavar="NAME=PATH"),
        option(
            "--split",
            "Take this split: train, validation (or dev) or test. Default: test.",
            default="test",
            type=split_name,
            choices=("train", "validation", "test"),
        ),
    )


def dialogues(default: str = "those that the predictions name, else all") -> Option:
    """Which dialogues are chosen, and which without the option."""
    return file("--dialogues", f"{shared.DIALOGUES_HELP} Default: {default}.")


def nli(default: str | None) -> tuple[Option, ...]:
    """Which model of entailment is asked, and how."""
    without = "none, which gives only BLEU and slot error rates"
    return (
        option(
            "--nli",
            "Compute SGSAcc with this model of entailment: a folder with safetensors, a name on "
            "the Hub, which may end in @REVISION, or 'lexical' for a comparison of words, which "
            f"needs no model. Default: {default or without}.",
            default=default,
            metavar="MODEL",
        ),
        option(
            "--dtype",
            "Set the precision of the model. With fewer bits, nearly equal probabilities may "
            "change their order. Default: float32.",
            choices=DTYPES,
            default=DTYPES[0],
        ),
        option(
            "--device",
            "Run the model on this device, as in cpu or cuda:1. Default: a GPU if there is one.",
            metavar="DEVICE",
        ),
        file(
            "--cache",
            "Keep the model's answers in this folder, so that no pair of sentences is judged "
            "twice. Default: sgsacc_metric in the Hugging Face home.",
            "DIR",
        ),
        option(
            "--rules",
            "Choose how sentences are made from actions: as in the paper's appendix B (the "
            "default), or with more forms of our own.",
            choices=candidates.RULES,
            default=candidates.APPENDIX_B,
        ),
        flag(
            "--no-context",
            "Judge a response only alone, and not again after the previous turn.",
        ),
        option(
            "--seed",
            "Set the random seed of the wrong values for validation. Default: 0.",
            type=int,
            default=0,
            metavar="N",
        ),
    )


EVALUATOR = option(
    "--evaluator",
    "Make the sentences that have to be entailed from the words of this variant, "
    "whatever the generator read. Default: original.",
    default="original",
    metavar="VARIANT",
)
NO_VALIDATION = flag(
    "--no-validation", "Do not find out on which turns the model can be relied on."
)
OVER = option(
    "--over",
    "Say what the intervals are drawn over: the dialogues, as if there were other "
    "dialogues; the wordings, as if somebody had written other wordings; or both. "
    "Default: dialogues.",
    choices=bootstrap.OVER,
    default=bootstrap.DIALOGUES,
)
TURNS = file("--turns", shared.TURNS_HELP)
JSON = file("--json", "Also write the tables to this JSON file.")
SERVICE = option(
    "--service",
    "Take only the frames or turns of these services, by their original names, or those under "
    "--evaluator. Default: all.",
    nargs="+",
    action="extend",
    default=[],
    metavar="SERVICE",
)
# What is scored against what, for any task.
INPUTS = (
    *references("frames"),
    *under(
        OF_TURNS,
        EVALUATOR,
        file(
            "--gold",
            "Read this file, which the command references wrote, instead of making it again.",
        ),
        *nli(None),
        NO_VALIDATION,
    ),
    option(
        "--predictions",
        "Read the predictions from one folder with VARIANT.jsonl for each variant, or give "
        "VARIANT=PATH once for each variant. PATH is a JSONL file, or a directory of "
        "dialogues_*.json. The folder may have such directories too.",
        action="append",
        required=True,
        metavar="DIR | VARIANT=PATH",
    ),
    *under(
        OF_FRAMES,
        flag(
            "--no-fuzzy-match",
            "Score a free-form value 1 if it equals a reference value, and otherwise 0, instead "
            "of by its similarity.",
        ),
    ),
)
SCORE = (
    *INPUTS,
    *under(OF_TURNS, TURNS),
    file(
        "--output",
        "Write the scores to this JSON file, which other commands read. Default: only print "
        "tables.",
    ),
    file(
        "--per-frame --per-turn",
        "Also write the scores of every frame, call or turn to this file. Its name ends in "
        ".parquet or .jsonl, of turns in .jsonl.",
        dest="per_item",
    ),
    dialogues(),
    OVER,
    SERVICE,
    *under(
        OF_FRAMES,
        flag(
            "--without-errata",
            "Leave out the slots of frames whose annotations in SGD contradict each other. The "
            "signature says so.",
        ),
        option(
            "--system-acts",
            "Say whether the tracker read the system's dialogue acts, if the predictions do not "
            "say it. The signature has it. It changes no score.",
            choices=("yes", "no"),
        ),
    ),
    *under(
        OF_STATES,
        flag(
            "--joint-acc-across-turn",
            "Compute the joint accuracies of whole turns instead of frames, as in MultiWOZ.",
        ),
    ),
    *under(
        OF_FRAMES,
        option(
            "--zero-mean",
            "Choose how the schema sensitivity treats a frame that is wrong under every variant: "
            "count it as 0 (0, the default), or leave it out of the mean (drop).",
            choices=ZERO_MEAN,
            default="0",
        ),
    ),
)
