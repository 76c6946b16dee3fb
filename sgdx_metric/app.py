"""The Space of both metrics: drop prediction files for the sample corpus and see their scores."""

import os
import sys
import zlib
from collections.abc import Iterator
from functools import partial
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# A Space runs this file as a script: its folder comes first on the path then, and sgdx_metric.py
# in it would hide the installed package of that name. So it comes last, for what lies beside it.
if not __package__:
    sys.path.sort(key=lambda entry: Path(entry).resolve() == Path(__file__).resolve().parent)
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr
import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa

from sgdx_metric.cli.explain import explain, frame_of
from sgdx_metric.cli.files import write_scores
from sgdx_metric.cli.html import CSS, by_service, explanation, overview
from sgdx_metric.cli.predictions import read_predictions
from sgdx_metric.cli.references import open_references
from sgdx_metric.report import report
from sgdx_metric.robustness import variation
from sgdx_metric.rows import PREDICTION, ScoreError
from sgdx_metric.scoring import FrameScores, score_frames
from sgsacc_metric.app import add_generation, framed, has_report, report_of, stated_variant, told

VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")
Tables = dict[str, pa.Table]
INTRODUCTION = """
Does a dialogue state tracker still work when somebody else words the API's schema? Drop one JSONL
file of predictions per schema variant for the test split of the sample corpus
(`python -m sgdx_dataset frames --source sample --split test --output DIR` writes its frames). Until
then an **invented** tracker is shown: gold states with slots dropped at random, more under later
variants.
"""


def load_references() -> Tables:
    """The frame rows of the sample corpus's test split, by variant."""
    references = open_references("sample", "test", {})
    return {name: references.of(name) for name in VARIANTS}


def invented(references: pa.Table, variant: str) -> pa.Table:
    """Predictions of an invented tracker for a variant's frames.

    They are the gold states with slots dropped at random, always the same ones, and more of them
    under later variants.
    """
    rows = references.select(["frame_id", *PREDICTION.names[1:5]]).to_pylist()
    for row in rows:
        service = row["frame_id"].rpartition("/")[2]
        rate = 0.02 + 0.01 * VARIANTS.index(variant) * (zlib.crc32(service.encode()) % 5)
        row["slot_values"] = [
            item
            for place, item in enumerate(row["slot_values"])
            if zlib.crc32(f"{row['frame_id']}/{place}/{variant}".encode()) / 2**32 >= rate
        ]
    return pa.Table.from_pylist(rows, PREDICTION)


def read_dropped(paths: list[str]) -> Tables:
    """Read prediction files; each file's first line names its variant.

    Raises:
        ScoreError: A file is malformed, or is the second one for its variant.
    """
    tables: Tables = {}
    for path in map(Path, paths):
        variant = stated_variant(path)
        if variant in tables:
            raise ScoreError(f"{path}: a second file for variant '{variant}'")
        tables[variant] = read_predictions(path, "test", variant).rows
    return tables


def score(references: Tables, predictions: Tables) -> dict[str, FrameScores]:
    """Score the variants for which there are predictions, frame by frame."""
    if unknown := sorted(set(predictions) - set(references)):
        raise ScoreError(f"variant is '{unknown[0]}', expected one of {', '.join(references)}")
    return {name: score_frames(references[name], rows, name) for name, rows in predictions.items()}


def most_varied_first(scores: dict[str, FrameScores]) -> list[str]:
    """All frame ids; first come those whose joint goal accuracy varies most between variants."""
    goals = np.stack([frames.scores["joint_goal_accuracy"] for frames in scores.values()])
    order = np.argsort(-variation(goals), kind="stable")
    return [str(i) for i in next(iter(scores.values())).frame_id.take(pa.array(order))]


