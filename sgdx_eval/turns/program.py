"""Score generated responses on SGD and SGD-X: are they faithful, under every wording?"""

import argparse
from pathlib import Path

from sgdx_dataset.io.arguments import TURNS_HELP
from sgdx_eval.arguments import (
    Command,
    add_dialogues,
    add_json_output,
    add_none,
    add_predictions,
    add_push,
    add_references,
    add_scores_output,
    run_program,
)
from sgsacc_metric.candidates import APPENDIX_B, RULES
from sgsacc_metric.models import DEFAULT_MODEL, DTYPES

from .commands import (
    run_agreement,
    run_compare,
    run_explain,
    run_install,
    run_push,
    run_references,
    run_score,
    run_validate,
)


def main(argv: list[str] | None = None) -> int:
    """Run a command; return the exit status, as `run_program` gives it."""
    return run_program("sgsacc_metric", __doc__, _COMMANDS, argv)


def _add_score(command: argparse.ArgumentParser) -> None:
    _add_scored(command)
    add_scores_output(command)
    command.add_argument(
        "--per-turn",
        type=Path,
        metavar="FILE",
        help="Also write the scores of every turn to this file. Its name ends in .jsonl.",
    )
    _add_selection(command)


def _add_compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("first", type=Path, help="Give the scores.json of one system.")
    command.add_argument("second", type=Path, help="Give the scores.json of another system.")
    add_json_output(command)


def _add_explain(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "turn_id", metavar="TURN_ID", help="Show this turn: DIALOGUE/TURN, as in 1_00000/5."
    )
    _add_scored(command)


def _add_references(command: argparse.ArgumentParser) -> None:
    add_references(command, "turns")
    _add_evaluator(command)
    _add_nli(command, DEFAULT_MODEL)
    _add_validation(command)
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
    _add_nli(command, DEFAULT_MODEL)
    add_json_output(command)
    _add_selection(command)


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


def _add_scored(command: argparse.ArgumentParser) -> None:
    """Add what is scored against what, and how."""
    add_references(command, "turns")
    add_predictions(command)
    _add_evaluator(command)
    _add_gold(command)
    _add_nli(command, None)
    _add_validation(command)


def _add_gold(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--gold",
        type=Path,
        metavar="FILE",
        help="Read this file, which the command references wrote, instead of making it again.",
    )


def _add_evaluator(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--evaluator",
        default="original",
        metavar="VARIANT",
        help="Make the sentences that have to be entailed from the words of this variant, "
        "whatever the generator read. Default: original.",
    )


def _add_nli(command: argparse.ArgumentParser, default: str | None) -> None:
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


def _add_validation(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--no-validation",
        action="store_true",
        help="Do not find out on which turns the model can be relied on.",
    )


def _add_selection(command: argparse.ArgumentParser) -> None:
    add_dialogues(command)
    command.add_argument("--turns", type=Path, metavar="FILE", help=TURNS_HELP)


_COMMANDS = (
    Command("install", run_install, add_none, 'Make evaluate.load("sgsacc_metric") work anywhere.'),
    Command(
        "push",
        run_push,
        add_push,
        'Publish the metric, so that evaluate.load("YOU/sgsacc_metric") works for everybody.',
    ),
    Command(
        "score",
        run_score,
        _add_score,
        "Score the responses of one system under one or more wordings.",
    ),
    Command("compare", run_compare, _add_compare, "Test whether the scores of two systems differ."),
    Command("explain", run_explain, _add_explain, "Show one turn action by action."),
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
