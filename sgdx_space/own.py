"""The tab on which a visitor's own API is tracked in a dialogue, under two variants of it."""

import re
from collections.abc import Sequence
from html import escape
from itertools import cycle
from pathlib import Path
from typing import Any

import gradio as gr
import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import parse_json, pretty_json
from sgdx_dataset.schema import Service
from sgdx_dataset.words import ServiceWords, apply_words, check_names, read_words
from sgdx_eval.tables import NO_VALUE
from sgdx_tools.importing.collection import Collection, tool_records
from sgdx_tools.importing.tool_lists import tools_of

from .scores import problem_html
from .tracking import introduction, sample, states_of, turns_html

_INTRODUCTION = """
**{tracker}** reads your dialogue twice: with your words for an API, and with other words. Values
that <span class="differs">differ</span> depend on the words. Nobody has annotated this dialogue, so
the page cannot say which values are right. {wrong}

- **Your API** is a service with slots and intents, or a list of tools as OpenAI, Anthropic or an
  MCP server has it. Tools become intents, and their parameters become slots.
- **Other words** name only what changes, by your names.
"""
_EXAMPLE = ("Cabs_1", "1_00000", "v4")  # a service, a dialogue, and the other words
# What a tracker reads in seconds.
_MOST_SLOTS, _MOST_UTTERANCES, _MOST_CHARACTERS = 200, 100, 20_000
_SPEAKERS = ("USER", "SYSTEM")
_LABEL = re.compile(r"(user|system):\s*", re.IGNORECASE)
# What slots and intents may leave out.
_SLOT = {"description": "", "possible_values": []}
_INTENT = {"description": "", "is_transactional": False}
_INTENT |= {"required_slots": [], "optional_slots": {}, "result_slots": []}


def read_service(text: str, title: str = "your API") -> Service:
    """A service from the JSON that a visitor writes, be it of a service or of tools."""
    content: Any = parse_json(text.encode(), object, title, "a service, or tools")
    try:
        if isinstance(content, list) or content.keys() & {"tools", "functions", "result"}:
            content = service_of_tools(content, title)
        slots = [_SLOT | slot for slot in content["slots"]]
        slots = [slot | {"is_categorical": bool(slot["possible_values"])} for slot in slots]
        intents = [_INTENT | intent for intent in content["intents"]]
        whole = {"description": ""} | content | {"slots": slots, "intents": intents}
        service = msgspec.convert(whole, Service)
    except (AttributeError, KeyError, TypeError, msgspec.ValidationError) as error:
        expected = "a service with service_name, slots and intents, or a list of tools"
        raise SgdxError(f"{title}: found {error}, expected {expected}") from None
    if not 0 < len(slots) <= _MOST_SLOTS:
        raise SgdxError(f"{title}: found {len(slots)} slots, expected 1 to {_MOST_SLOTS}")
    check_names([service], title)
    if unknown := service.tracked - service.slots_by_name.keys():
        expected = f"expected {', '.join(service.slots_by_name)}"
        raise SgdxError(f"{title}: found the slot {min(unknown)} in an intent, {expected}")
    return service


def service_of_tools(content: Any, title: str) -> dict[str, Any]:
    """The service whose intents are tools and whose slots are their parameters.

    A parameter of several tools is one slot, unless they give it different values: then the slot of
    the later tool is `tool.parameter`.
    """
    content = content.get("result", content) if isinstance(content, dict) else content
    records = tool_records(content, ("tools", "functions"), Path(title))
    slots: dict[str, dict[str, Any]] = {}
    others, intents = [], []
    for tool in tools_of(records, title, Collection("list")):
        names = {}
        for name, schema in tool.parameters.get("properties", {}).items():
            for branch in schema.get("anyOf", ()):  # of "or null", the other
                schema = schema if branch.get("type") == "null" else branch | schema
            values = [str(value) for value in schema.get("enum", ()) if value is not None]
            values = ["True", "False"] if schema.get("type") == "boolean" else values
            text = schema.get("description", "")
            slot = {"name": name, "description": text, "possible_values": values}
            if slots.setdefault(name, slot)["possible_values"] != values:
                slot["name"] = f"{tool.name}.{name}"
                others.append(slot)
            names[name] = slot["name"]
        needed = [names.pop(name) for name in tool.parameters.get("required", ()) if name in names]
        words = {"name": tool.name, "description": tool.description}
        optional = dict.fromkeys(names.values(), "")
        intents.append(words | {"required_slots": needed, "optional_slots": optional})
    return {"service_name": "tools", "slots": [*slots.values(), *others], "intents": intents}