def show(references: Tables, paths: list[str] | None) -> tuple[Any, ...]:
    """Fill the page.

    Args:
        references: The frame rows by variant.
        paths: The prediction files that were dropped; the invented tracker is shown without any.

    Returns:
        The values of the predictions, the table, the signature, the plot, the list of frames and
        the explanation of the first frame.
    """
    try:
        predictions = (
            read_dropped(paths)
            if paths
            else {name: invented(rows, name) for name, rows in references.items()}
        )
        scores = score(references, predictions)
        result = report(scores, "test", release="sample")
    except ScoreError as error:
        raise told(error, paths) from None
    headers, rows = overview(result)
    known = references["original"]
    seen = set(known["service"].filter(known["seen"]).to_pylist())
    points = pd.DataFrame(by_service(result, seen))
    frames = most_varied_first(scores)
    return (
        predictions,
        pd.DataFrame(rows, columns=headers),
        result["signature"],
        gr.ScatterPlot(points, y_lim=[0, max(100, 10 + points["SS_JGA"].max())]),
        gr.Dropdown(choices=frames, value=frames[0]),
        show_frame(references, frames[0], predictions),
    )


def show_frame(references: Tables, frame_id: str, predictions: Tables) -> str:
    """Explain one frame under the variants for which there are predictions, as HTML."""
    known = {name: rows for name, rows in references.items() if name in predictions}
    try:
        lines = explain(frame_id, known, predictions)
    except ScoreError as error:
        raise gr.Error(escape(str(error))) from None
    row = frame_of(next(iter(known.values())), frame_id, "references")
    return explanation(row["utterance"][0].as_py() or "", lines)


def show_report(references: Tables, predictions: Tables) -> str:
    """Make the report of predictions and show it."""
    with TemporaryDirectory() as temporary:
        run = Path(temporary) / "predictions of the sample"
        scores = score(references, predictions)
        for variant, rows in predictions.items():
            lines = ({"variant": variant, **row} for row in _rows(rows))
            file = run / "predictions" / f"{variant}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(msgspec.json.Encoder().encode_lines(lines))
        write_scores(report(scores, "test", release="sample"), scores, run / "scores.json")
        return report_of(run)


def _rows(predictions: pa.Table) -> Iterator[dict[str, Any]]:
    """Prediction rows without what they do not say."""
    for row in predictions.to_pylist():
        yield {key: value for key, value in row.items() if value is not None}


def show_saved(path: str | None) -> str:
    """Show a report that was saved: the index.html of `python -m baselines.report`."""
    try:
        return framed(Path(path).read_text(encoding="utf-8")) if path else ""
    except UnicodeDecodeError:
        name = escape(Path(str(path)).name)
        raise gr.Error(f"{name}: not UTF-8, expected the index.html of a report") from None


def add_report(references: Tables, predictions: gr.State) -> None:
    """Add the report of the predictions that are shown, and of saved ones, to the page."""
    with gr.Accordion("Report: tables, figures, costliest rewordings and errors", open=False):
        label = "A saved report (index.html)"
        saved = gr.File(label=label, file_types=[".html"], height=120, elem_id="saved")
        shown = gr.HTML()
        if has_report():
            make = gr.Button("Make the report of the predictions above")
            make.click(partial(show_report, references), predictions, shown)
        saved.change(show_saved, saved, shown)


def build(references: Tables) -> gr.Blocks:
    """Build the page: a tab on which predictions of trackers are scored, and one for generators."""
    page: gr.Blocks
    with gr.Blocks(title="SGD-X metric") as page:
        gr.Markdown("# SGD-X metric")
        with gr.Tabs():
            with gr.Tab("Tracking: what the user wants"):
                add_tracking(references, page)
            with gr.Tab("Generation: what the system says") as tab:
                add_generation(tab)
    return page


def add_tracking(references: Tables, page: gr.Blocks) -> None:
    """Fill the tab on which predictions are scored against the references of each variant."""
    predictions = gr.State({})
    gr.Markdown(INTRODUCTION)
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
    add_report(references, predictions)
    everything = [predictions, table, signature, plot, frame, details]
    load = partial(show, references)
    page.load(load, files, everything)
    files.change(load, files, everything)
    frame.input(partial(show_frame, references), [frame, predictions], details)


if __name__ == "__main__":
    # The computer's own fonts, so that none is fetched from a server.
    fonts = {"font": ["system-ui", "sans-serif"], "font_mono": ["monospace"]}
    build(load_references()).launch(
        share=False, css=CSS, theme=gr.themes.Soft(**fonts), max_file_size="50mb"
    )
