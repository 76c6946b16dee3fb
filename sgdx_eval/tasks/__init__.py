"""The tasks, by what signatures call them."""

from __future__ import annotations

from dataclasses import fields

from sgdx_dataset.io.errors import SgdxError

from ..inputs import Inputs
from ..options import MatchOptions, StateOptions, TurnOptions
from ..task import Task
from .calls import Calls
from .states import States
from .tools import Tools
from .turns import Turns, turn_task

__all__ = ["TASKS", "Calls", "States", "Tools", "Turns", "task_of"]

TASKS: dict[str, Task] = {task.name: task for task in (States(), Calls(), Turns(), Tools())}


def task_of(inputs: Inputs, turns: TurnOptions, *others: MatchOptions | StateOptions) -> Task:
    """The task of the predictions, with its options; those of other tasks are refused."""
    name = inputs.task_name()
    if name == "tools":
        raise SgdxError(
            "predictions: found calls of tools, expected 'sgdx tools score' with their folder"
        )
    if name not in TASKS:
        expected = ", ".join(TASKS)
        raise SgdxError(f"predictions: found the task {name!r}, expected one of {expected}")
    task = TASKS[name]
    for options in (turns, *others):
        for field in () if options.of in task.option_groups else fields(options):
            if getattr(options, field.name) != field.default:
                option = f"--{field.name.replace('_', '-')}"
                of = options.of[0].lower() + options.of[1:]
                raise SgdxError(f"{option}: found predictions of {name}, expected it only {of}")
    if name != "turns":
        return task
    return turn_task(
        turns,
        not turns.no_validation,
        turns.tokenize,
        turns.lowercase,
        evaluator=turns.evaluator,
        turns=turns.turns,
        gold=turns.gold,
    )
