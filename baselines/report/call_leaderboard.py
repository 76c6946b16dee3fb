"""The leaderboard's table of calls: rows of systems that call the API, and the section of them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_metric.calls import CALL, TASK_SUCCESS
from sgdx_metric.cli.call_results import CallScores, Decision, WordingFigures
from sgdx_metric.units import ALL, SEEN, UNSEEN

from .cells import NO_VALUE, markdown, percent
from .leaderboard import (
    MeasuredRow,
    Percent,
    check_measured,
    check_worst,
    parse_measured,
    request_options,
    row_digest,
    sections_by_data,
    with_notes,
)
from .runs import name_of_path
from .tools.runs import ToolRun

FILE = "leaderboard_calls.toml"
HEAD = """\
# Rows of calls in docs/leaderboard.md that were measured with this project, in percent. To add one,
# give
#   python -m baselines.report --leaderboard RUN
# and send the files as a pull request.
"""
Points = Annotated[float, msgspec.Meta(ge=-100, le=100)]
_KEYS = {"calls_v1_5": "calls_v1-5", "tasks_v1_5": "tasks_v1-5"}


class CallHeadline(msgspec.Struct, rename=_KEYS, forbid_unknown_fields=True, kw_only=True):
    """The figures of calls of some services, in percent; None where there is none.

    Attributes:
        calls_orig, calls_v1_5: Calls that are right under the original schemas, and their mean over
            v1 to v5.
        drop, drop_low, drop_high: The second less the first, and its 95 % interval, in points.
        calls_worst: The mean of each call under the wording, of all six, that is worst for it.
        calls_flips: Calls that are right under one of the six and wrong under another.
        tasks_orig, tasks_v1_5, tasks_worst: The same of dialogues all of whose calls are right.
        precision, recall: Those of the decision to call, means over the six wordings.
    """

    calls_orig: Percent | None = None
    calls_v1_5: Percent | None = None
    drop: Points | None = None
    drop_low: Points | None = None
    drop_high: Points | None = None
    calls_worst: Percent | None = None
    calls_flips: Percent | None = None
    tasks_orig: Percent | None = None
    tasks_v1_5: Percent | None = None
    tasks_worst: Percent | None = None
    precision: Percent | None = None
    recall: Percent | None = None


class CallRow(MeasuredRow[CallHeadline], kw_only=True):
    """A row of a system that calls the API."""


def read_call_rows(path: Path) -> list[CallRow]:
    """Read the rows of calls; none where there is no file.

    Raises:
        SgdxError: The file cannot be read, or a row is not one; the message names it.
    """
    return parse_call_rows(read_file(path), str(path)) if path.exists() else []


def parse_call_rows(data: bytes, path: str) -> list[CallRow]:
    """The rows of calls in a file's content, as ``parse_measured`` has them."""
    return parse_measured(data, path, CallRow, check_call_row)


def check_call_row(row: CallRow, where: str) -> None:
    """Refuse a row of calls that has a fault.

    Raises:
        ScoreError, SgdxError: ``check_measured`` refuses it, a score is missing, the worst case is
            above a mean, or the drop is not the difference.
    """
    check_measured(row, where, "calls")
    for figures in (row.all, row.seen, row.unseen):
        if figures is None:
            continue
        for mean in (figures.calls_orig, figures.calls_v1_5):
            check_worst(figures.calls_worst, mean, "calls_worst", where)
        for mean in (figures.tasks_orig, figures.tasks_v1_5):
            check_worst(figures.tasks_worst, mean, "tasks_worst", where)
    all_calls = row.all
    if all_calls.calls_orig is None or all_calls.calls_v1_5 is None or all_calls.drop is None:
        raise SgdxError(f"{where}: all: expected calls_orig, calls_v1-5 and drop")
    drop = round(all_calls.calls_v1_5 - all_calls.calls_orig, 4)
    if abs(drop - all_calls.drop) > 0.001:
        raise SgdxError(f"{where}: drop is {all_calls.drop}, expected {drop}")


def own_call_row(run: ToolRun) -> CallRow:
    """The row of a run of calls of SGD.

    Raises:
        SgdxError: The run is of other tools, or of an earlier version, or its scores are not of the
            test split under all six wordings by the usual rules.
    """
    scores = run.call_scores
    if scores is None:
        raise SgdxError(
            f"{run.path}: found no scores of single calls of SGD, expected those that python -m "
            "sgdx_metric calls writes"
        )
    row = CallRow(
        system=run.name,
        oracle=run.is_oracle,
        all=_headline(scores, ALL),
        seen=_headline(scores, SEEN),
        unseen=_headline(scores, UNSEEN),
        signature=scores.signature,
        command=_command(run),
        scores=[scores.sha256] if scores.sha256 else [],
    )
    row = msgspec.structs.replace(row, sha256=row_digest(row))
    check_call_row(row, str(run.path))
    return row


