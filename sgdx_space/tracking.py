"""The tab on which predictions of states, or of calls, are scored and explained."""

import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pyarrow as pa

from sgdx_dataset import SgdxError
from sgdx_dataset.source import resolve_source
from sgdx_eval.tasks.calls import Calls
from sgdx_eval.tasks.frames import FrameTask, explain
from sgdx_eval.tasks.states import States
from sgdx_metric.rows import PREDICTION
from sgdx_metric.statistics import variation

from .dropped import (
    FAULTS,
    SAMPLE,
    VARIANTS,
    Shown,
    dropped_paths,
    figures_html,
    references_of,
    score_dropped,
    score_example,
    shown_problem,
)
from .views import explanation, talk

# How many frames the list offers; of more, a browser's list is slow. Any other can be typed.
_MOST_FRAMES = 1000
TASKS: dict[str, FrameTask] = {task.name: task for task in (States(), Calls())}
_INTRODUCTION = """
Does a dialogue state tracker, or a model that calls APIs, still work when somebody else words the
schema? Drop its predictions of states or of calls, one JSONL file per variant.

Until then you see an **invented** tracker: the right states of the sample corpus, from which slots
are dropped at random. `sgdx frames --source sample --split test --output DIR` writes what to
predict. Set `SGDX_SOURCE` to a copy of SGD before the start, and the page scores on that too.
"""


def sources() -> dict[str, str]:
    """What predictions can be scored on: the sample, and a copy of SGD if the server has one."""
    named = {"the sample corpus": SAMPLE}
    with suppress(SgdxError):  # Nothing was prepared here.
        source = resolve_source(None)
        if source not in (SAMPLE, "download"):
            named[f"SGD, {Path(source).name}"] = source
    return named


def invented() -> Shown:
    """An invented tracker: the right states, from which slots are dropped by chance.

    It is the same chance at all times, and a greater one under later variants.
    """
    references, predictions = references_of(SAMPLE), {}
    for place, variant in enumerate(VARIANTS):
        rows = references.rows(variant).select(["frame_id", *PREDICTION.names[1:5]]).to_pylist()
        for row in rows:
            frame_id = row["frame_id"]
            rate = 0.02 + 0.01 * place * (_crc(frame_id.rpartition("/")[2]) % 5)
            row["slot_values"] = [
                slot_value
                for i, slot_value in enumerate(row["slot_values"])
                if _crc(f"{frame_id}/{i}/{variant}") / 2**32 >= rate
            ]
        predictions[variant] = pa.Table.from_pylist(rows, PREDICTION)
    return score_example(TASKS["state"], predictions)


def _crc(text: str) -> int:
    return zlib.crc32(text.encode())


def most_varied_first(shown: Shown) -> list[str]:
    """The ids of all frames; first come those whose accuracy varies most between variants."""
    raw = shown.scored.raw
    order = np.argsort(-variation(raw.metrics[shown.task.main]), kind="stable")
    ids: list[str] = raw.items.ids.take(pa.array(order)).to_pylist()
    return ids


def _fill(source: str, paths: list[str] | None) -> tuple[Any, ...]:
    """Score what was dropped, or the invented tracker on the sample, and fill the tab.

    After an error all else is empty and hidden, so that nothing of other files stays.
    """
    dropped: list[str] = []
    try:
        dropped = dropped_paths(paths)
        if not dropped and source != SAMPLE:
            return _nothing("Drop prediction files for the test split of this copy of SGD.")
        shown = score_dropped(source, dropped, TASKS) if dropped else invented()
    except FAULTS as error:
        return _nothing(shown_problem(error, [*dropped, source]))
    frame_ids = most_varied_first(shown)
    return (
        "",
        gr.Column(visible=True),
        shown,
        figures_html(shown),
        shown.scored.content["signature"],
        gr.Dropdown(choices=frame_ids[:_MOST_FRAMES], value=frame_ids[0]),
        _explain_frame(frame_ids[0], shown),
    )


def _nothing(problem: str) -> tuple[Any, ...]:
    """The tab with an error and nothing else."""
    no_frame = gr.Dropdown(choices=[], value=None)
    return problem, gr.Column(visible=False), None, "", "", no_frame, ""


def _explain_frame(frame_id: str | None, shown: Shown | None) -> str:
    """A frame under the variants for which there are predictions, and its dialogue, as HTML."""
    if not (isinstance(frame_id, str) and frame_id and shown):
        return ""
    references, raw = references_of(shown.source), shown.scored.raw
    rows = {name: read.rows for name, read in shown.predictions.items()}
    true = {name: references.rows(name) for name in raw.variants}
    try:
        lines = explain(frame_id, true, rows, TASKS[shown.task.name])
    except FAULTS as error:
        return shown_problem(error)
    turns = references.turns()[frame_id.rsplit("/", 2)[0]]
    return explanation(lines) + talk(frame_id, turns, shown.task, raw)


def fill_tracking_tab(page: gr.Blocks) -> None:
    """Add the tab's parts; they are filled when the page is opened and when files are dropped."""
    shown = gr.State()
    gr.Markdown(_INTRODUCTION)
    choices = list(sources().items())
    source = gr.Dropdown(choices=choices, value=SAMPLE, label="Scored on", visible=len(choices) > 1)
    files = gr.File(
        label="Prediction files (.jsonl)", file_count="multiple", file_types=[".jsonl"], height=120
    )
    problem = gr.HTML(elem_id="problem")
    with gr.Column() as results:
        table = gr.HTML(elem_id="figures")
        signature = gr.Textbox(label="Signature", interactive=False)
        label = "Frame, the most sensitive first"
        frame = gr.Dropdown([], label=label, interactive=True, allow_custom_value=True)
        details = gr.HTML()
    outputs = [problem, results, shown, table, signature, frame, details]
    for event in (page.load, files.change, source.input):
        event(_fill, [source, files], outputs)
    frame.input(_explain_frame, [frame, shown], details)
