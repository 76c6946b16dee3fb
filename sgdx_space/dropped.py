"""What a visitor drops: prediction files are read, scored as commands score them, and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

import pyarrow as pa

from sgdx_dataset import SgdxError, open_release
from sgdx_eval.inputs import Inputs
from sgdx_eval.prediction_files import Header, check_one_system, stated_variant
from sgdx_eval.predictions import Predictions, read_predictions, task_name
from sgdx_eval.references import ReleaseReferences, Turns
from sgdx_eval.score import score_against
from sgdx_eval.show import result_line, score_tables, score_terms
from sgdx_eval.tables import Table, percent, table, to_html
from sgdx_eval.task import Given, Scored, Task
from sgdx_eval.tasks import TASKS
from sgdx_metric.errors import ScoreError
from sgdx_metric.rows import REFERENCE
from sgdx_metric.signature import OFFICIAL
from sgdx_metric.statistics import Sample
from sgdx_metric.units import Scores
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

SAMPLE, SPLIT = "sample", "test"
VARIANTS = (ORIGINAL, *PAPER_VARIANTS)
FAULTS = (ScoreError, SgdxError)
_COLUMNS = {
    "frames": [*REFERENCE.names, "service_call"],
    # Without the last column, the schemas of each turn, which are read off the source once.
    "turns": TASKS["turns"].references.names[:-1],
}


@dataclass(frozen=True)
class Shown:
    """What a page holds of the predictions that it shows."""

    source: str
    task: Task
    predictions: Mapping[str, Predictions]
    scored: Scored


class _Kept(ReleaseReferences):
    """References whose rows and turns are made once."""

    @cache  # noqa: B019 - a page opens few sources
    def rows(self, variant: str) -> pa.Table:
        return super().rows(variant)

    @cache  # noqa: B019 - likewise
    def turns(self) -> dict[str, Turns]:
        return super().turns()


@cache
def references_of(source: str, kind: str = "frames") -> ReleaseReferences:
    """The test split of a source: its frames, or its turns."""
    return _Kept(open_release(source), SPLIT, _COLUMNS[kind], kind)


def dropped_paths(given: object) -> list[str]:
    """The paths of dropped files; a program that is no browser can send anything."""
    paths = given if isinstance(given, list) else []
    if given is not None and not (paths and all(isinstance(path, str) for path in paths)):
        raise SgdxError("found no files, expected dropped ones")
    return paths


def score_dropped(source: str, paths: Sequence[str], tasks: Mapping[str, Task]) -> Shown:
    """Score the files of one system, of which each says its task and its variant."""
    name = task_name(Path(paths[0]))
    if name not in tasks:
        expected = f"those of {' or '.join(tasks)}"
        raise SgdxError(f"{paths[0]}: found predictions of {name!r}, expected {expected}")
    task, predictions = tasks[name], dict[str, Predictions]()
    for path in map(Path, paths):
        variant = stated_variant(path) or ORIGINAL
        if variant in predictions or variant not in VARIANTS:
            expected = "one file for each of original and v1 to v5"
            raise ScoreError(f"{path}: found variant '{variant}', expected {expected}")
        predictions[variant] = read_predictions(
            path, SPLIT, variant, task.Prediction, task.predicted
        )
    check_one_system({name: of_variant.header for name, of_variant in predictions.items()})
    return score(source, task, predictions)


def score_example(task: Task, rows: Mapping[str, pa.Table]) -> Shown:
    """Score predictions for the sample that are the page's own, by variant."""
    references = references_of(SAMPLE, task.kind)
    predictions = {
        name: Predictions(table, Header(data=references.data(name))) for name, table in rows.items()
    }
    return score(SAMPLE, task, predictions)


def score(source: str, task: Task, predictions: Mapping[str, Predictions]) -> Shown:
    """Score predictions as the commands do, which refuses those of other data."""
    references = references_of(source, task.kind)
    scored = score_against(task, Given(references, predictions, Inputs({}, SPLIT, source)))
    return Shown(source, task, predictions, scored)


def figures_html(shown: Shown) -> str:
    """What rewording costs in a sentence, the tables of the figures, and what their words mean."""
    task, content, raw = shown.task, shown.scored.content, shown.scored.raw
    figures = task.figures(raw)
    tables = [*score_tables(task, figures, content, wide=True), _by_service(task, raw)]
    scrolling = (f"<div class='scroll'>{to_html(each)}</div>" for each in tables)
    terms = "<br>".join(map(escape, score_terms(task, figures, content)))
    return (
        f"<p class='headline'>{escape(result_line(task, raw, content))}</p>{''.join(scrolling)}"
        f"<details class='legend'><summary>What the figures mean</summary>{terms}</details>"
    )


def _by_service(task: Task, raw: Scores) -> Table:
    """What rewording costs each service."""
    keys, items = task.keys(raw)[2:], raw.items
    figures = [figure for figure in task.figures(raw) if figure.key in keys]
    rows = []
    for name, members in items.groups().items():
        if name in items.services():
            of_service = task.derived(raw.only(members), OFFICIAL)
            values = Sample(task.figures(of_service), of_service.items.dialogue).values()
            rows.append([name, *(percent(values.get(figure.key)) for figure in figures)])
    return table("By service", ["service", *(figure.title for figure in figures)], rows)


def shown_problem(error: Exception, paths: Sequence[str] = ()) -> str:
    """An error as HTML for the page, that names dropped files without their folders."""
    text = str(error)
    for path in paths:
        text = text.replace(path, Path(path).name)
    return f"<p class='problem' role='alert'>{escape(text)}</p>"
