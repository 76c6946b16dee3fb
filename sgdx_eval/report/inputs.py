"""What a report is made of: runs, read, put into groups and analysed, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import parse_json
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_eval.reference_folder import FolderReferences
from sgdx_eval.references import References, Stated, open_references
from sgdx_eval.results import only_dialogues, only_services
from sgdx_eval.tables import printable
from sgdx_metric.rows import ScoreError

from .runs import Group, Run, find_scores, group_runs, read_run
from .slots.breakage import Analysis, analyse
from .slots.scores import Gold
from .states import StatesView
from .tools import CallsView, ToolsView
from .turns import TurnsView, Validation
from .view import View

# What is shown of each task; parts of a report are in this order.
VIEWS: Mapping[str, View] = {
    "state": StatesView(),
    "turns": TurnsView(),
    "calls": CallsView(),
    "tools": ToolsView(),
}


@dataclass(frozen=True)
class Inputs:
    """All that a report shows."""

    groups: Sequence[Group]
    # Tests of models of entailment.
    validations: Sequence[Validation]
    # Why a run is not there; a sentence each.
    left_out: Sequence[str]
    # The names of trackers whose slots and errors are not known, by the reason.
    not_analysed: Mapping[str, Sequence[str]]


def chosen(run: Run, dialogues: Path | None, services: Sequence[str]) -> Run:
    """A run with the items alone of a file's dialogues, and of services by their original names."""
    results = run.results
    if dialogues:
        results = only_dialogues(results, read_dialogue_ids(dialogues, run.split), str(dialogues))
    if services:
        results = only_services(results, services)
    return replace(run, results=results, is_choice=results is not run.results)


def read_inputs(
    paths: Sequence[Path],
    source: str | None = None,
    references: Path | None = None,
    dialogues: Path | None = None,
    services: Sequence[str] = (),
) -> Inputs:
    """Read runs, as `chosen` leaves them, and analyse them.

    `source` is where SGD is, None for what each run itself names; `references` is instead of it a
    folder of Parquet files of frame rows. A single run that cannot be read is an error.
    """
    runs, validations, left_out = [], [], []
    for path in paths:
        try:
            read = read_one(path)
            if isinstance(read, Run):
                runs.append(chosen(read, dialogues, services))
            else:
                validations.append(read)
        except (SgdxError, ScoreError) as error:
            if len(paths) == 1:
                raise
            left_out.append(_one_line(f"{error}; this run is left out"))
    if not runs and not validations:
        raise SgdxError(f"found no run that can be read, the first says: {left_out[0]}")
    groups = []
    not_analysed: dict[str, list[str]] = {}
    of_task = list(VIEWS)
    for group in sorted(group_runs(runs), key=lambda g: of_task.index(g.results.task.name)):
        is_state = group.results.task.name == "state"
        analyses, reasons = _analyse(group, source, references) if is_state else ({}, {})
        groups.append(replace(group, analyses=analyses))
        for name, reason in reasons.items():
            names = not_analysed.setdefault(_one_line(reason), [])
            if name not in names:  # A system may be in several groups.
                names.append(name)
    return Inputs(groups, validations, left_out, not_analysed)


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def read_one(path: Path) -> Run | Validation:
    """Read a run's folder or file of scores, or what `sgsacc_metric validate --json` wrote."""
    try:
        file = find_scores(path)
        test = parse_json(read_file(file), Validation, str(file), "a file of scores")
        return test if test.by_evaluator else read_run(path, VIEWS)
    except OSError as error:
        raise SgdxError(f"{error.filename}: {error.strerror}") from None


def _analyse(
    group: Group, source: str | None, references: Path | None
) -> tuple[dict[str, Analysis], dict[str, str]]:
    """What a group's systems do slot by slot, by their names, and why a system is not there."""
    opened: dict[tuple[tuple[str, Stated], ...], Gold] = {}  # by what was stated
    analyses: dict[str, Analysis] = {}
    reasons: dict[str, str] = {}
    for system in group.systems:
        if not all(run.predictions for run in system.runs):
            reasons[system.name] = "there are no predictions beside scores.json"
            continue
        try:
            # Headers matter only where neither a source nor references are given.
            headers = {} if source or references else system.first.results.headers
            stated = {name: (header.source, header.data) for name, header in headers.items()}
            key = tuple(stated.items())
            if key not in opened:
                opened[key] = read_gold(system.first, source, references, stated)
            predictions = [run.predictions for run in system.runs]
            analyses[system.name] = analyse(system.name, predictions, opened[key])
        except (SgdxError, ScoreError) as error:
            reasons[system.name] = str(error)
    return analyses, reasons


def read_gold(
    run: Run, source: str | None, references: Path | None, stated: Mapping[str, Stated]
) -> Gold:
    """What is right in the frames of a run and of all that compare with it."""
    results = run.results
    data: References
    if references:
        data = FolderReferences(references, None, list(results.variants))
    else:
        data = open_references(source, run.split, {}, stated=stated)
    return Gold(data, run.split, results.variants, results.raw.items, results.rules)
