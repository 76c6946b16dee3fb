"""The tasks, by what headers and results call them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from sgdx_dataset.io.errors import SgdxError

from ..options import MatchOptions, NliOptions
from ..predictions import read_beginning
from ..task import NO_ROWS, Task
from . import states, turns
from .tools import SEARCH_METRICS, TOOL_METRICS

SAMPLES = "samples"  # of other harnesses
TASKS = {
    task.name: task
    for task in (
        states.STATES,
        turns.Turns(),
        Task(name="tools", item="case", metrics=TOOL_METRICS),
        Task(name="search", item="case", metrics=SEARCH_METRICS),
        Task(name=SAMPLES, item="sample", metrics=()),  # as `logs` finds them
    )
}


def task_of(paths: Mapping[str, Path], *asked: NliOptions | MatchOptions) -> Task:
    """The task of prediction files, with its options; those of other tasks are refused."""
    file = next(iter(paths.values()))
    name = read_beginning(file).task
    task = TASKS.get(name)
    if task is None or task.rows is NO_ROWS:
        known = ", ".join(name for name, of in TASKS.items() if of.rows is not NO_ROWS)
        expected = f"expected one of {known}"
        if name == "tools":
            expected = "expected 'sgdx tools score' with their folder"
        raise SgdxError(f"{file}: found the task {name!r}, {expected}")
    for options in asked:
        if isinstance(options, NliOptions):
            if name != "turns":
                expected = "expected generated turns for a model of entailment"
                raise SgdxError(f"{file}: found the task {name!r}, {expected}")
            task = turns.turn_task(options)
        elif name == "turns":
            for field in fields(options):
                if getattr(options, field.name) != field.default:
                    option = f"--{field.name.replace('_', '-')}"
                    raise SgdxError(f"{option}: found generated turns, expected states")
    return task
