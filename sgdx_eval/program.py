"""The programs of both metrics: which commands each has, and what they are given."""

import sys
from typing import Any

import pyarrow as pa

from sgsacc_metric.models import DEFAULT_MODEL

from . import commands, entailment
from .arguments import (
    EVALUATOR,
    INPUTS,
    JSON,
    NO_VALIDATION,
    OVER,
    SCORE,
    SERVICE,
    TURNS,
    Command,
    dialogues,
    file,
    flag,
    nli,
    option,
    references,
    run_program,
)


def _of_side(name: str, which: str) -> Any:
    text = (
        f"Instead, give the scores.json of each run of {which} system, such as those of several "
        "seeds."
    )
    return file(name, text, "SCORES", nargs="+")


def _install(metric: str) -> Command:
    text = f'Make evaluate.load("{metric}") work anywhere.'
    return Command("install", commands.run_install, text)


def _push(metric: str) -> Command:
    return Command(
        "push",
        commands.run_push,
        f'Publish the metric, so that evaluate.load("YOU/{metric}") works for everybody.',
        (
            option(
                "repo_id",
                "Push to this Space: YOU/ and the metric's name.",
                metavar="REPO_ID",
            ),
            flag("--private", "Create a private repository."),
        ),
    )


# What both programs have, for any task.
_SHARED = (
    Command(
        "score",
        commands.run_score,
        "Score the predictions of one system under one or more wordings: states, calls or "
        "generated turns.",
        SCORE,
    ),
    Command(
        "summarise",
        commands.run_summarise,
        "Average the scores of several runs, such as those of several seeds.",
        (
            file(
                "scores",
                "Give the scores.json of each run. Their signatures must be the same in every "
                "part.",
                "SCORES",
                nargs="+",
            ),
            file("--output", "Also write the means and deviations to this JSON file."),
        ),
    ),
    Command(
        "compare",
        commands.run_compare,
        "Test whether the scores of two systems differ.",
        (
            file(
                "scores",
                "Give the scores.json of one system, and then that of another system.",
                "SCORES",
                nargs="*",
            ),
            _of_side("--first", "one"),
            _of_side("--second", "the other"),
            dialogues(
                "all; if the two files have different dialogues, those of the file with fewer "
                "dialogues"
            ),
            flag("--details", "Also print a table of services for each figure."),
            OVER,
            JSON,
        ),
    ),
    Command(
        "explain",
        commands.run_explain,
        "Show the scores of one frame or call slot by slot, or of one turn action by action, or "
        "list those that got worse under other words.",
        (
            option(
                "item",
                "Show this frame: DIALOGUE/TURN/SERVICE, as in 1_00000/4/Hotels_2, with the "
                "original name of the service. Of generated turns, DIALOGUE/TURN.",
                nargs="?",
                metavar="FRAME_ID",
            ),
            option(
                "--changed",
                "List the frames that score less under the variant SECOND than under FIRST, as in "
                "--changed original v5, instead of showing one frame.",
                nargs=2,
                metavar=("FIRST", "SECOND"),
            ),
            flag(
                "--flips",
                "List the frames that are right under one wording and wrong under another, with "
                "the slots that changed, instead of showing one frame.",
            ),
            *INPUTS,
            dialogues(),
            SERVICE,
        ),
    ),
)
# The commands that only generated turns have.
_ENTAILMENT = (
    Command(
        "references",
        entailment.run_references,
        "Write what each turn has to entail, and which turns are valid, for score --gold.",
        (
            *references("turns"),
            EVALUATOR,
            *nli(DEFAULT_MODEL),
            NO_VALIDATION,
            file("--output", "Write the JSONL file here.", required=True),
        ),
    ),
    Command(
        "validate",
        entailment.run_validate,
        "Test the model of entailment on the gold responses, and print the published figures "
        "beside it.",
        (
            *references("turns"),
            option(
                "--evaluators",
                "Make the sentences that have to be entailed from the words of these variants, "
                "one variant after the other. Default: original and v1 to v5.",
                nargs="+",
                metavar="VARIANT",
            ),
            *nli(DEFAULT_MODEL),
            JSON,
            dialogues(),
            TURNS,
        ),
    ),
    Command(
        "agreement",
        entailment.run_agreement,
        "Measure how far people agree with each other, and a model with most of them.",
        (
            file(
                "labels",
                "Give tables (.csv, .tsv or .jsonl) with a column item, such as 1_00000/5, and a "
                "column of labels for each person. The column model has those of the model.",
                nargs="+",
            ),
            JSON,
        ),
    ),
)
# What each program does, and its commands.
_PROGRAMS = {
    "sgdx_metric": (
        "Score dialogue state trackers on SGD and SGD-X, compare their scores and explain frames.",
        (
            _install("sgdx_metric"),
            *_SHARED,
            Command("calls", commands.run_score, "Do the same as score.", SCORE),
            _push("sgdx_metric"),
        ),
    ),
    "sgsacc_metric": (
        "Score generated responses on SGD and SGD-X: are they faithful, under every wording?",
        (_install("sgsacc_metric"), _push("sgsacc_metric"), *_SHARED, *_ENTAILMENT),
    ),
}


def main(program: str, argv: list[str] | None = None) -> int:
    """Run a command of a metric's program; return the exit status, as `run_program` gives it."""
    if argv is None:  # of the process itself
        _leave_pandas_out()
    return run_program(program, *_PROGRAMS[program], argv)


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
