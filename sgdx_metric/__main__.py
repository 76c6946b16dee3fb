"""Score dialogue state trackers on SGD and SGD-X, compare their scores and explain frames."""

import argparse
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from .cli.arguments import (
    Command,
    add_dialogues,
    add_json_output,
    add_none,
    add_over,
    add_predictions,
    add_push,
    add_references,
    add_scores_output,
    run_program,
)
from .cli.commands import (
    run_calls,
    run_compare,
    run_explain,
    run_install,
    run_push,
    run_score,
    run_summarise,
)
from .signature import ZERO_MEAN


def main(argv: list[str] | None = None) -> int:
    """Run a command; return the exit status, as `run_program` gives it."""
    return run_program("sgdx_metric", __doc__, _COMMANDS, argv)


def _add_score(command: argparse.ArgumentParser) -> None:
    _add_inputs(command)
    add_scores_output(command)
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
    add_dialogues(command)
    add_over(command)
    _add_service(command)
    command.add_argument(
        "--without-errata",
        action="store_true",
        help="leave out the slots of frames whose annotations in SGD contradict each other; it "
        "stands in the signature",
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
    add_scores_output(command)
    add_dialogues(command)
    add_over(command)
    _add_service(command)


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
    for option, which in (("first", "one"), ("second", "the other")):
        command.add_argument(
            f"--{option}",
            nargs="+",
            type=Path,
            metavar="SCORES",
            help=f"instead, the scores.json of each run of {which} tracker, such as of each seed",
        )
    add_dialogues(
        command, "where the two files are of different dialogues, those of the one that has fewer"
    )
    command.add_argument(
        "--details", action="store_true", help="also print a table by service for each figure"
    )
    add_over(command)
    add_json_output(command)


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
    command.add_argument(
        "--flips",
        action="store_true",
        help="instead of FRAME_ID, list the frames that are right under one of the wordings and "
        "wrong under another, with the slots that changed",
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
        help="take the frames of these services only, by their original names; default: all",
    )


def _add_inputs(command: argparse.ArgumentParser) -> None:
    add_references(command, "frames")
    add_predictions(
        command,
        ", PATH being a JSONL file or a directory of dialogues_*.json; a folder may have "
        "such directories too",
    )
    command.add_argument(
        "--no-fuzzy-match",
        action="store_true",
        help="score a free-form value 1 if it equals a reference value and 0 if not, instead of by "
        "its similarity",
    )


_COMMANDS = (
    Command("install", run_install, add_none, 'make evaluate.load("sgdx_metric") work anywhere'),
    Command(
        "score",
        run_score,
        _add_score,
        "score one tracker's predictions for one or more schema variants",
    ),
    Command(
        "calls",
        run_calls,
        _add_calls,
        "score predicted API calls for one or more schema variants",
    ),
    Command(
        "summarise",
        run_summarise,
        _add_summarise,
        "average the scores of several runs, such as those of several seeds",
    ),
    Command("compare", run_compare, _add_compare, "test whether two systems' scores differ"),
    Command(
        "explain",
        run_explain,
        _add_explain,
        "show the scores of one frame or call slot by slot, or list those that broke",
    ),
    Command("push", run_push, add_push, 'make evaluate.load("YOU/sgdx_metric") work for everybody'),
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


if __name__ == "__main__":
    _leave_pandas_out()
    sys.exit(main())
