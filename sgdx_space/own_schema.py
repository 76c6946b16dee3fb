"""The tab on which a visitor's own API is tracked in a dialogue, under two wordings of it."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr
import msgspec

from baselines.own_apis.suite import OwnDialogue, read_suite
from baselines.system import System
from baselines.use import SHIPPED_MODEL, Dialogue, load_tracker, track_dialogues
from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import parse_json

from .dropped import shown_problem
from .tools_as_service import are_tools, service_of_tools

_INTRODUCTION = """
Describe your API, write a dialogue with it, and see what a tracker understands after each turn of
the user: under your words, and under other words for the same API. Where the two differ, the words
alone have made the difference. Tracked by **{tracker}**, from the text alone.

In place of a service you can paste a list of tools, as OpenAI, Anthropic or an MCP server has them.
The tools are then the intents, and their parameters are the slots.
"""
_EXAMPLE = "coffee-3"  # of the suite of own APIs
_OTHER_WORDS = {
    "service_name": "BrewPoint",
    "description": "Have beverages made for collection",
    "slots": [
        {"name": "beverage", "description": "Hot or cold thing to sip"},
        {"name": "portion", "description": "Volume of it"},
        {"name": "dairy_choice", "description": "What whitens it"},
        {"name": "collection_moment", "description": "Point in time at which it is fetched"},
        {"name": "location", "description": "Which shop prepares it"},
        {"name": "reusable_mug", "description": "If people come with a mug of theirs"},
    ],
    "intents": [{"name": "PlaceRequest", "description": "Ask for a beverage to collect"}],
}
_SAME, _DIFFERENT = "#a7e3b5", "#f8b4b4"  # background of a value, by what the other words give
_SPEAKER = re.compile(r"(user|system):\s*", re.IGNORECASE)
Service = Mapping[str, Any]


def default_model() -> str:
    """The page's tracker: ``$SGDX_TRACKER``, else a checkout's own model, else ``lexical``."""
    return os.environ.get("SGDX_TRACKER") or (
        str(SHIPPED_MODEL) if SHIPPED_MODEL.is_dir() else "lexical"
    )


def read_utterances(text: str) -> list[str]:
    """The utterances of a dialogue that is written one a line.

    Args:
        text: Lines in turn of the user, who begins, and of the system. They may begin with
            ``USER:`` and ``SYSTEM:``; empty lines do not count.
    """
    _encode(text, "the dialogue")
    utterances: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        expected = "system" if len(utterances) % 2 else "user"
        label = _SPEAKER.match(line.strip())
        if label and label[1].lower() != expected:
            raise SgdxError(
                f"line {number} of the dialogue: found {label[1].upper()}, expected "
                f"{expected.upper()}, since user and system speak in turn and the user begins"
            )
        utterances.append(_SPEAKER.sub("", line.strip(), count=1))
    return utterances


def reworded(service: Service, words: Service) -> dict[str, Any]:
    """A service under other words."""
    for kind in ("slots", "intents"):
        if len(words.get(kind, ())) != len(service[kind]):
            raise SgdxError(
                f"the other words: found {len(words.get(kind, ()))} {kind}, expected "
                f"{len(service[kind])}, one for each of your API in its order"
            )
    names = [slot.get("name") for slot in words["slots"]]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise SgdxError(f"the other words: found two slots named {repeated!r}")
    new_name = dict(zip([slot["name"] for slot in service["slots"]], names, strict=True))
    return {
        **service,
        **_texts(words, "service_name"),
        "slots": [
            {**slot, **_texts(new, "name")}
            for slot, new in zip(service["slots"], words["slots"], strict=True)
        ],
        "intents": [
            {
                **intent,
                **_texts(new, "name"),
                "required_slots": [new_name[slot] for slot in intent.get("required_slots", ())],
                "optional_slots": {
                    new_name[slot]: value
                    for slot, value in intent.get("optional_slots", {}).items()
                },
            }
            for intent, new in zip(service["intents"], words["intents"], strict=True)
        ],
    }


def _texts(element: Service, name: str) -> dict[str, Any]:
    return {key: element[key] for key in (name, "description") if key in element}


def states_table(
    tracker: System, service: Service, words: Service, utterances: Sequence[str]
) -> str:
    """An HTML table of the state after each of the user's turns, under both wordings."""
    services = [service, reworded(service, words)]
    states = track_dialogues(tracker, [Dialogue(wording, utterances) for wording in services])
    head = "".join(f"<th>{escape(wording['service_name'])}</th>" for wording in services)
    body = [
        f"<tr><td>{escape(utterances[2 * turn])}</td>"
        + "".join(f"<td>{cell}</td>" for cell in _cells(services, pair))
        + "</tr>"
        for turn, pair in enumerate(zip(*states, strict=True))
    ]
    return (
        "<div class='scroll'><table class='explain states'><thead><tr>"
        f"<th>the user says</th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _cells(services: Sequence[Service], states: Sequence[Mapping[str, Any]]) -> list[str]:
    """The state under each wording, slot by slot; values that differ are marked."""
    slots = zip(*(service["slots"] for service in services), strict=True)
    lines: list[list[str]] = [[] for _ in services]
    for pair in slots:
        values = [
            " | ".join(state["slot_values"].get(slot["name"], ()))
            for slot, state in zip(pair, states, strict=True)
        ]
        if not any(values):
            continue
        shade = _SAME if len(set(values)) == 1 else _DIFFERENT
        for cell, slot, value in zip(lines, pair, values, strict=True):
            name = f"<code>{escape(slot['name'])}</code>"
            cell.append(f"{name}<span style='background:{shade}'>{escape(value) or '–'}</span>")
    return ["".join(cell) or "–" for cell in lines]


class _Element(msgspec.Struct, omit_defaults=True):
    """A slot or an intent as a visitor may write it; what is not there stays out."""

    name: str
    description: str | None = None
    possible_values: list[str] = []
    required_slots: list[str] = []
    optional_slots: dict[str, str] = {}


class _Service(msgspec.Struct):
    service_name: str
    slots: list[_Element]
    intents: list[_Element]
    description: str = ""


def read_service(text: str, title: str) -> dict[str, Any]:
    """A service from the JSON that a visitor writes."""
    data = _encode(text, title)
    content: Any = parse_json(data, object, title, "a service, or tools")
    if are_tools(content):
        return service_of_tools(content, title)
    service = parse_json(data, _Service, title, "a service with slots and intents")
    names = [slot.name for slot in service.slots]
    for intent in service.intents:
        if unknown := [
            slot for slot in (*intent.required_slots, *intent.optional_slots) if slot not in names
        ]:
            raise SgdxError(
                f"{title}: intent {intent.name} names the slot {unknown[0]}, expected one of "
                f"{', '.join(names)}"
            )
    return dict(msgspec.to_builtins(service))


def _encode(text: str, title: str) -> bytes:
    """The text in UTF-8; SgdxError for half of a pair of UTF-16, which a browser can send."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise SgdxError(
            f"{title}: found an incomplete character, {half!a}, expected Unicode"
        ) from None


@cache
def _tracker(model: str) -> System:
    return load_tracker(model)


def _track(schema: str, words: str, dialogue: str) -> str:
    try:
        return states_table(
            _tracker(default_model()),
            read_service(schema, "your API"),
            read_service(words, "the other words"),
            read_utterances(dialogue),
        )
    except SgdxError as error:
        return shown_problem(error)


def fill_own_schema_tab() -> None:
    """Add the tab's parts, with an example that can be tracked as it stands."""
    example = next(dialogue for dialogue in read_suite() if dialogue.dialogue_id == _EXAMPLE)
    gr.Markdown(_INTRODUCTION.format(tracker=Path(default_model()).name))
    with gr.Row():
        schema = gr.Code(_json(example.service), language="json", label="Your API", wrap_lines=True)
        words = gr.Code(
            _json(_OTHER_WORDS), language="json", label="Other words for it", wrap_lines=True
        )
    dialogue = gr.Textbox(_dialogue(example), label="A dialogue, one utterance a line", lines=7)
    button = gr.Button("Track", variant="primary", elem_id="track")
    states = gr.HTML(elem_id="states")
    button.click(_track, [schema, words, dialogue], states)


def _json(service: Service) -> str:
    """Readable JSON with one line for each slot and each intent."""
    lists = {key: value for key, value in service.items() if isinstance(value, list)}
    texts = [
        f"{json.dumps(key)}: {json.dumps(service[key])}" for key in service if key not in lists
    ]
    rows = [
        f"{json.dumps(key)}: [\n  " + ",\n  ".join(map(json.dumps, value)) + "]"
        for key, value in lists.items()
    ]
    return "{" + ",\n ".join([*texts, *rows]) + "}"


def _dialogue(example: OwnDialogue) -> str:
    speakers = ("USER", "SYSTEM")
    return "\n".join(
        f"{speakers[turn % 2]}: {utterance}" for turn, utterance in enumerate(example.utterances)
    )
