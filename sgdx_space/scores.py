"""The tab on which predictions of states or responses are scored and explained."""

import re
import tempfile
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TypeAlias

import gradio as gr
import numpy as np
import pyarrow as pa

from baselines.predicting import predict
from baselines.use import load_tracker
from sgdx_dataset import SgdxError, frames, load
from sgdx_eval import predictions as files
from sgdx_eval.score import result_of
from sgdx_eval.show import result_line, result_tables, terms_of
from sgdx_eval.tables import to_html
from sgdx_eval.task import Inputs, held_against
from sgdx_eval.tasks import task_of
from sgdx_eval.tasks.states import STATES
from sgdx_metric.errors import ScoreError
from sgdx_metric.figures import JGA
from sgdx_metric.result import Result
from sgdx_metric.units import Scores
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .tracking import dialogue_html, dialogues_of, sample

_VARIANTS = (ORIGINAL, *PAPER_VARIANTS)
_INTRODUCTION = """
Drop the predictions of one system for the test split of the sample corpus: of dialogue states or
of responses, one JSONL file for each of `original` and `v1` to `v5`. One variant is
enough to begin with. Responses get BLEU and slot error rates; SGSAcc needs a model of entailment.
"""


# The rows of dropped files by variant, their result, and the scores of items.
Shown: TypeAlias = tuple[dict[str, files.Predictions], Result, Scores]


@cache
def example_files() -> list[str]:
    """The predictions of a tracker that learns nothing, which a button drops."""
    tracker, folder, paths = load_tracker("lexical"), Path(tempfile.mkdtemp()), []
    for variant in _VARIANTS:
        rows = predict(tracker, frames(load(variant, "test", "sample"))).rows
        header = files.Header(variant=variant, data=sample().data(variant))
        paths.append(files.write_predictions(folder / f"{variant}.jsonl", header, rows))
    return [*map(str, paths)]


def score_dropped(paths: Sequence[str]) -> Shown:
    """Score the files of one system, of which each says its task and its variant."""
    task, predictions = task_of({"": Path(paths[0])}), dict[str, files.Predictions]()
    for path in map(Path, paths):
        variant = files.read_beginning(path).variant or ORIGINAL
        if variant in predictions or variant not in _VARIANTS:
            expected = "one file for each of original and v1 to v5"
            raise SgdxError(f"{path}: found variant '{variant}', expected {expected}")
        kinds = task.rows.prediction, task.rows.predicted
        predictions[variant] = files.read_predictions(path, "test", variant, *kinds)
    files.check_one_system({variant: read.header for variant, read in predictions.items()})
    # As the commands do, this refuses predictions of other data.
    inputs = Inputs({}, "test", "sample")
    given = held_against(sample(task.rows.kind), predictions, inputs, task.rows.variants)
    scored = task.score(given)
    return predictions, result_of(task, scored, given), scored.scores


def problem_html(error: Exception, paths: Sequence[str] = ()) -> str:
    """An error: files without their folders, and no options of commands."""
    text = re.sub(r";[^;()]*--[a-z][^;()]*", "", str(error))
    for path in paths:
        text = text.replace(path, Path(path).name)
    return f"<p class='problem' role='alert'>{escape(text)}</p>"


def fill(paths: list[str] | None) -> tuple[str, Shown | None, gr.Dropdown, str]:
    """The figures of dropped files; without any, and after an error, all else is empty."""
    shown, problem = None, ""
    try:
        shown = score_dropped(paths) if paths else None
    except (ScoreError, SgdxError) as error:
        problem = problem_html(error, paths or ())
    if shown is None:
        return problem, None, gr.Dropdown([], value=None, visible=False), ""
    _, result, scores = shown
    tables = map(to_html, result_tables(result, wide=True))
    terms = "<br>".join(map(escape, terms_of(result)))
    html = (
        f"<p class='headline'>{escape(result_line(result))}</p>"
        f"{''.join(f'<div class=scroll>{each}</div>' for each in tables)}"
        f"<details><summary>What the figures mean</summary>{terms}</details>"
        f"<p>How this was scored: <code>{escape(result.signature)}</code></p>"
    )
    choices: list[str] = []
    if result.task == "state":  # the dialogues whose frames vary most come first
        order = np.argsort(-np.ptp(scores.metrics[JGA], axis=0), kind="stable")
        choices = dialogues_of(scores.items.ids.take(pa.array(order)).to_pylist())
    first = choices[0] if choices else None
    dialogue = gr.Dropdown(choices, value=first, visible=bool(choices))
    return html, shown, dialogue, explain(first, shown)


def explain(chosen: str | None, shown: Shown | None) -> str:
    """A dialogue with what was predicted of one of its services, as HTML."""
    if not chosen or not shown or shown[1].task != "state":
        return ""
    rows = {variant: read.rows for variant, read in shown[0].items()}
    return dialogue_html(chosen, {*shown[2].items.ids.to_pylist()}, rows, STATES)


def fill_scores_tab() -> None:
    """Add the tab's parts, which are empty until files are dropped."""
    gr.Markdown(_INTRODUCTION)
    label, kinds = "Prediction files (.jsonl)", [".jsonl"]
    dropped = gr.File(label=label, file_count="multiple", file_types=kinds, height=160)
    example = gr.Button("Take an example: a tracker that only compares words", elem_id="example")
    shown, figures = gr.State(), gr.HTML(elem_id="figures")
    label = "Dialogue and service, the most sensitive first"
    dialogue = gr.Dropdown([], label=label, visible=False)
    details = gr.HTML(elem_id="details")
    dropped.change(fill, dropped, [figures, shown, dialogue, details])
    example.click(example_files, None, dropped)
    dialogue.input(explain, [dialogue, shown], details)
