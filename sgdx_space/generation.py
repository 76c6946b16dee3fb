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
    VARIANTS,
    Shown,
    dropped_paths,
    figures_html,
    references_of,
    score_dropped,
    score_example,
    shown_problem,
)

TASK = Turns(nli=LexicalNli())
_INTRODUCTION = """
Does a system still say what it has to say when somebody else words the API's schema? Drop its
responses to the sample corpus, one JSONL file per variant. Until then you see **the corpus's own
responses**. `sgdx turns --source sample --split test --output DIR` writes the turns to answer.

**SGSAcc on this page is no result.** It needs a model of entailment. So that it answers at once,
this page only looks for the words of each statement in the response. For a result:
`sgdx score --predictions DIR --nli FacebookAI/roberta-large-mnli`
"""
_MEANING = """
### What these figures mean

- **BLEU**, 0 to 100: how close a response is to the words of the corpus. It does not say whether
  the response is right.
- **SER**, lower is better: turns that lack a value which has to be said as it is, such as a date.
- **SGSAcc**, higher is better: turns that say everything they should.
- **changed**: turns whose text differs from that under the original words.
- **flips**: turns that are right under some variants and wrong under others.

Counting words favours templates. A template of the schema's descriptions reaches 92.8 % here, and
the people who wrote the corpus 80.0 %: for "How many people ride along is 1." they say "a cab for
one passenger". An empty response reaches 30.9 %, because the user's last turn counts too. So
compare here only how a figure changes from one variant to the next.
"""


def scored(paths: list[str] | None) -> Shown:
    """The scores of response files, or of the corpus's own responses where none was dropped."""
    if paths:
        return score_dropped(SAMPLE, paths, {TASK.name: TASK})
    references = references_of(SAMPLE, TASK.kind)
    rows = {name: references.rows(name).select(TASK.predicted.names) for name in VARIANTS}
    return score_example(TASK, rows)


def _fill(paths: list[str] | None) -> tuple[Any, ...]:
    """What is shown of an error, the column of all else, the tables, and the signature."""
    dropped: list[str] = []
    try:
        dropped = dropped_paths(paths)
        shown = scored(dropped)
    except FAULTS as error:
        return shown_problem(error, dropped), gr.Column(visible=False), "", ""
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
