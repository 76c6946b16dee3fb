"""The tasks, by what headers and results call them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.result import Metric
from sgdx_metric.scoring import STATE_METRICS
from sgsacc_metric.figures import TURN_METRICS

from ..options import MatchOptions, StateOptions, TurnOptions
from ..predictions import task_name
from .tools import SEARCH_METRICS, TOOL_METRICS

if TYPE_CHECKING:
    from ..inputs import Inputs
    from ..task import Task


class Known(NamedTuple):
    """What is known of a task before its module is imported."""

    # What an item is called, and what is measured of it; the first metric that is known decides.
    item: str
    metrics: Sequence[Metric]
    # The module of a task that is scored against SGD, whose `TASK` it is.
    module: str = ""


TASKS = {
    "state": Known("frame", STATE_METRICS, "sgdx_eval.tasks.states"),
    "turns": Known("turn", TURN_METRICS, "sgdx_eval.tasks.turns"),
    "tools": Known("case", TOOL_METRICS),
    "search": Known("case", SEARCH_METRICS),
}


def task(name: str) -> Task:
    """A task that is scored against SGD, imported when it is first asked for."""
    found: Task = import_module(TASKS[name].module).TASK
    return found


def task_of(inputs: Inputs, turns: TurnOptions, *others: MatchOptions | StateOptions) -> Task:
    """The task of the predictions, with its options; those of other tasks are refused."""
    file = next(iter(inputs.prediction_paths().values()))
    name = task_name(file)
    if name == "tools":
        expected = "expected 'sgdx tools score' with their folder"
        raise SgdxError(f"{file}: found calls of tools, {expected}")
    known = [name for name, of in TASKS.items() if of.module]
    if name not in known:
        expected = ", ".join(known)
        raise SgdxError(f"{file}: found the task {name!r}, expected one of {expected}")
    found = task(name)
    for options in (turns, *others):
        for field in () if options.of in found.option_groups else fields(options):
            if getattr(options, field.name) != field.default:
                option = f"--{field.name.replace('_', '-')}"
                of = options.of[0].lower() + options.of[1:]
                raise SgdxError(f"{option}: found predictions of {name}, expected it only {of}")
    if name != "turns":
        return found
    from .turns import turn_task

    return turn_task(
        turns,
        not turns.no_validation,
        turns.tokenize,
        turns.lowercase,
        evaluator=turns.evaluator,
        turns=turns.turns,
        gold=turns.gold,
    ).task
