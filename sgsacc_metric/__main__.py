"""Score generated responses on SGD and SGD-X: are they faithful, under every wording?"""

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import BAD_INPUT, run, say
from sgdx_metric.rows import ScoreError
from sgdx_metric.signature import split_name

from .candidates import APPENDIX_B, RULES
from .cli.commands import (
    run_compare,
    run_explain,
    run_install,
    run_push,
    run_references,
    run_score,
    run_validate,
)
from .models import DEFAULT_MODEL, DTYPES

_PROGRAM = "sgsacc-metric"


def main(argv: list[str] | None = None) -> int:
    """Run a command; return the exit status, as `sgdx_dataset.io.console.run` gives it."""

    def command() -> None:
        args = _parser().parse_args(argv)
        args.run(args)

    return run(_PROGRAM, command, (ScoreError, SgdxError))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        say(_PROGRAM, f"error: {message}")
        self.exit(BAD_INPUT)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="sgsacc-metric", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser(
        "install", help='make evaluate.load("sgsacc_metric") work anywhere'
    )
    command.set_defaults(run=run_install)

    text = 'make evaluate.load("YOU/sgsacc_metric") work for everybody'
    command = commands.add_parser("push", help=text)
    command.set_defaults(run=run_push)
    command.add_argument("repo_id", metavar="REPO_ID", help="Space to push to, YOU/sgsacc_metric")
    command.add_argument("--private", action="store_true", help="create it as a private one")

    text = "score one system's responses under one or more schema variants"
    command = commands.add_parser("score", help=text)
    command.set_defaults(run=run_score)
    _add_inputs(command)
    _add_predictions(command)
    _add_nli(command, None)
    _add_validation(command)
    text = "the JSON file to write"
    command.add_argument("--output", type=Path, required=True, metavar="FILE", help=text)
    text = "also write the scores of every turn; the name ends in .jsonl"
    command.add_argument("--per-turn", type=Path, metavar="FILE", help=text)
    _add_chosen(command)

    command = commands.add_parser("compare", help="test whether two systems' scores differ")
    command.set_defaults(run=run_compare)
    command.add_argument("first", type=Path, help="the scores.json of one system")
    command.add_argument("second", type=Path, help="the scores.json of another system")
    command.add_argument("--json", type=Path, metavar="FILE", help="also write the tables as JSON")

    command = commands.add_parser("explain", help="show one turn action by action")
    command.set_defaults(run=run_explain)
    text = "DIALOGUE/TURN, as in 1_00000/5"
    command.add_argument("turn_id", metavar="TURN_ID", help=text)
    _add_inputs(command)
    _add_predictions(command)
    _add_nli(command, None)
    _add_validation(command)

    text = "write what each turn has to entail, and which turns are valid, for score --gold"
    command = commands.add_parser("references", help=text)
    command.set_defaults(run=run_references)
    _add_inputs(command)
    _add_evaluator(command)
    _add_nli(command, DEFAULT_MODEL)
    _add_validation(command)
    text = "the JSONL file to write"
    command.add_argument("--output", type=Path, required=True, metavar="FILE", help=text)

    text = "test the model of entailment on the gold responses, beside the published figures"
    command = commands.add_parser("validate", help=text)
    command.set_defaults(run=run_validate)
    _add_inputs(command)
    text = "wordings whose words are used; default: original and v1 to v5"
    command.add_argument("--evaluators", nargs="+", metavar="VARIANT", help=text)
    _add_nli(command, DEFAULT_MODEL)
    command.add_argument("--json", type=Path, metavar="FILE", help="also write the table as JSON")
    _add_chosen(command)
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
        help="instead of --source, a folder of VARIANT.parquet as 'python -m sgdx_dataset turns' "
        "writes them",
    )
    command.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="a schema variant of your own: a directory with {train,dev,test}/schema.json, or a "
        ".json file of new words; may be repeated",
    )
    command.add_argument(
        "--split",
        default="test",
        type=split_name,
        choices=("train", "validation", "test"),
        help="the split that was generated; dev is another name of validation; default: test",
    )


def _add_predictions(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--predictions",
        action="append",
        required=True,
        metavar="DIR | VARIANT=PATH",
        help="either one folder with VARIANT.jsonl for each variant, or VARIANT=PATH once for each "
        "variant",
    )
    _add_evaluator(command)
    command.add_argument(
        "--gold",
        type=Path,
        metavar="FILE",
        help="what the command references wrote, instead of making it again",
    )


def _add_evaluator(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--evaluator",
        default="original",
        metavar="VARIANT",
        help="the wording whose words the sentences to be entailed are made of, whatever the "
        "generator was given; default: original",
    )


def _add_nli(command: argparse.ArgumentParser, default: str | None) -> None:
    none = "none, for BLEU and slot error rates alone" if default is None else default
    command.add_argument(
        "--nli",
        default=default,
        metavar="MODEL",
        help="the model of entailment for SGSAcc: a folder with safetensors, a name on the Hub, "
        "perhaps with @REVISION, or 'lexical' for a comparison of words that needs no model; "
        f"default: {none}",
    )
    command.add_argument(
        "--dtype",
        choices=DTYPES,
        default=DTYPES[0],
        help="the precision of the model; fewer bits may turn near ties over; default: float32",
    )
    command.add_argument(
        "--device",
        metavar="DEVICE",
        help="where the model runs, as in cpu or cuda:1; default: a GPU where there is one",
    )
    command.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="folder for what the model said, which is never asked twice; default: "
        "sgsacc_metric in the Hugging Face home",
    )
    command.add_argument(
        "--rules",
        choices=RULES,
        default=APPENDIX_B,
        help="how sentences are made of actions: as in the paper's appendix B, the default, or "
        "with forms of our own beside them",
    )
    command.add_argument(
        "--no-context",
        action="store_true",
        help="judge a response alone only, and not again after the previous turn",
    )
    command.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="random seed of the wrong values for validation; default: 0",
    )


def _add_validation(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--no-validation",
        action="store_true",
        help="do not look for the turns on which the model can be relied on",
    )


def _add_chosen(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--dialogues",
        type=Path,
        metavar="FILE",
        help="use these dialogues only: a file that 'python -m sgdx_dataset subset' wrote, a JSON "
        "list of ids, or a text file with one id a line",
    )
    command.add_argument(
        "--turns",
        type=Path,
        metavar="FILE",
        help="use these turns only, as a paper's sample of turns: a JSON list of DIALOGUE/TURN, "
        "as in 1_00000/5, or a text file with one a line",
    )


if __name__ == "__main__":
    sys.exit(main())
