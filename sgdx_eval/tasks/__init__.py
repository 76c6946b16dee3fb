"""The tasks, by what signatures call them."""

from __future__ import annotations

from collections import UserDict
from dataclasses import fields
from importlib import import_module
from typing import Any

from sgdx_dataset.io.errors import SgdxError

from ..inputs import Inputs
from ..options import MatchOptions, StateOptions, TurnOptions
from ..predictions import task_name
from ..task import Task

__all__ = ["TASKS", "task_of"]


class _Tasks(UserDict[str, Any]):
    """The tasks by name; each is imported when it is first asked for."""

    def __getitem__(self, name: str) -> Task:
        if isinstance(known := self.data[name], str):
            self.data[name] = getattr(import_module(f".{known.lower()}", __name__), known)()
        task: Task = self.data[name]
        return task


TASKS = _Tasks({"state": "States", "turns": "Turns", "tools": "Tools"})


def task_of(inputs: Inputs, turns: TurnOptions, *others: MatchOptions | StateOptions) -> Task:
    """The task of the predictions, with its options; those of other tasks are refused."""
    file = next(iter(inputs.prediction_paths().values()))
    name = task_name(file)
    if name == "tools":
        expected = "expected 'sgdx tools score' with their folder"
        raise SgdxError(f"{file}: found calls of tools, {expected}")
    if name not in TASKS:
        expected = ", ".join(TASKS)
        raise SgdxError(f"{file}: found the task {name!r}, expected one of {expected}")
    task = TASKS[name]
    for options in (turns, *others):
        for field in () if options.of in task.option_groups else fields(options):
            if getattr(options, field.name) != field.default:
                option = f"--{field.name.replace('_', '-')}"
                of = options.of[0].lower() + options.of[1:]
                raise SgdxError(f"{option}: found predictions of {name}, expected it only {of}")
    if name != "turns":
        return task
    from .turns import turn_task

    return turn_task(
        turns,
        not turns.no_validation,
        turns.tokenize,
        turns.lowercase,
        evaluator=turns.evaluator,
        turns=turns.turns,
        gold=turns.gold,
    )
