"""What a report is made of: runs, read, put into groups and analysed, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file
from sgdx_dataset.io.json import decode_json
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_eval.reference_folder import FolderReferences
from sgdx_eval.references import References, Stated, open_references
from sgdx_eval.results import only_dialogues, only_services
from sgdx_eval.tables import printable
from sgdx_eval.tasks import TASKS
from sgdx_metric.errors import ScoreError

from .runs import Group, Run, find_scores, group_runs, read_run
from .slots.breakage import Analysis, analyse
from .slots.scores import Gold


class Validation(msgspec.Struct):
    """The test of a model of entailment on gold responses, as `validate --json` writes it."""

    signature: str = ""
    by_evaluator: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True)
class Inputs:
    """All that a report shows."""

    groups: Sequence[Group]
    # Tests of models of entailment.
    validations: Sequence[Validation]
    # Why a run is not there; a sentence each.
    left_out: Sequence[str]
    # Of which trackers no slots and no errors are known, and why; likewise.
    not_analysed: Sequence[str]


@dataclass(frozen=True)
class Choice:
    """Which items are reported on, and where their data is."""

    # Where SGD is, or instead a folder of Parquet files of frame rows; by default what runs name.
    source: str | None = None
    references: Path | None = None
    # A file of dialogues, and services by their original names; all by default.
    dialogues: Path | None = None
    services: Sequence[str] = ()

    def of(self, run: Run) -> Run:
        """A run with the chosen items alone."""
        results = run.results
        if self.dialogues:
            ids = read_dialogue_ids(self.dialogues, run.split)
            results = only_dialogues(results, ids, str(self.dialogues))
        if self.services:
            results = only_services(results, self.services)
        return replace(run, results=results, is_choice=results is not run.results)


def read_inputs(paths: Sequence[Path], choice: Choice = Choice()) -> Inputs:
    """Read runs and analyse them. A single run that cannot be read is an error."""
    runs, validations, left_out = [], [], []
    for path in paths:
        try:
            read = read_one(path)
            if isinstance(read, Run):
                runs.append(choice.of(read))
            else:
                validations.append(read)
        except (SgdxError, ScoreError) as error:
            if len(paths) == 1:
                raise
            left_out.append(_one_line(f"{error}; this run is left out"))
    if not runs and not validations:
        raise SgdxError(f"found no run that can be read, the first says: {left_out[0]}")
    groups = []
    not_analysed: dict[str, dict[str, None]] = {}  # their names by the reason
    for group in sorted(group_runs(runs), key=lambda group: [*TASKS].index(group.task.name)):
        analyses, reasons = _analyse(group, choice) if group.task.name == "state" else ({}, {})
        groups.append(replace(group, analyses=analyses))
        for name, reason in reasons.items():
            not_analysed.setdefault(_one_line(reason), {})[name] = None
    notes = [f"no slots and no errors of {'; '.join(n)}: {why}" for why, n in not_analysed.items()]
    return Inputs(groups, validations, left_out, notes)


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def read_one(path: Path) -> Run | Validation:
    """Read a run's folder or file of scores, or what `sgdx responses validate --json` wrote."""
    try:
        file = find_scores(path)
        test = decode_json(read_file(file), Validation, str(file), "a file of scores")
        return test if test.by_evaluator else read_run(path)
    except OSError as error:
        raise SgdxError(f"{error.filename}: {error.strerror}") from None


def _analyse(group: Group, choice: Choice) -> tuple[dict[str, Analysis], dict[str, str]]:
    """What a group's systems do slot by slot, by their names, and why a system is not there."""
    opened: dict[tuple[tuple[str, Stated], ...], Gold] = {}  # by what was stated
    analyses: dict[str, Analysis] = {}
    reasons: dict[str, str] = {}
    for system in group.systems:
        if not all(run.predictions for run in system.runs):
            reasons[system.name] = "there are no predictions beside scores.json"
            continue
        try:
            results = system.first.results
            # Headers matter only where neither a source nor references are given.
            headers = {} if choice.source or choice.references else results.headers
            stated = {name: (header.source, header.data) for name, header in headers.items()}
            key = tuple(stated.items())
            if key not in opened:
                split, variants = system.first.split, results.variants
                data: References
                if choice.references:
                    data = FolderReferences(choice.references, None, list(variants))
                else:
                    data = open_references(choice.source, split, {}, stated=stated)
                opened[key] = Gold(data, split, variants, results.raw.items, results.rules)
            predictions = [run.predictions for run in system.runs]
            analyses[system.name] = analyse(system.name, predictions, opened[key])
        except (SgdxError, ScoreError) as error:
            reasons[system.name] = str(error)
    return analyses, reasons
