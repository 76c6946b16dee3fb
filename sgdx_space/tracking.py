"""The tab on which predictions of states, or of calls, are scored and explained."""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pandas as pd
import pyarrow as pa
from sgdx_eval.explain_calls import CALL_LINES

from sgdx_dataset import SgdxError
from sgdx_dataset.release.remembered import resolve_source
from sgdx_eval.explain import STATE_LINES, TaskLines, explain
from sgdx_eval.headers import check_one_system, stated_variant
from sgdx_eval.inputs import Inputs, stated_dialogues
from sgdx_eval.predictions import Predictions, are_calls, read_states_or_calls
from sgdx_eval.references import References, open_references
from sgdx_eval.score import CALLS, STATES, Scored, Task, score_against
from sgdx_metric.calls import CALL_REFERENCE, report_calls
from sgdx_metric.report import report
from sgdx_metric.robustness import RIGHT, variation
from sgdx_metric.rows import PREDICTION, REFERENCE, ScoreError
from sgdx_metric.subset import dialogue_ids_of
from sgdx_metric.units import ScoredFrames
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .tracking_views import (
    ServicePoint,
    by_service,
    call_overview,
    calls_by_service,
    explanation,
    overview,
    services_plot,
    talk,
)
from .uploads import shown_problem

_VARIANTS = (ORIGINAL, *PAPER_VARIANTS)
_SAMPLE = "sample"
_SPLIT = "test"
# How many frames the list offers; of more, a browser's list is slow. Any other can be typed.
_MOST_FRAMES = 1000
_REFERENCES = REFERENCE.append(CALL_REFERENCE.field("service_call"))
_INTRODUCTION = """
Does a dialogue state tracker, or a model that calls the API, still work when somebody else words
the API's schema? Drop one JSONL file of predictions per wording, of states or of calls. Until then
you see an **invented** tracker on the sample corpus:
the right states, with slots dropped at random, more of them under later wordings.

`python -m sgdx_dataset frames --source sample --split test --output DIR` writes the frames to
predict. Started where `SGDX_SOURCE` names a copy of SGD, the page scores predictions on that too.
"""
# The prediction files of one system by variant.
Tracked = dict[str, Predictions[pa.Table]]


@dataclass(frozen=True)
class TaskView:
    """How the tab shows what was predicted.

    Attributes:
        task: How it is scored.
        lines: How single frames are explained.
        sum_up: Makes the content of scores.json.
        overview: Makes headers and rows of the main table of it.
        by_service: Makes the points of the plot of it, given the seen services' names.
        label: What the main table shows.
        axes: What the plot's points are along and up.
    """

    task: Task[Any]
    lines: TaskLines
    sum_up: Callable[[Scored[Any]], dict[str, Any]]
    overview: Callable[[dict[str, Any]], tuple[list[str], list[list[str]]]]
    by_service: Callable[[dict[str, Any], set[str]], dict[str, ServicePoint]]
    label: str
    axes: tuple[str, str]


_STATES = TaskView(
    STATES,
    STATE_LINES,
    lambda scored: report(scored.variants, scored.setup),
    overview,
    by_service,
    "Joint goal accuracy and schema sensitivity, % [95 % interval]",
    ("JGA_v1-5", "SS_JGA"),
)
_CALLS = TaskView(
    CALLS,
    CALL_LINES,
    lambda scored: report_calls(scored.variants, scored.dialogues, scored.setup),
    call_overview,
    calls_by_service,
    "Calls, and tasks: dialogues all of whose calls are right, % [95 % interval]",
    ("calls reworded", "SS"),
)


def task_view(predictions: Tracked) -> TaskView:
    """How predictions are shown; SgdxError where some are of states and others of calls."""
    return _CALLS if are_calls(predictions) else _STATES


@cache
def references_of(source: str) -> References:
    """The test split of a source, whose rows and turns are made once."""
    opened = open_references(source, _SPLIT, {}, _REFERENCES)
    return replace(opened, frames=cache(opened.frames), turns=cache(opened.turns))


def sources() -> dict[str, str]:
    """What predictions can be scored on, by what the page calls it.

    That is the sample corpus and, where the server has one, the copy of SGD that ``SGDX_SOURCE``
    names or that was prepared last.
    """
    named = {"the sample corpus": _SAMPLE}
    try:
        source = resolve_source(None)
    except SgdxError:  # Nothing was prepared here.
        return named
    if source in (_SAMPLE, "download"):
        return named
    return named | {f"SGD, {Path(source).name}": source}


def invented_predictions(references: pa.Table, variant: str) -> pa.Table:
    """Predictions of an invented tracker for a variant's frames.

    They are the gold states with slots dropped at random, always the same ones, and more of them
    under later variants.
    """
    rows = references.select(["frame_id", *PREDICTION.names[1:5]]).to_pylist()
    for row in rows:
        service = row["frame_id"].rpartition("/")[2]
        rate = 0.02 + 0.01 * _VARIANTS.index(variant) * (zlib.crc32(service.encode()) % 5)
        row["slot_values"] = [
            slot_value
            for i, slot_value in enumerate(row["slot_values"])
            if zlib.crc32(f"{row['frame_id']}/{i}/{variant}".encode()) / 2**32 >= rate
        ]
    return pa.Table.from_pylist(rows, PREDICTION)


def read_dropped(paths: list[str]) -> Tracked:
    """Read the prediction files of one system; each file's first line names its variant."""
    predictions: Tracked = {}
    for path in map(Path, paths):
        variant = stated_variant(path) or ORIGINAL
        if variant in predictions or variant not in _VARIANTS:
            expected = "one file for each of original and v1 to v5"
            raise ScoreError(f"{path}: found variant '{variant}', expected {expected}")
        predictions[variant] = read_states_or_calls(path, _SPLIT, variant)
    check_one_system({name: read.header for name, read in predictions.items()})
    return predictions


