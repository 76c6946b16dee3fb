"""The tab on which responses of generators to the sample corpus are scored."""

from typing import Any

import gradio as gr
import pandas as pd

from sgdx_eval.tasks.turns import Turns
from sgdx_eval.turn_tables import published_table
from sgsacc_metric.lexical import LexicalNli

from .dropped import (
    FAULTS,
    SAMPLE,
    WORDINGS,
    Shown,
    figures_html,
    references_of,
    score_dropped,
    score_example,
    shown_problem,
)

TASK = Turns(nli=LexicalNli())
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


def scored(paths: list[str] | None) -> Shown:
    """The scores of response files, or of the corpus's own responses where none was dropped."""
    if paths:
        return score_dropped(SAMPLE, paths, {TASK.name: TASK})
    references = references_of(SAMPLE, TASK.kind)
    rows = {name: references.rows(name).select(TASK.predicted.names) for name in WORDINGS}
    return score_example(TASK, rows)


def _fill(paths: list[str] | None) -> tuple[Any, ...]:
    """What is shown of an error, the column of all else, the tables, and the signature."""
    try:
        shown = scored(paths)
    except FAULTS as error:
        return shown_problem(error, paths or ()), gr.Column(visible=False), "", ""
    return "", gr.Column(visible=True), figures_html(shown), shown.scored.content["signature"]


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
        tables = gr.HTML(elem_id="faithfulness")
        signature = gr.Textbox(label="Signature", interactive=False, elem_id="generation-signature")
    gr.Markdown(_MEANING, elem_id="meaning")
    with gr.Accordion("Published figures, each with the scale of its BLEU", open=False):
        headers, rows = published_table()
        gr.Dataframe(pd.DataFrame(rows, columns=headers), interactive=False, wrap=True)
    outputs = [problem, results, tables, signature]
    tab.select(_fill, files, outputs)
    files.change(_fill, files, outputs)