def _headline(scores: CallScores, group: str) -> CallHeadline:
    """The figures of a group of services."""
    calls, tasks = (
        scores.calls[metric].group(group) or WordingFigures({}) for metric in (CALL, TASK_SUCCESS)
    )
    low, high = calls.confidence.get("drop") or (None, None)
    stated = scores.decision.values() if group == ALL else ()
    decisions = [decision or Decision(None, None) for decision in stated]
    return CallHeadline(
        **_percent_of(calls, "calls"),
        **_percent_of(tasks, "tasks"),
        calls_flips=_percent(calls.flips),
        drop=_percent(calls.drop),
        drop_low=_percent(low),
        drop_high=_percent(high),
        precision=_mean([decision.precision for decision in decisions]),
        recall=_mean([decision.recall for decision in decisions]),
    )


def _percent_of(figures: WordingFigures, name: str) -> dict[str, float | None]:
    """The original, the mean over v1 to v5 and the worst case, by the names of a row's fields."""
    return {
        f"{name}_orig": _percent(figures.original),
        f"{name}_v1_5": _percent(figures.v1_5),
        f"{name}_worst": _percent(figures.worst),
    }


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else round(100 * fraction, 4)


def _mean(fractions: Sequence[float | None]) -> float | None:
    """The mean in percent; None where there is nothing, or one is missing."""
    defined = [fraction for fraction in fractions if fraction is not None]
    is_whole = bool(defined) and len(defined) == len(fractions)
    return _percent(sum(defined) / len(defined)) if is_whole else None


def _command(run: ToolRun) -> str:
    """The command that made the predictions, with words in capitals for what is not known."""
    header = next(iter(run.scores.predictions.values()), {})
    words = ["python", "-m", "baselines.llm", "predict", "--task", "calls"]
    words += ["--model", str(header.get("model", "MODEL")), *request_options(header)]
    if distractors := header.get("distractors"):
        words += ["--distractors", str(distractors)]
    words += ["--source", "sample" if run.parts.get("release") == "sample" else "PATH"]
    words += ["--dialogues", "FILE"] if "dialogues" in run.parts else []
    return shlex.join([*words, "--output", f"outputs/{name_of_path(run.path)}"])


def render_calls(rows: Sequence[CallRow]) -> str:
    """The part of the leaderboard's page about calls, its rows by calls under v1 to v5."""
    ranked = sorted(rows, key=lambda row: (-(row.all.calls_v1_5 or 0), -(row.all.calls_orig or 0)))
    sections = sections_by_data(ranked, _table) or ["No row yet."]
    return "\n\n".join([_INTRODUCTION, *sections]) + "\n"


_INTRODUCTION = """\
## Calls

These systems call the API. They are asked in the turns after which SGD's system makes a call. The
rows are sorted by calls v1-5.

| column | what it is |
|---|---|
| calls orig, v1-5 | calls with the right function and arguments, under the original and as the mean under v1 to v5 |
| drop | calls v1-5 minus calls orig, with its 95 % interval over dialogues |
| worst | mean score of each call under its worst wording, of the six; a free-form value scores its similarity |
| flips | calls that are right under one of the six wordings and wrong under another |
| tasks | dialogues in which all calls are right |
| precision, recall | those of the decision to call, means over the six; empty if the system was asked only in turns that a call follows |

Rows are in `leaderboard_calls.toml`. The same command adds them from the scores of
`python -m sgdx_metric calls` ([how](calls.md))."""  # noqa: E501


def _table(rows: Sequence[CallRow]) -> str:
    table = [
        "| system | calls orig | calls v1-5 | drop | worst | flips | tasks orig | tasks v1-5 | "
        "tasks worst | precision | recall | seen v1-5 | unseen v1-5 | remarks |",
        "|---" * 14 + "|",
    ]
    notes = []
    for number, row in enumerate(rows, 1):
        figures = row.all
        groups = [group.calls_v1_5 if group else None for group in (row.seen, row.unseen)]
        cells = [
            f"{markdown(row.system)} ({number})",
            *map(_cell, (figures.calls_orig, figures.calls_v1_5)),
            _drop(figures),
            *map(_cell, (figures.calls_worst, figures.calls_flips)),
            *map(_cell, (figures.tasks_orig, figures.tasks_v1_5, figures.tasks_worst)),
            *map(_cell, (figures.precision, figures.recall, *groups)),
            "; ".join(row.caveats),
        ]
        table.append(f"| {' | '.join(cells)} |")
        notes.append(f"{number}. `{row.command}`  \n   `{row.signature}`")
    return with_notes(table, notes)


def _cell(score: float | None) -> str:
    return percent(None if score is None else score / 100)


def _drop(figures: CallHeadline) -> str:
    """The drop and its interval."""
    if figures.drop is None or figures.drop_low is None or figures.drop_high is None:
        return NO_VALUE
    low, high = _cell(figures.drop_low), _cell(figures.drop_high)
    return f"{_cell(figures.drop)} ({low} to {high})"
