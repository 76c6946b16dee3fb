"""Score generated responses on SGD and SGD-X: are they faithful, under every wording?"""

import argparse
import sys
from pathlib import Path

from sgdx_metric.cli.arguments import (
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

from .annotation import PAPER_PAIRS
from .candidates import APPENDIX_B, RULES
from .cli.commands import (
    run_agreement,
    run_annotate,
    run_compare,
    run_explain,
    run_install,
    run_push,
    run_references,
    run_score,
    run_validate,
)
from .models import DEFAULT_MODEL, DTYPES


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
        help="also write the scores of every turn; the name ends in .jsonl",
    )
    _add_selection(command)


def _add_compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("first", type=Path, help="the scores.json of one system")
    command.add_argument("second", type=Path, help="the scores.json of another system")
    add_json_output(command)


def _add_explain(command: argparse.ArgumentParser) -> None:
    command.add_argument("turn_id", metavar="TURN_ID", help="DIALOGUE/TURN, as in 1_00000/5")
    _add_scored(command)


def _add_references(command: argparse.ArgumentParser) -> None:
    add_references(command, "turns")
    _add_evaluator(command)
    _add_nli(command, DEFAULT_MODEL)
    _add_validation(command)
    command.add_argument(
        "--output", type=Path, required=True, metavar="FILE", help="the JSONL file to write"
    )


def _add_validate(command: argparse.ArgumentParser) -> None:
    add_references(command, "turns")
    command.add_argument(
        "--evaluators",
        nargs="+",
        metavar="VARIANT",
        help="the variants whose words the sentences to be entailed are made of, one after the "
        "other; default: original and v1 to v5",
    )
    _add_nli(command, DEFAULT_MODEL)
    add_json_output(command)
    _add_selection(command)


def _add_annotate(command: argparse.ArgumentParser) -> None:
    add_references(command, "turns")
    add_predictions(command)
    _add_evaluator(command)
    _add_gold(command)
    _add_nli(command, DEFAULT_MODEL)
    _add_selection(command)
    command.add_argument(
        "--pairs",
        nargs=3,
        type=_number,
        default=PAPER_PAIRS,
        metavar="N",
        help="how many pairs: references of valid turns, such actions with wrong values, and "
        "references of actions that failed validation; default: 200 200 25, as in the paper",
    )
    command.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder for sheet.csv, which people fill in, and key.json, which they must not see",
    )


def _number(text: str) -> int:
    """A number of pairs, 0 or more."""
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"found {text!r:.40}, expected a number, 0 or more")
    return int(text)


def _add_agreement(command: argparse.ArgumentParser) -> None:
    command.add_argument("key", type=Path, help="the key.json that annotate wrote")
    command.add_argument(
        "sheets", nargs="+", type=Path, metavar="SHEET", help="a sheet that a person filled in"
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
        help="a file that the command references wrote, to be read instead of making it again",
    )


def _add_evaluator(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--evaluator",
        default="original",
        metavar="VARIANT",
        help="the variant whose words the sentences to be entailed are made of, whatever the "
        "generator was given; default: original",
    )


def _add_nli(command: argparse.ArgumentParser, default: str | None) -> None:
    without = "none, which gives BLEU and slot error rates alone"
    command.add_argument(
        "--nli",
        default=default,
        metavar="MODEL",
        help="the model of entailment for SGSAcc: a folder with safetensors, a name on the Hub, "
        "which may end in @REVISION, or 'lexical' for a comparison of words that needs no model; "
        f"default: {default or without}",
    )
    command.add_argument(
        "--dtype",
        choices=DTYPES,
        default=DTYPES[0],
        help="the precision of the model; with fewer bits, nearly equal probabilities may change "
        "their order; default: float32",
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
        help="folder for the model's answers, so that no pair of sentences is judged twice; "
        "default: sgsacc_metric in the Hugging Face home",
    )
    command.add_argument(
        "--rules",
        choices=RULES,
        default=APPENDIX_B,
        help="how sentences are made of actions: as in the paper's appendix B, the default, or "
        "with more forms of our own",
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
        help="random seed of the wrong values for validation, and of the pairs that annotate "
        "draws; default: 0",
    )


def _add_validation(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--no-validation",
        action="store_true",
        help="do not find out on which turns the model can be relied on",
    )


def _add_selection(command: argparse.ArgumentParser) -> None:
    add_dialogues(command)
    command.add_argument(
        "--turns",
        type=Path,
        metavar="FILE",
        help="score these turns only, such as a paper's sample of turns: a JSON list of "
        "DIALOGUE/TURN, as in 1_00000/5, or a text file with one a line",
    )


_COMMANDS = (
    Command("install", run_install, add_none, 'make evaluate.load("sgsacc_metric") work anywhere'),
    Command(
        "push", run_push, add_push, 'make evaluate.load("YOU/sgsacc_metric") work for everybody'
    ),
    Command(
        "score",
        run_score,
        _add_score,
        "score one system's responses under one or more schema variants",
    ),
    Command("compare", run_compare, _add_compare, "test whether two systems' scores differ"),
    Command("explain", run_explain, _add_explain, "show one turn action by action"),
    Command(
        "references",
        run_references,
        _add_references,
        "write what each turn has to entail, and which turns are valid, for score --gold",
    ),
    Command(
        "validate",
        run_validate,
        _add_validate,
        "test the model of entailment on the gold responses, beside the published figures",
    ),
    Command(
        "annotate",
        run_annotate,
        _add_annotate,
        "draw pairs of a response and a statement for people to judge, beside the model",
    ),
    Command(
        "agreement",
        run_agreement,
        _add_agreement,
        "compare what people said with the model's verdicts, beside the published figures",
    ),
)

if __name__ == "__main__":
    sys.exit(main())