def score_tracked(source: str, predictions: Tracked) -> Scored[Any]:
    """Score predictions as the commands do, which refuses those of other data.

    Args:
        source: Where the references are from, as ``references_of`` takes it.
        predictions: What ``read_dropped`` returned.
    """
    chosen_ids = stated_dialogues(predictions, dialogue_ids_of)
    inputs = Inputs({}, _SPLIT, source, None, {})
    task = task_view(predictions).task
    return score_against(references_of(source), task, predictions, chosen_ids, inputs)


def most_varied_first(scores: Mapping[str, ScoredFrames], metric: str) -> list[str]:
    """All frame ids; first come those whose accuracy varies most between variants."""
    accuracy = np.stack([frames.scores[metric] for frames in scores.values()])
    order = np.argsort(-variation(accuracy), kind="stable")
    return [str(i) for i in next(iter(scores.values())).frame_id.take(pa.array(order))]


# What the tab holds of the predictions that it shows: the source, the predictions by variant, and
# by frame whether it is right under each variant.
Shown = dict[str, Any]


def _fill(source: str, paths: list[str] | None) -> tuple[Any, ...]:
    """Score what was dropped and fill the tab.

    Args:
        source: Where the references are from.
        paths: The prediction files that were dropped. Without any, the invented tracker is shown on
            the sample, and nothing on other data.

    Returns:
        What is shown of an error, the column of all else, the content of ``Shown``, the table, the
        signature, the plot, the list of frames, and the first frame with its dialogue. After an
        error all but the first are empty and hidden, so that nothing of other files stays.
    """
    if not paths and source != _SAMPLE:
        return _nothing("Drop prediction files for the test split of this copy of SGD.")
    try:
        references = references_of(source)
        predictions = read_dropped(paths) if paths else _invented(references)
        scored = score_tracked(source, predictions)
        view = task_view(predictions)
        scores = view.sum_up(scored)
    except (ScoreError, SgdxError) as error:
        return _nothing(shown_problem(error, [*(paths or ()), source]))
    headers, rows = view.overview(scores)
    original = references.frames(next(iter(predictions)))
    seen_services = set(original["service"].filter(original["seen"]).to_pylist())
    frame_ids = most_varied_first(scored.variants, view.lines.accuracy)
    shown = {
        "source": source,
        "predictions": predictions,
        "right": _right_by_frame(scored.variants, view.lines.accuracy),
    }
    return (
        "",
        gr.Column(visible=True),
        shown,
        gr.Dataframe(pd.DataFrame(rows, columns=headers), label=view.label),
        scores["signature"],
        services_plot(view.by_service(scores, seen_services), *view.axes),
        gr.Dropdown(choices=frame_ids[:_MOST_FRAMES], value=frame_ids[0]),
        _explain_frame(frame_ids[0], shown),
    )


def _nothing(problem: str) -> tuple[Any, ...]:
    """The tab with an error and nothing else."""
    hidden = gr.Column(visible=False)
    no_frame = gr.Dropdown(choices=[], value=None)
    return problem, hidden, {}, pd.DataFrame(), "", "", no_frame, ""


def _invented(references: References) -> Tracked:
    return {
        name: Predictions(invented_predictions(references.frames(name), name)) for name in _VARIANTS
    }


def _right_by_frame(scores: Mapping[str, ScoredFrames], metric: str) -> dict[str, dict[str, bool]]:
    """Whether each frame's joint goal, or call, is right, by frame and variant."""
    right: dict[str, dict[str, bool]] = {}
    for name, frames in scores.items():
        values = frames.scores[metric]
        for frame_id, value in zip(frames.frame_id.to_pylist(), values.tolist(), strict=True):
            right.setdefault(frame_id, {})[name] = value >= RIGHT
    return right


def _explain_frame(frame_id: str | None, shown: Shown) -> str:
    """A frame under the variants for which there are predictions, and its dialogue, as HTML."""
    if not (frame_id and shown):
        return ""
    references = references_of(shown["source"])
    predictions: Tracked = shown["predictions"]
    rows = {name: read.rows for name, read in predictions.items()}
    true = {name: references.frames(name) for name in _VARIANTS if name in rows}
    try:
        lines = explain(frame_id, true, rows, task_view(predictions).lines)
    except (ScoreError, SgdxError) as error:
        return shown_problem(error)
    dialogue_id = frame_id.rsplit("/", 2)[0]
    return explanation(lines) + talk(frame_id, references.turns()[dialogue_id], shown["right"])


def fill_tracking_tab(page: gr.Blocks) -> None:
    """Add the tab's parts; they are filled when the page is opened and when files are dropped."""
    shown = gr.State({})
    gr.Markdown(_INTRODUCTION)
    choices = list(sources().items())
    source = gr.Dropdown(
        choices=choices, value=_SAMPLE, label="Scored on", visible=len(choices) > 1
    )
    files = gr.File(
        label="Prediction files (.jsonl)",
        file_count="multiple",
        file_types=[".jsonl"],
        height=120,
    )
    problem = gr.HTML(elem_id="problem")
    with gr.Column() as results:
        table = gr.Dataframe(
            label=_STATES.label,
            interactive=False,
        )
        signature = gr.Textbox(label="Signature", interactive=False)
        plot = gr.HTML(elem_id="services")
        frame = gr.Dropdown(
            label="Frame, the most sensitive first",
            choices=[],
            interactive=True,
            allow_custom_value=True,
        )
        details = gr.HTML()
    outputs = [problem, results, shown, table, signature, plot, frame, details]
    for event in (page.load, files.change, source.input):
        event(_fill, [source, files], outputs)
    frame.input(_explain_frame, [frame, shown], details)
