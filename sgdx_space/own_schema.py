"""The tab on which a visitor's own API is tracked in a dialogue, under two variants of it."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from html import escape
from itertools import cycle
from pathlib import Path
from typing import Any

import gradio as gr
import msgspec

from baselines.system import System
from baselines.use import SHIPPED_MODEL, Dialogue, load_tracker, track_dialogues
from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import parse_json
from sgdx_dataset.schema import Intent, Service, Slot
from sgdx_dataset.words import ServiceWords, apply_words, check_names, read_words
from sgdx_eval.tables import NO_VALUE

from .dropped import shown_problem
from .tools_as_service import are_tools, service_of_tools
from .views import marked_table

_INTRODUCTION = """
See whether other words for your API change what a tracker understands. Here **{tracker}** reads a
dialogue twice: with your words, and with the other words. Values that differ are red.

- **Your API** is a service with slots and intents, or a list of tools as OpenAI, Anthropic or an
  MCP server has it. Tools become intents, and their parameters become slots.
- **Other words** name only what changes, by your names. A whole service, or a list of tools in the
  order of yours, works too.
"""
_EXAMPLE = {
    "service_name": "CoffeeBar",
    "description": "Order drinks ahead at a coffee bar and pick them up",
    "slots": [
        {"name": "drink", "description": "What the customer wants to drink"},
        {
            "name": "cup_size",
            "description": "How large the cup is",
            "possible_values": ["small", "medium", "large"],
        },
        {
            "name": "milk",
            "description": "Kind of milk in the drink",
            "possible_values": ["whole", "oat", "soy", "none"],
        },
        {"name": "pickup_time", "description": "When the customer picks the drink up"},
        {"name": "branch", "description": "Name of the coffee bar that makes the drink"},
        {
            "name": "own_cup",
            "description": "Whether the customer brings a cup",
            "possible_values": ["True", "False"],
        },
    ],
    "intents": [
        {
            "name": "OrderDrink",
            "description": "Order a drink to pick up",
            "is_transactional": True,
            "required_slots": ["drink", "cup_size", "pickup_time"],
            "optional_slots": {"milk": "whole", "own_cup": "False"},
        }
    ],
}
_SAID = (
    "I want a cappuccino at 7:45 am.",
    "Small, medium or large?",
    "Medium. Actually no, make it a large one, it will be a long day.",
    "A large cappuccino at 7:45 am. Do you bring your own cup?",
    "No, I don't have one with me.",
    "Which milk?",
    "Whatever you have is fine.",
)
_OTHER_WORDS = {
    "CoffeeBar": {
        "name": "BrewPoint",
        "description": "Have beverages made for collection",
        "slots": {
            "drink": {"name": "beverage", "description": "Hot or cold thing to sip"},
            "cup_size": {"name": "portion", "description": "Volume of it"},
            "milk": {"name": "dairy_choice", "description": "What whitens it"},
            "pickup_time": {"name": "collection_moment", "description": "When it is fetched"},
            "branch": {"name": "location", "description": "Which shop prepares it"},
            "own_cup": {"name": "reusable_mug"},
        },
        "intents": {
            "OrderDrink": {"name": "PlaceRequest", "description": "Ask for a beverage to collect"}
        },
    }
}
_SAME, _DIFFERENT = "#a7e3b5", "#f8b4b4"  # background of a value, by what the other words give
_MOST_SLOTS = 200  # which a tracker reads in seconds
_SPEAKER = re.compile(r"(user|system):\s*", re.IGNORECASE)


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


def states_table(
    tracker: System, service: Service, other: Service, utterances: Sequence[str]
) -> str:
    """An HTML table of the state after each of the user's turns, under both variants."""
    services = [service, other]
    dialogues = [Dialogue(msgspec.to_builtins(one), utterances) for one in services]
    states = track_dialogues(tracker, dialogues)
    heads = ["the user says", *(one.service_name for one in services)]
    rows = zip(utterances[::2], map(partial(_cells, services), zip(*states, strict=True)))
    return marked_table(heads, rows)


def _cells(services: Sequence[Service], states: Sequence[Mapping[str, Any]]) -> list[str]:
    """The state under each variant, slot by slot; values that differ are marked."""
    cells = [""] * len(services)
    for slots in zip(*(service.slots for service in services), strict=True):
        names = [slot.name for slot in slots]
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


class _Slot(msgspec.Struct):
    """A slot as a visitor may write it."""

    name: str
    description: str = ""
    possible_values: list[str] = []


