"""The tab on which a visitor's own API is tracked in a dialogue, under two wordings of it."""

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial
from html import escape
from itertools import cycle
from pathlib import Path
from typing import Any

import gradio as gr
import msgspec

from baselines.own_apis.suite import read_suite
from baselines.system import System
from baselines.use import SHIPPED_MODEL, Dialogue, load_tracker, track_dialogues
from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import parse_json
from sgdx_eval.tables import NO_VALUE

from .dropped import shown_problem
from .tools_as_service import are_tools, service_of_tools
from .views import marked_table

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
_MOST_SLOTS = 200  # which a tracker reads in seconds
_SPEAKER = re.compile(r"(user|system):\s*", re.IGNORECASE)
Service = Mapping[str, Any]


def default_model() -> str:
    """The page's tracker: ``$SGDX_TRACKER``, else a checkout's own model, else ``lexical``."""
    return os.environ.get("SGDX_TRACKER") or (
        str(SHIPPED_MODEL) if SHIPPED_MODEL.is_dir() else "lexical"
    )


def read_utterances(text: str) -> list[str]:
    """The utterances of a dialogue, one a line; lines may begin with `USER:` and `SYSTEM:`."""
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


def reworded(service: Service, words: Service) -> Service:
    """A service under other words, whose slots and intents come in the same order."""
    for kind in ("slots", "intents"):
        found, expected = len(words[kind]), len(service[kind])
        if found != expected:
            raise SgdxError(
                f"the other words: found {found} {kind}, expected {expected}, one for each of your "
                "API in its order"
            )
    names = [slot["name"] for slot in words["slots"]]
    for name, count in Counter(names).most_common(1):
        if count > 1:
            raise SgdxError(f"the other words: found two slots named {name!r}")
    new_name = dict(zip((slot["name"] for slot in service["slots"]), names, strict=True))
    slots = zip(service["slots"], words["slots"], strict=True)
    intents = []
    for intent, new in zip(service["intents"], words["intents"], strict=True):
        required, optional = intent.get("required_slots", ()), intent.get("optional_slots", {})
        renamed = {
            "required_slots": [new_name[slot] for slot in required],
            "optional_slots": {new_name[slot]: value for slot, value in optional.items()},
        }
        intents.append({**intent, **_texts(new, "name"), **renamed})
    return {
        **service,
        **_texts(words, "service_name"),
        "slots": [{**slot, **_texts(new, "name")} for slot, new in slots],
        "intents": intents,
    }


def _texts(element: Service, name: str) -> Service:
    return {key: element[key] for key in (name, "description") if key in element}


def states_table(
    tracker: System, service: Service, words: Service, utterances: Sequence[str]
) -> str:
    """An HTML table of the state after each of the user's turns, under both wordings."""
    services = [service, reworded(service, words)]
    states = track_dialogues(tracker, [Dialogue(wording, utterances) for wording in services])
    heads = ["the user says", *(wording["service_name"] for wording in services)]
    rows = zip(utterances[::2], map(partial(_cells, services), zip(*states, strict=True)))
    return marked_table(heads, rows)


def _cells(services: Sequence[Service], states: Sequence[Service]) -> list[str]:
    """The state under each wording, slot by slot; values that differ are marked."""
    cells = [""] * len(services)
    for slots in zip(*(service["slots"] for service in services), strict=True):
        names = [slot["name"] for slot in slots]
        values = [
            " | ".join(state["slot_values"].get(name, ()))
            for name, state in zip(names, states, strict=True)
        ]
        shade = _SAME if len(set(values)) == 1 else _DIFFERENT
        for i, (name, value) in enumerate(zip(names, values, strict=True)):
            if any(values):
                badge = f"<span style='background:{shade}'>{escape(value) or NO_VALUE}</span>"
                cells[i] += f"<code>{escape(name)}</code>{badge}"
    return [cell or NO_VALUE for cell in cells]


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


def read_service(text: str, title: str) -> Service:
    """A service from the JSON that a visitor writes, be it of a service or of tools."""
    data = _encode(text, title)
    content: Any = parse_json(data, object, title, "a service, or tools")
    if are_tools(content):
        service = service_of_tools(content, title)
    else:
        read = parse_json(data, _Service, title, "a service with slots and intents")
        service = msgspec.to_builtins(read)
    names = dict.fromkeys(slot["name"] for slot in service["slots"])
    if len(names) > _MOST_SLOTS:
        raise SgdxError(f"{title}: found {len(names)} slots, expected {_MOST_SLOTS} at most")
    for intent in service["intents"]:
        for slot in (*intent.get("required_slots", ()), *intent.get("optional_slots", ())):
            if slot not in names:
                raise SgdxError(
                    f"{title}: intent {intent['name']} names the slot {slot}, expected one of "
                    f"{', '.join(names)}"
                )
    return service


def _encode(text: str, title: str) -> bytes:
    """A text in UTF-8; a browser can send what is none, or half of a pair of UTF-16."""
    try:
        return str.encode(text)
    except (TypeError, UnicodeEncodeError) as error:
        raise SgdxError(f"{title}: {error}, expected Unicode text") from None


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
    said = zip(cycle(("USER", "SYSTEM")), example.utterances)
    gr.Markdown(_INTRODUCTION.format(tracker=Path(default_model()).name))
    with gr.Row():
        texts = {"Your API": example.service, "Other words for it": _OTHER_WORDS}
        schema, words = (
            gr.Code(_json(service), language="json", label=label, wrap_lines=True)
            for label, service in texts.items()
        )
    lines = "\n".join(f"{speaker}: {utterance}" for speaker, utterance in said)
    dialogue = gr.Textbox(lines, label="A dialogue, one utterance a line", lines=7)
    button = gr.Button("Track", variant="primary", elem_id="track")
    states = gr.HTML(elem_id="states")
    button.click(_track, [schema, words, dialogue], states)


def _json(service: Service) -> str:
    """JSON with one line for each slot and each intent."""
    return re.sub(r'(?<=[\[,]) ?(?={"name")', "\n  ", json.dumps(service))