def read_other_words(text: str, service: Service) -> Service:
    """The service in other words: a rewording file, or the entry of the service alone."""
    title = "the other words"
    content: Any = parse_json(text.encode(), object, title, "a rewording file")
    if isinstance(content, dict) and content.keys() <= {*ServiceWords.__struct_fields__}:
        content = {service.service_name: content}
    words = read_words(msgspec.json.encode(content), title)
    return apply_words(words, {"": [service]}, title)[""][0]


def read_utterances(text: str) -> list[str]:
    """The utterances of a dialogue, one a line; lines may begin with `USER:` and `SYSTEM:`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > _MOST_UTTERANCES or len(text) > _MOST_CHARACTERS:
        found = f"found {len(lines)} utterances with {len(text)} characters"
        most = f"{_MOST_UTTERANCES} with {_MOST_CHARACTERS}"
        raise SgdxError(f"the dialogue: {found}, expected {most} at most")
    for line, speaker in zip(lines, cycle(_SPEAKERS)):
        label = _LABEL.match(line)
        if label and label[1].upper() != speaker:
            expected = f"expected {speaker}, as user and system speak in turn and the user begins"
            raise SgdxError(f"the dialogue: {line[:40]!r}: found {label[1]}, {expected}")
    return [_LABEL.sub("", line, count=1) for line in lines]


def track(schema: str, words: str, dialogue: str) -> str:
    """The states under both variants, or what is wrong with what a visitor wrote, as HTML."""
    try:
        service, utterances = read_service(schema), read_utterances(dialogue)
        services = [service, read_other_words(words, service)]
        states = states_of(services, utterances)
    except (SgdxError, UnicodeEncodeError) as error:  # a browser can send half a UTF-16 pair
        return problem_html(error)
    rows: list[tuple[str, Sequence[str]]] = []
    for number, text in enumerate(utterances):
        cells = ["", ""] if number % 2 == 0 else []
        for slots in zip(*(service.slots for service in services), strict=True) if cells else ():
            of_turn = [of[number // 2]["slot_values"] for of in states]
            said = [values.get(slot.name, []) for values, slot in zip(of_turn, slots, strict=True)]
            mark = "" if said[0] == said[1] else " class='differs'"
            for i, slot in enumerate(slots) if any(said) else ():
                value = escape(" | ".join(said[i])) or NO_VALUE
                cells[i] += f"<p><code>{escape(slot.name)}</code> <span{mark}>{value}</span></p>"
        rows.append((f"{_SPEAKERS[number % 2]}: {text}", cells))
    return turns_html([one.service_name for one in services], rows)


def fill_own_tab() -> None:
    """Add the tab's parts, with an example that can be tracked as it stands."""
    gr.Markdown(introduction(_INTRODUCTION, "services of kinds that SGD has not"))
    service, dialogue_id, variant = _EXAMPLE
    schema, other = (sample().schemas(v)[service] for v in ("original", variant))
    words: dict[str, Any] = {"name": other.service_name, "description": other.description}
    for kind in ("slots", "intents"):
        pairs = zip(getattr(schema, kind), getattr(other, kind), strict=True)
        words[kind] = {o.name: {"name": n.name, "description": n.description} for o, n in pairs}
    with gr.Row():
        texts = [
            gr.Code(pretty_json(of, 1).decode(), language="json", label=label, max_lines=20)
            for label, of in (("Your API", schema), ("Other words", words))
        ]
    lines = [f"{speaker}: {text}" for speaker, text in sample().turns()[dialogue_id]]
    dialogue = gr.Textbox("\n".join(lines), label="A dialogue, one utterance a line", lines=5)
    button = gr.Button("Track", variant="primary", elem_id="track")
    states = gr.HTML(elem_id="states")
    button.click(track, [*texts, dialogue], states)