class _Intent(msgspec.Struct):
    """An intent as a visitor may write it."""

    name: str
    description: str = ""
    required_slots: list[str] = []
    optional_slots: dict[str, str] = {}


class _Service(msgspec.Struct):
    service_name: str
    slots: list[_Slot]
    intents: list[_Intent]
    description: str = ""


def read_service(text: str, title: str) -> Service:
    """A service from the JSON that a visitor writes, be it of a service or of tools."""
    data = _encode(text, title)
    content: Any = parse_json(data, object, title, "a service, or tools")
    if are_tools(content):
        read = msgspec.convert(service_of_tools(content, title), _Service)
    else:
        read = parse_json(data, _Service, title, "a service with slots and intents")
    slots = [
        Slot(s.name, s.description, bool(s.possible_values), s.possible_values) for s in read.slots
    ]
    intents = [
        Intent(i.name, i.description, False, i.required_slots, i.optional_slots, [])
        for i in read.intents
    ]
    service = Service(read.service_name, read.description, slots, intents)
    if len(slots) > _MOST_SLOTS:
        raise SgdxError(f"{title}: found {len(slots)} slots, expected {_MOST_SLOTS} at most")
    check_names([service], title)
    for intent in intents:
        for slot in (*intent.required_slots, *intent.optional_slots):
            if slot not in service.slots_by_name:
                raise SgdxError(
                    f"{title}: intent {intent.name} names the slot {slot}, expected one of "
                    f"{', '.join(service.slots_by_name)}"
                )
    return service


def read_other_words(text: str, service: Service) -> Service:
    """The service in other words.

    A visitor gives a rewording file, which needs to name only what changes, the entry of the
    service alone, or a whole service or tools whose elements come in the same order.
    """
    title = "the other words"
    content: Any = parse_json(_encode(text, title), object, title, "a rewording file")
    if are_tools(content) or (isinstance(content, dict) and "service_name" in content):
        content = _entry(service, read_service(text, title))
    if isinstance(content, dict) and content.keys() <= set(ServiceWords.__struct_fields__):
        content = {service.service_name: content}
    words = read_words(msgspec.json.encode(content), title)
    return apply_words(words, {"": [service]}, title)[""][0]


def _entry(service: Service, other: Service) -> dict[str, Any]:
    """What a rewording file has for a service that another one is in other words."""
    entry: dict[str, Any] = {"name": other.service_name, "description": other.description or None}
    for kind in ("slots", "intents"):
        old, new = getattr(service, kind), getattr(other, kind)
        if len(old) != len(new):
            raise SgdxError(f"the other words: found {len(new)} {kind}, expected {len(old)}")
        entry[kind] = {
            one.name: {"name": to.name, "description": to.description or None}
            for one, to in zip(old, new, strict=True)
        }
    return entry


def _encode(text: str, title: str) -> bytes:
    """A text in UTF-8; a browser can send what is none, or half of a pair of UTF-16."""
    if not isinstance(text, str):
        raise SgdxError(f"{title}: found {type(text).__name__}, expected text")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise SgdxError(f"{title}: {error}, expected Unicode text") from None


@cache
def _tracker(model: str) -> System:
    return load_tracker(model)


def _track(schema: str, words: str, dialogue: str) -> str:
    try:
        service, utterances = read_service(schema, "your API"), read_utterances(dialogue)
        other = read_other_words(words, service)
        return states_table(_tracker(default_model()), service, other, utterances)
    except SgdxError as error:
        return shown_problem(error)


def fill_own_schema_tab() -> None:
    """Add the tab's parts, with an example that can be tracked as it stands."""
    said = zip(cycle(("USER", "SYSTEM")), _SAID)
    gr.Markdown(_INTRODUCTION.format(tracker=Path(default_model()).name))
    with gr.Row():
        texts: dict[str, Mapping[str, Any]] = {
            "Your API": _EXAMPLE,
            "Other words: what changes": _OTHER_WORDS,
        }
        schema, words = (
            gr.Code(_json(service), language="json", label=label, wrap_lines=True)
            for label, service in texts.items()
        )
    lines = "\n".join(f"{speaker}: {utterance}" for speaker, utterance in said)
    dialogue = gr.Textbox(lines, label="A dialogue, one utterance a line", lines=7)
    button = gr.Button("Track", variant="primary", elem_id="track")
    states = gr.HTML(elem_id="states")
    button.click(_track, [schema, words, dialogue], states)


def _json(service: Mapping[str, Any]) -> str:
    """JSON with one line for each slot and each intent."""
    return re.sub(r'(?<=[\[{,]) ?(?=("\w+": )?{"name")', "\n  ", json.dumps(service))
