"""The tab on which responses of generators to the sample corpus are scored."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr
import pandas as pd

from sgdx_dataset import SgdxError
from sgdx_eval.headers import check_one_system, stated_variant
from sgdx_eval.inputs import stated_dialogues
from sgdx_eval.turns.predictions import dialogues_of, read_predictions
from sgdx_eval.turns.references import References, open_references
from sgdx_eval.turns.score import ResponsesOfVariant, score_predictions, score_rows
from sgdx_eval.turns.selection import select_turns
from sgdx_eval.turns.tables import bleu_table, published_table, robustness_table
from sgdx_metric.rows import ScoreError
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS
from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.rows import Prediction, Turn

from .uploads import shown_problem

_VARIANTS = (ORIGINAL, *PAPER_VARIANTS)
_INTRODUCTION = """
Does a system still say what it has to say when somebody else words the API's schema? Drop one JSONL
file of responses per schema variant for the test split of the sample corpus
(`python -m sgdx_dataset turns --source sample --split test --output DIR` writes its turns). Until
then **the corpus's own responses** are shown. On this page SGSAcc compares words instead of asking
a model of entailment, so that the page answers at once: its figures are no result, and the text
below the tables says why.
"""
_MEANING = """
### What these figures mean

- **BLEU** says how near a response is to the corpus's own words, from 0 to 100. It does not say
  whether the response is right.
- **SER** is the share of turns that lack a value which has to be said as it is, such as a name or
  a date. Less is better. It does not look at yes and no.
- **SGSAcc** is the share of turns that say everything they should. A model of entailment would
  decide that. This page only counts which words of a statement, such as "How many people ride
  along is 1.", stand in the response.
- **changed** is the share of turns whose text is another one than under the original words of the
  API, and **flips** the share of turns that are right under some of v1 to v5 and wrong under
  others.

**Why a template beats people here.** On this page the corpus's own responses reach an SGSAcc of
80.0 %, and a template that is filled with the schema's own descriptions 92.8 %, though the people
are right. Where the statement is "How many people ride along is 1.", a person says "a cab for one
passenger", and where it is "Have a good day.", "All the best to you!". Counting words misses
both. The template is made of the same descriptions as the statement, so that all of its words are
there. And a response that says nothing at all reaches 30.9 %, since what the user said just
before is looked at too.

So compare only how a figure changes from one wording to the next. To learn how faithful a system
is, score it with a model of entailment, and look at the copies beside it: `python -m
sgsacc_metric score --predictions DIR --nli FacebookAI/roberta-large-mnli`.
"""
_SYSTEM = "responses"


@cache
def _sample() -> tuple[References, list[Turn]]:
    references = open_references("sample", None, "test", {})
    return references, references.turns(ORIGINAL)


def score_dropped(paths: Sequence[str] | None) -> dict[str, Any]:
    """Score prediction files, or the corpus's own responses where no file was dropped.

    Returns:
        The content of scores.json.
    """
    references, turns = _sample()
    if not paths:
        rows = [
            Prediction(turn.turn_id, variant, turn.utterance)
            for variant in _VARIANTS
            for turn in turns
        ]
        return score_rows(references, turns, turns, rows, LexicalNli()).report
    predictions = _read_dropped([Path(path) for path in paths], references.split)
    scored = select_turns(
        turns, references.split, None, None, stated_dialogues(predictions, dialogues_of)
    )
    return score_predictions(references, turns, scored, predictions, LexicalNli()).report


def _read_dropped(paths: Sequence[Path], split: str) -> dict[str, ResponsesOfVariant]:
    """The files of one system, each of which is for another variant."""
    predictions: dict[str, ResponsesOfVariant] = {}
    for path in paths:
        variant = stated_variant(path) or ORIGINAL
        if variant in predictions or variant not in _VARIANTS:
            expected = "one file for each of original and v1 to v5"
            raise ScoreError(f"{path}: found variant '{variant}', expected {expected}")
        predictions[variant] = read_predictions(path, split, variant)
    check_one_system({name: read.header for name, read in predictions.items()})
    return predictions


def _fill(paths: list[str] | None) -> tuple[str, gr.Column, pd.DataFrame, pd.DataFrame, str]:
    """What is shown of an error, the column of all else, both tables, and the signature."""
    try:
        scores = score_dropped(paths)
    except (ScoreError, SgdxError) as error:
        hidden = gr.Column(visible=False)
        return shown_problem(error, paths), hidden, pd.DataFrame(), pd.DataFrame(), ""
    robustness, bleu = (
        # The first column names the system, of which there is only one.
        pd.DataFrame([row[1:] for row in rows], columns=headers[1:])
        for headers, rows in (robustness_table({_SYSTEM: scores}), bleu_table({_SYSTEM: scores}))
    )
    return "", gr.Column(visible=True), robustness, bleu, scores["signature"]


def fill_generation_tab(tab: gr.Tab) -> None:
    """Add the tab's parts; they are filled when the tab is opened and when files are dropped."""
    gr.Markdown(_INTRODUCTION)
    files = gr.File(
        label="Response files (.jsonl)",
        file_count="multiple",
        file_types=[".jsonl"],
        height=120,
        elem_id="responses",
    )
    problem = gr.HTML()
    with gr.Column() as results:
        label = "Faithfulness under reworded schemas (BLEU from 0 to 100, all else in %)"
        robustness = gr.Dataframe(label=label, interactive=False, elem_id="faithfulness")
        bleu = gr.Dataframe(label="BLEU under four conventions", interactive=False)
        signature = gr.Textbox(label="Signature", interactive=False, elem_id="generation-signature")
    gr.Markdown(_MEANING, elem_id="meaning")
    with gr.Accordion("Published figures, each with the scale of its BLEU", open=False):
        headers, rows = published_table()
        gr.Dataframe(pd.DataFrame(rows, columns=headers), interactive=False, wrap=True)
    outputs = [problem, results, robustness, bleu, signature]
    tab.select(_fill, files, outputs)
    files.change(_fill, files, outputs)
