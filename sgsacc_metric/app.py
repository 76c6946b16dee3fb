"""The Space's page for generators, and what it shares with that for trackers."""

from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr
import msgspec
import pandas as pd

from sgdx_metric.cli.predictions import decode
from sgdx_metric.rows import ScoreError
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .cli.commands import Scored, score
from .cli.files import write_scores
from .cli.predictions import read_predictions
from .cli.references import References, open_references
from .cli.tables import bleu_table, published_table, robustness_table
from .lexical import LexicalNli
from .rows import Prediction, Turn
from .units import units_of

_INTRODUCTION = """
Does a system still say what it has to say when somebody else words the API's schema? Drop one JSONL
file of responses per schema variant for the test split of the sample corpus
(`python -m sgdx_dataset turns --source sample --split test --output DIR` writes its turns). Until
then **the corpus's own responses** are shown. Here SGSAcc asks no model of entailment: it compares
words, so that the page answers at once, and its figures are no result.
"""
_SYSTEM = "responses"


class _Stated(msgspec.Struct):
    variant: str | None = None


class _FirstLine(_Stated):
    metadata: _Stated = msgspec.field(default_factory=_Stated)


def stated_variant(path: Path) -> str:
    """The variant that a prediction file's first line names; the original where it names none.

    Raises:
        sgdx_metric.ScoreError: The line is malformed.
    """
    line = path.read_bytes().partition(b"\n")[0]
    first = decode(line, _FirstLine, f"{path}:1")
    return first.variant or first.metadata.variant or ORIGINAL


def told(error: Exception, paths: Sequence[str] | None) -> gr.Error:
    """An error as Gradio shows it, as HTML, with the names of files and not where uploads lie."""
    text = str(error)
    for path in paths or ():
        text = text.replace(path, Path(path).name)
    return gr.Error(escape(text))


def framed(page: str) -> str:
    """A report's page in a frame, in which its script cannot reach the Space."""
    return (
        "<iframe title='Report' sandbox='allow-scripts' "
        f"style='width:100%;height:85vh;border:0' srcdoc='{escape(page)}'></iframe>"
    )


def report_of(run: Path) -> str:
    """The framed report of a run on the sample corpus."""
    from baselines.report.gather import gather
    from baselines.report.page import render_html
    from baselines.report.sections import build_report

    made = build_report(
        gather([run], "sample", None), "python -m baselines.report RUN --output DIR"
    )
    return framed(render_html(made))


def has_report() -> bool:
    """Whether reports can be made: they lie in the checkout, not in the installed package."""
    return find_spec("baselines") is not None


@cache
def _sample() -> tuple[References, list[Turn]]:
    references = open_references("sample", None, "test", {})
    return references, references.turns(ORIGINAL)


def score_dropped(paths: Sequence[str] | None) -> Scored:
    """Score prediction files, or the corpus's own responses where none was dropped.

    Raises:
        ScoreError: A file is malformed, is the second one for its variant, or is not
            of the sample's test split.
    """
    references, turns = _sample()
    predictions: list[Prediction] = []
    variants: list[str] = []
    for path in map(Path, paths or ()):
        variant = stated_variant(path)
        if variant in variants or variant not in (ORIGINAL, *PAPER_VARIANTS):
            expected = "one file for each of original and v1 to v5"
            raise ScoreError(f"{path}: found variant '{variant}', expected {expected}")
        variants.append(variant)
        predictions += read_predictions(path, references.split, variant)[0]
    if not paths:
        predictions = [
            Prediction(turn.turn_id, variant, turn.utterance)
            for variant in (ORIGINAL, *PAPER_VARIANTS)
            for turn in turns
        ]
    return score(references, turns, turns, predictions, LexicalNli())


def _show(paths: list[str] | None) -> tuple[Any, ...]:
    """The tables of faithfulness and of BLEU, and the signature."""
    try:
        result = score_dropped(paths).result
    except ScoreError as error:
        raise told(error, paths) from None
    shown = [robustness_table({_SYSTEM: result}), bleu_table({_SYSTEM: result})]
    frames = [pd.DataFrame([row[1:] for row in rows], columns=names[1:]) for names, rows in shown]
    return *frames, result["signature"]


def _show_report(paths: list[str] | None) -> str:
    try:
        scored = score_dropped(paths)
    except ScoreError as error:
        raise told(error, paths) from None
    with TemporaryDirectory() as temporary:
        run = Path(temporary) / "responses to the sample"
        run.mkdir()
        write_scores(scored.result, units_of(_sample()[1], scored.scores), run / "scores.json")
        return report_of(run)


def add_generation(tab: gr.Tab) -> None:
    """Fill the tab on which responses to the sample corpus are scored, once it is opened."""
    gr.Markdown(_INTRODUCTION)
    files = gr.File(
        label="Responses (.jsonl), one file per variant",
        file_count="multiple",
        file_types=[".jsonl"],
        height=120,
        elem_id="responses",
    )
    label = "Faithfulness under reworded schemas (BLEU from 0 to 100, all else in %)"
    robustness = gr.Dataframe(label=label, interactive=False, elem_id="faithfulness")
    bleu = gr.Dataframe(label="BLEU under four conventions", interactive=False)
    signature = gr.Textbox(label="Signature", interactive=False, elem_id="generation-signature")
    with gr.Accordion("Published figures, each with the scale of its BLEU", open=False):
        names, rows = published_table()
        gr.Dataframe(pd.DataFrame(rows, columns=names), interactive=False, wrap=True)
    everything = [robustness, bleu, signature]
    tab.select(_show, files, everything)
    files.change(_show, files, everything)
    if has_report():
        make = gr.Button("Make the report of these responses")
        shown = gr.HTML(elem_id="generation-report")
        make.click(_show_report, files, shown)
