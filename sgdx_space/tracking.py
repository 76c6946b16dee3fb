"""The tab on which predictions of trackers for the sample corpus are scored and explained."""

import zlib
from dataclasses import replace
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pandas as pd
import pyarrow as pa

from sgdx_dataset import SgdxError
from sgdx_metric.cli.explain import explain, frame_row
from sgdx_metric.cli.inputs import Inputs, stated_dialogues
from sgdx_metric.cli.predictions import Predictions, read_predictions
from sgdx_metric.cli.references import References, open_references
from sgdx_metric.cli.score import STATES, Scored, score_against
from sgdx_metric.cli.systems import check_one_system
from sgdx_metric.report import report
from sgdx_metric.robustness import variation
from sgdx_metric.rows import PREDICTION, ScoreError
from sgdx_metric.scoring import FrameScores
from sgdx_metric.subset import dialogue_ids_of
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .tracking_views import by_service, explanation, overview
from .uploads import shown_error, stated_variant

_VARIANTS = (ORIGINAL, *PAPER_VARIANTS)
_INPUTS = Inputs({}, "test", "sample", None, {})
_INTRODUCTION = """
Does a dialogue state tracker still work when somebody else words the API's schema? Drop one JSONL
file of predictions per schema variant for the test split of the sample corpus
(`python -m sgdx_dataset frames --source sample --split test --output DIR` writes its frames). Until
then an **invented** tracker is shown: gold states with slots dropped at random, more under later
variants.
"""
# Prediction rows by variant.
Tables = dict[str, pa.Table]
# The prediction files of one system by variant.
Tracked = dict[str, Predictions[pa.Table]]


def sample_references() -> References:
    """The sample corpus's test split, whose frame rows are made once for each variant."""
    references = open_references("sample", "test", {})
    return replace(references, frames=cache(references.frames))


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
    """Read the prediction files of one system; each file's first line names its variant.

    Raises:
        ScoreError, SgdxError: A file is malformed, is the second one for its variant, or is of
            another system than the others.
    """
    predictions: Tracked = {}
    for path in map(Path, paths):
        variant = stated_variant(path)
        if variant in predictions or variant not in _VARIANTS:
            expected = "one file for each of original and v1 to v5"
            raise ScoreError(f"{path}: found variant '{variant}', expected {expected}")
        predictions[variant] = read_predictions(path, "test", variant)
    check_one_system({name: read.metadata for name, read in predictions.items()})
    return predictions


def score_tracked(references: References, predictions: Tracked) -> Scored[FrameScores]:
    """Score predictions as the command does, which refuses those of other data.

    Raises:
        ScoreError, SgdxError: They are not of the sample's test split.
    """
    chosen_ids = stated_dialogues(predictions, dialogue_ids_of)
    return score_against(references, STATES, predictions, chosen_ids, _INPUTS)


def most_varied_first(scores: dict[str, FrameScores]) -> list[str]:
    """All frame ids; first come those whose joint goal accuracy varies most between variants."""
    accuracy = np.stack([frames.scores["joint_goal_accuracy"] for frames in scores.values()])
    order = np.argsort(-variation(accuracy), kind="stable")
    return [str(i) for i in next(iter(scores.values())).frame_id.take(pa.array(order))]


def _fill(references: References, paths: list[str] | None) -> tuple[Any, ...]:
    """Score what was dropped and fill the tab.

    Args:
        references: The frame rows.
        paths: The prediction files that were dropped; the invented tracker is shown without any.

    Returns:
        The values of the predictions, the table, the signature, the plot, the list of frames and
        the explanation of the first frame.
    """
    try:
        predictions = (
            read_dropped(paths)
            if paths
            else {
                name: Predictions(invented_predictions(references.frames(name), name))
                for name in _VARIANTS
            }
        )
        scored = score_tracked(references, predictions)
        scores = report(scored.variants, scored.setup)
    except (ScoreError, SgdxError) as error:
        raise shown_error(error, paths) from None
    headers, rows = overview(scores)
    original = references.frames(ORIGINAL)
    seen_services = set(original["service"].filter(original["seen"]).to_pylist())
    points = pd.DataFrame(by_service(scores, seen_services))
    frame_ids = most_varied_first(scored.variants)
    rows_by_variant = {name: read.rows for name, read in predictions.items()}
    return (
        rows_by_variant,
        pd.DataFrame(rows, columns=headers),
        scores["signature"],
        gr.ScatterPlot(points, y_lim=[0, max(100, 10 + points["SS_JGA"].max())]),
        gr.Dropdown(choices=frame_ids, value=frame_ids[0]),
        _explain_frame(references, frame_ids[0], rows_by_variant),
    )


def _explain_frame(references: References, frame_id: str, predictions: Tables) -> str:
    """Explain one frame under the variants for which there are predictions, as HTML."""
    predicted = {name: references.frames(name) for name in _VARIANTS if name in predictions}
    try:
        lines = explain(frame_id, predicted, predictions)
    except (ScoreError, SgdxError) as error:
        raise gr.Error(escape(str(error))) from None
    frame = frame_row(next(iter(predicted.values())), frame_id, "references")
    return explanation(frame["utterance"][0].as_py() or "", lines)


def _framed(page: str) -> str:
    """A report's page in a frame, in which its script cannot reach the Space."""
    return (
        "<iframe title='Report' sandbox='allow-scripts' "
        f"style='width:100%;height:85vh;border:0' srcdoc='{escape(page)}'></iframe>"
    )


def _show_saved_report(path: str | None) -> str:
    """Show a report that was saved: the index.html of `python -m baselines.report`."""
    try:
        return _framed(Path(path).read_text(encoding="utf-8")) if path else ""
    except UnicodeDecodeError:
        name = escape(Path(str(path)).name)
        raise gr.Error(f"{name}: not UTF-8, expected the index.html of a report") from None


def fill_tracking_tab(page: gr.Blocks, references: References) -> None:
    """Add the tab's parts; they are filled when the page is opened and when files are dropped.

    Args:
        page: The page that the tab is on.
        references: The frame rows.
    """
    predictions = gr.State({})
    gr.Markdown(_INTRODUCTION)
    files = gr.File(
        label="Predictions (.jsonl), one file per variant",
        file_count="multiple",
        file_types=[".jsonl"],
        height=120,
    )
    table = gr.Dataframe(
        label="Joint goal accuracy and schema sensitivity, % [95 % interval]", interactive=False
    )
    signature = gr.Textbox(label="Signature", interactive=False)
    plot = gr.ScatterPlot(
        label="Services, % (blue: seen in train, orange: not)",
        x="JGA_v1-5",
        y="SS_JGA",
        color="in train",
        color_title=" ",
        color_map={"seen": "#2563eb", "unseen": "#ea580c"},
        x_lim=[0, 100],
        tooltip=["service", "JGA_v1-5", "SS_JGA"],
        height=380,
    )
    frame = gr.Dropdown(label="Frame, the most sensitive first", choices=[], interactive=True)
    details = gr.HTML()
    with gr.Accordion("Report: show one that was saved", open=False):
        label = "The index.html that python -m baselines.report wrote"
        saved = gr.File(label=label, file_types=[".html"], height=120, elem_id="saved")
        saved.change(_show_saved_report, saved, gr.HTML())
    outputs = [predictions, table, signature, plot, frame, details]
    fill = partial(_fill, references)
    page.load(fill, files, outputs)
    files.change(fill, files, outputs)
    frame.input(partial(_explain_frame, references), [frame, predictions], details)
