"""What a visitor drops: prediction files are read, scored as commands score them, and summed up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from sgdx_dataset import SgdxError, open_release
from sgdx_eval.headers import Header, check_one_system, stated_variant
from sgdx_eval.inputs import Inputs
from sgdx_eval.predictions import Predictions, read_predictions, task_name
from sgdx_eval.references import ReleaseReferences, Turns
from sgdx_eval.results import Results, parse_results
from sgdx_eval.score import score_against
from sgdx_eval.task import Task
from sgdx_eval.tasks import TASKS
from sgdx_metric.report import paired_scores
from sgdx_metric.rows import REFERENCE, ScoreError
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

SAMPLE, SPLIT = "sample", "test"
WORDINGS = (ORIGINAL, *PAPER_VARIANTS)
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
    predictions: Mapping[str, Predictions]
    # The content of scores.json.
    content: Mapping[str, Any]
    results: Results


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


def score_dropped(source: str, paths: Sequence[str], tasks: Mapping[str, Task]) -> Shown:
    """Score the files of one system, of which each says its task and its wording."""
    name = task_name(Path(paths[0]))
    if name not in tasks:
        expected = f"those of {' or '.join(tasks)}"
        raise SgdxError(f"{paths[0]}: found predictions of {name!r}, expected {expected}")
    task, predictions = tasks[name], dict[str, Predictions]()
    for path in map(Path, paths):
        variant = stated_variant(path) or ORIGINAL
        if variant in predictions or variant not in WORDINGS:
            expected = "one file for each of original and v1 to v5"
            raise ScoreError(f"{path}: found variant '{variant}', expected {expected}")
        predictions[variant] = read_predictions(
            path, SPLIT, variant, task.Prediction, task.predicted
        )
    check_one_system({name: of_wording.header for name, of_wording in predictions.items()})
    return score(source, task, predictions)


def score_example(task: Task, rows: Mapping[str, pa.Table]) -> Shown:
    """Score predictions for the sample that are the page's own, by wording."""
    references = references_of(SAMPLE, task.kind)
    predictions = {
        name: Predictions(table, Header(data=references.data(name))) for name, table in rows.items()
    }
    return score(SAMPLE, task, predictions)


def score(source: str, task: Task, predictions: Mapping[str, Predictions]) -> Shown:
    """Score predictions as the commands do, which refuses those of other data."""
    references = references_of(source, task.kind)
    scored = score_against(task, references, predictions, Inputs({}, SPLIT, source))
    content = {**scored.content, "paired": paired_scores(scored.raw, task.item_id)}
    results = parse_results(msgspec.json.encode(content), Path("what was dropped"))
    return Shown(source, predictions, content, results)


def shown_problem(error: Exception, paths: Sequence[str] = ()) -> str:
    """An error as HTML for the page, that names dropped files without their folders."""
    text = str(error)
    for path in paths:
        text = text.replace(path, Path(path).name)
    return f"<p class='problem' role='alert'>{escape(text)}</p>"
