"""Score dialogue state trackers on SGD and SGD-X, compare their scores and explain frames."""

import argparse
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from sgdx_dataset.io.arguments import TURNS_HELP
from sgdx_metric.signature import ZERO_MEAN

from .arguments import (
    Command,
    add_dialogues,
    add_json_output,
    add_none,
    add_over,
    add_per_item,
    add_predictions,
    add_push,
    add_references,
    add_scored_turns,
    add_scores_output,
    run_program,
)
from .commands import (
    run_compare,
    run_explain,
    run_install,
    run_push,
    run_score,
    run_summarise,
)


def main(argv: list[str] | None = None) -> int:
    """Run a command; return the exit status, as `run_program` gives it."""
    if argv is None:  # of the process itself
        _leave_pandas_out()
    return run_program("sgdx_metric", __doc__, _COMMANDS, argv)


def _add_score(command: argparse.ArgumentParser) -> None:
    _add_inputs(command)
    command.add_argument("--turns", type=Path, metavar="FILE", help=TURNS_HELP)
    add_scores_output(command)
    add_per_item(command)
    command.add_argument(
        "--plots",
        type=Path,
        metavar="DIR",
        help="Also draw the joint goal accuracy of each variant, and its drop for each service, "
        "as PNG files in this folder. This needs the extra sgdx[report].",
    )
    add_dialogues(command)
    add_over(command)
    _add_service(command)
    command.add_argument(
        "--without-errata",
        action="store_true",
        help="Leave out the slots of frames whose annotations in SGD contradict each other. The "
        "signature says so.",
    )
    command.add_argument(
        "--system-acts",
        choices=("yes", "no"),
        help="Say whether the tracker read the system's dialogue acts, if the predictions do not "
        "say it. The signature has it. It changes no score.",
    )
    command.add_argument(
        "--joint-acc-across-turn",
        action="store_true",
        help="Compute the joint accuracies of whole turns instead of frames, as in MultiWOZ.",
    )
    command.add_argument(
        "--zero-mean",
        choices=ZERO_MEAN,
        default="0",
        help="Choose how the schema sensitivity treats a frame that is wrong under every variant: "
        "count it as 0 (0, the default), or leave it out of the mean (drop).",
    )


def _add_summarise(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "scores",
        nargs="+",
        type=Path,
        metavar="SCORES",
        help="Give the scores.json of each run. Their signatures must be the same in every part.",
    )
    command.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="Also write the means and deviations to this JSON file.",
    )


def _add_compare(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "scores",
        nargs="*",
        type=Path,
        metavar="SCORES",
        help="Give the scores.json of one system, and then that of another system.",
    )
    for option, which in (("first", "one"), ("second", "the other")):
        command.add_argument(
            f"--{option}",
            nargs="+",
            type=Path,
            metavar="SCORES",
            help=f"Instead, give the scores.json of each run of {which} system, such as those of "
            "several seeds.",
        )
    add_dialogues(
        command,
        "all; if the two files have different dialogues, those of the file with fewer dialogues",
    )
    command.add_argument(
        "--details", action="store_true", help="Also print a table of services for each figure."
    )
    add_over(command)
    add_json_output(command)


def _add_explain(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "item",
        nargs="?",
        metavar="FRAME_ID",
        help="Show this frame: DIALOGUE/TURN/SERVICE, as in 1_00000/4/Hotels_2, with the original "
        "name of the service. Of generated turns, DIALOGUE/TURN.",
    )
    command.add_argument(
        "--changed",
        nargs=2,
        metavar=("FIRST", "SECOND"),
        help="List the frames that score less under the variant SECOND than under FIRST, as in "
        "--changed original v5, instead of showing one frame.",
    )
    command.add_argument(
        "--flips",
        action="store_true",
        help="List the frames that are right under one wording and wrong under another, with the "
        "slots that changed, instead of showing one frame.",
    )
    _add_inputs(command)
    add_dialogues(command)
    _add_service(command)


def _add_service(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--service",
        nargs="+",
        action="extend",
        default=[],
        metavar="SERVICE",
        help="Take only the frames of these services, by their original names. Default: all.",
    )


def _add_inputs(command: argparse.ArgumentParser) -> None:
    add_references(command, "frames")
    add_scored_turns(command)
    add_predictions(
        command,
        " PATH is a JSONL file, or a directory of dialogues_*.json. The folder may have such "
        "directories too.",
    )
    command.add_argument(
        "--no-fuzzy-match",
        action="store_true",
        help="Score a free-form value 1 if it equals a reference value, and otherwise 0, instead "
        "of by its similarity.",
    )


# What both metrics' programs have, for any task.
SHARED = (
    Command(
        "score",
        run_score,
        _add_score,
        "Score the predictions of one system under one or more wordings: states, calls or "
        "generated turns.",
    ),
    Command(
        "summarise",
        run_summarise,
        _add_summarise,
        "Average the scores of several runs, such as those of several seeds.",
    ),
    Command("compare", run_compare, _add_compare, "Test whether the scores of two systems differ."),
    Command(
        "explain",
        run_explain,
        _add_explain,
        "Show the scores of one frame or call slot by slot, or of one turn action by action, or "
        "list those that got worse under other words.",
    ),
)
_COMMANDS = (
    Command("install", run_install, add_none, 'Make evaluate.load("sgdx_metric") work anywhere.'),
    *SHARED,
    Command("calls", run_score, _add_score, "Do the same as score."),
    Command(
        "push",
        run_push,
        add_push,
        'Publish the metric, so that evaluate.load("YOU/sgdx_metric") works for everybody.',
    ),
)


class _NoPandas:
    """A finder of modules by which there is no pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        """Raise the error of a missing module for pandas; other finders look for all others."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _leave_pandas_out() -> None:
    """Have pyarrow do without pandas, whose import takes as long as all others together.

    pyarrow looks for it when the first list becomes an array, and then never again; no command
    needs it. What imports pandas itself still can.
    """
    finder: Any = _NoPandas()
    sys.meta_path.insert(0, finder)
    pa.array([])
    sys.meta_path.remove(finder)
