"""The tab on which a tracker reads a dialogue of the sample under two variants of its schema."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Literal

import gradio as gr
import msgspec
import pyarrow as pa

from baselines.use import SHIPPED_MODEL, Dialogue, Row, load_tracker, track_dialogues
from sgdx_dataset import open_release
from sgdx_dataset.schema import Service
from sgdx_eval.explain import Line
from sgdx_eval.gold import ReleaseGold
from sgdx_eval.result import read_result
from sgdx_eval.tables import NO_VALUE, percent
from sgdx_eval.tasks.states import STATES, Frames, explain
from sgdx_eval.tasks.turns import REFERENCES as TURN_COLUMNS
from sgdx_metric.rows import PREDICTION, REFERENCE
from sgdx_metric.statistics import RIGHT
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

# What the shipped tracker scored by text alone: folders of results/, by the data.
_RESULTS = {
    "test dialogues of SGD": "onepass-shipped-no_acts",
    "services of kinds that SGD has not": "many-onepass-shipped-no_acts",
}
_INTRODUCTION = """
**{tracker}** reads a dialogue of the sample corpus twice, by its text alone: under the original
words of the service's schema, and under other words. <span class="right">Green</span> values are
right, <span class="wrong">red</span> ones are wrong.

{wrong}
"""


def tracker_name() -> str:
    """The page's tracker: ``$SGDX_TRACKER``, else a checkout's own model, else ``lexical``."""
    shipped = str(SHIPPED_MODEL) if SHIPPED_MODEL.is_dir() else "lexical"
    return os.environ.get("SGDX_TRACKER") or shipped


def introduction(text: str, data: str = "test dialogues of SGD") -> str:
    """A text with the tracker's name, and what was measured of how often it is wrong."""
    name, wrong = tracker_name(), "How often it is wrong was not measured."
    if name == "lexical":
        wrong = "**It learns nothing**: it looks for the schema's words in what is said."
    if name == str(SHIPPED_MODEL):
        path = SHIPPED_MODEL.parents[1] / "results" / _RESULTS[data] / "scores.json"
        result = read_result(path).result
        means = (result[key] for key in ("jga_orig", "jga_v1-5"))
        original, reworded = (percent(1 - (mean or 0.0), 1) for mean in means)
        wrong = (
            f"**It is often wrong**: on {data}, {original} % of its states are wrong under the "
            f"original words, {reworded} % under others (one seed, partial data)."
        )
    return text.format(tracker=Path(name).name, wrong=wrong)


_tracker = cache(load_tracker)


def states_of(services: Sequence[Service], utterances: Sequence[str]) -> list[list[Row]]:
    """The state after each turn of the user, under each variant of a service."""
    dialogues = [Dialogue(msgspec.to_builtins(service), utterances) for service in services]
    return track_dialogues(_tracker(tracker_name()), dialogues)


@cache
def sample(kind: Literal["frames", "turns"] = "frames") -> ReleaseGold:
    """The test split of the sample: its frames, or its turns."""
    columns = REFERENCE.names if kind == "frames" else TURN_COLUMNS.names
    return ReleaseGold(open_release("sample"), "test", columns, kind)


@cache
def _frame_ids() -> list[str]:
    return list(sample().rows(ORIGINAL)["frame_id"].to_pylist())


def dialogues_of(frame_ids: Iterable[str]) -> list[str]:
    """Frames as their dialogues and services, each once, as DIALOGUE/SERVICE."""
    parts = (frame_id.rsplit("/", 2) for frame_id in frame_ids)
    return list(dict.fromkeys(f"{dialogue}/{service}" for dialogue, _, service in parts))


def dialogue_html(
    chosen: str, frame_ids: Collection[str], predicted: Mapping[str, pa.Table], task: Frames
) -> str:
    """A dialogue, and after each frame of a service what was predicted under each variant."""
    dialogue_id, _, service = chosen.rpartition("/")
    true = {variant: sample().rows(variant) for variant in predicted}
    rows = []
    for number, (speaker, text) in enumerate(sample().turns()[dialogue_id]):
        frame_id, cells = f"{dialogue_id}/{number}/{service}", []
        if frame_id in frame_ids:
            lines = [one for one in explain(frame_id, true, predicted, task) if one.position > -3]
            cells = ["".join(_value(one) for one in lines if one.variant == v) for v in predicted]
        rows.append((f"{speaker}: {text}", cells))
    names = [f"{v}: {sample().schemas(v)[service].service_name}" for v in predicted]
    return turns_html(names, rows)


def _value(line: Line) -> str:
    """What was predicted of a slot, whether it is right, and if not what would be."""
    predicted, true = (escape(" | ".join(v)) for v in (line.predicted, line.reference))
    if not (predicted or true):
        return ""
    # A slot that the schema lacks has no score.
    kind = "right" if line.score is not None and line.score >= RIGHT else "wrong"
    value = f"<span class='{kind}'>{predicted or NO_VALUE}</span>"
    note = "" if line.score == 1 else f"<small>right: {true or NO_VALUE}</small>"
    return f"<p><code>{escape(line.slot or line.aspect)}</code> {value} {note}</p>"


def turns_html(heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """A table with a row for what is said, then one of cells, of HTML, where there are any."""
    html = f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in heads)}</tr>"
    for said, cells in rows:
        html += f"<tr><td class='said' colspan={len(heads)}>{escape(said)}</td></tr>"
        if cells:
            html += f"<tr>{''.join(f'<td>{cell or NO_VALUE}</td>' for cell in cells)}</tr>"
    return f"<div class='scroll'><table class='turns'>{html}</table></div>"


def track(chosen: str, variant: str) -> str:
    """What the tracker makes of a dialogue and service under two variants, as HTML."""
    dialogue_id, _, service = chosen.rpartition("/")
    utterances = [text for _, text in sample().turns()[dialogue_id]]
    services = [sample().schemas(name)[service] for name in (ORIGINAL, variant)]
    predicted = {}
    for name, states in zip((ORIGINAL, variant), states_of(services, utterances), strict=True):
        for i, state in enumerate(states):
            values = [{"slot": s, "values": v} for s, v in state["slot_values"].items()]
            frame_id = f"{dialogue_id}/{2 * i}/{service}"
            state |= {"frame_id": frame_id, "variant": name, "slot_values": values}
        predicted[name] = pa.Table.from_pylist(states, PREDICTION)
    return dialogue_html(chosen, _frame_ids(), predicted, STATES)


def fill_tracking_tab(page: gr.Blocks) -> None:
    """Add the tab's parts, which show the first dialogue as the page opens."""
    gr.Markdown(introduction(_INTRODUCTION))
    choices = dialogues_of(_frame_ids())
    with gr.Row():
        dialogue = gr.Dropdown(choices, label="Dialogue and service")
        variant = gr.Dropdown([*PAPER_VARIANTS], value="v5", label="Other words")
    states = gr.HTML(elem_id="dialogue")
    for event in (page.load, dialogue.input, variant.input):
        event(track, [dialogue, variant], states)
