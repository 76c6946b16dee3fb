"""The tab of one's own API: what it reads, and the states it shows under two variants."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")

from sgdx_space.own import read_other_words, read_service, service_of_tools, track

SERVICE: dict[str, Any] = {
    "service_name": "Cabs",
    "description": "Rides",
    "slots": [
        {"name": "riders", "possible_values": ["two", "three"]},
        {"name": "to", "description": "Where the ride ends"},
    ],
    "intents": [{"name": "Order", "required_slots": ["to"], "optional_slots": {"riders": "two"}}],
}
PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where to stay"},
        "nights": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "pets": {"type": "boolean"},
        "kind": {"enum": ["single", "double", None]},
    },
    "required": ["city", "kind"],
}
TEXTS = {"name": "book", "description": "Book a room"}
OF_TOOLS = {
    "service_name": "tools",
    "slots": [
        {"name": "city", "description": "Where to stay", "possible_values": []},
        {"name": "nights", "description": "", "possible_values": []},
        {"name": "pets", "description": "", "possible_values": ["True", "False"]},
        {"name": "kind", "description": "", "possible_values": ["single", "double"]},
    ],
    "intents": [
        {
            "name": "book",
            "description": "Book a room",
            "required_slots": ["city", "kind"],
            "optional_slots": {"nights": "", "pets": ""},
        }
    ],
}


@pytest.mark.parametrize(
    "words", [{"slots": {"to": "goal"}}, {"Cabs": {"slots": {"to": {"name": "goal"}}}}]
)
def test_other_words_name_what_changes_alone(words: dict[str, Any]) -> None:
    new = read_other_words(json.dumps(words), read_service(json.dumps(SERVICE)))
    assert (new.service_name, new.description) == ("Cabs", "Rides")
    assert [(slot.name, slot.description, slot.values) for slot in new.slots] == [
        ("riders", "", ["two", "three"]),
        ("goal", "Where the ride ends", []),
    ]
    (intent,) = new.intents
    assert (intent.required_slots, intent.optional_slots) == (["goal"], {"riders": "two"})


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "function", "function": {**TEXTS, "parameters": PARAMETERS}}],
        [{**TEXTS, "input_schema": PARAMETERS}],
        {"jsonrpc": "2.0", "result": {"tools": [{**TEXTS, "inputSchema": PARAMETERS}]}},
    ],
)
def test_tools_of_each_form_are_one_service(content: Any) -> None:
    assert service_of_tools(content, "your API") == OF_TOOLS
    assert read_service(json.dumps(content)).slots_by_name["kind"].values == ["single", "double"]


def test_a_parameter_of_two_tools_is_one_slot() -> None:
    """Unless they give it other values."""
    other = {"properties": {"pets": {"type": "string"}, "city": {"type": "string"}}}
    tools = [{**TEXTS, "parameters": PARAMETERS}, {"name": "ask", "parameters": other}]
    service = service_of_tools(tools, "your API")
    names = [slot["name"] for slot in service["slots"]]
    assert names == ["city", "nights", "pets", "kind", "ask.pets"]
    assert service["intents"][1]["optional_slots"] == {"ask.pets": "", "city": ""}


NO_API: list[Any] = [5, "{", {}, [], {"tools": []}, {"tools": 3}]
NO_WORDS: list[Any] = [[], 5, "{"]
TYPED = {"tools": [{"name": "a", "parameters": {"properties": {"x": {"description": ["y"]}}}}]}


@pytest.mark.parametrize(
    ("written", "found"),
    [
        *(({"api": of}, "your API: ") for of in NO_API),
        ({"api": '"\ud83d"'}, ""),  # half a UTF-16 pair, as a browser can send it
        *(({"api": SERVICE | {"slots": of}}, "your API: .*list of tools") for of in (None, [5])),
        ({"api": SERVICE | {"slots": [{"name": 5}]}}, r"slots\[0\].name"),
        ({"api": SERVICE | {"slots": [{"name": "to", "colour": "red"}]}}, "colour"),
        ({"api": SERVICE | {"slots": [{"name": "to"}] * 2}}, "to appears twice"),
        ({"api": SERVICE | {"intents": [{"name": "O", "required_slots": ["day"]}]}}, "slot day"),
        ({"api": SERVICE | {"slots": [{"name": f"s{i}"} for i in range(20_000)]}}, "20000 slots"),
        ({"api": {"tools": [{"name": "a"}, {"name": "a"}]}}, "your API: "),
        ({"api": TYPED}, "your API: "),
        ({"words": {"slots": {"to": "goal", "riders": "goal"}}}, "goal"),
        ({"words": {"slots": {"from": "start"}}}, "from"),
        ({"words": {"Taxis": {"name": "Cars"}}}, "Taxis"),
        *(({"words": of}, "the other words") for of in NO_WORDS),
        ({"dialogue": "Hi\n\nUSER: Hello"}, "'USER: Hello': found USER"),
        ({"dialogue": "Hi\n" * 5000}, "found 5000 utterances"),
        ({"dialogue": "Hi" * 45_000}, "with 90000 characters"),
        ({"dialogue": ""}, ""),
    ],
)
def test_a_page_says_what_it_cannot_read(
    written: dict[str, Any], found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGDX_TRACKER", "lexical")
    given = {"api": SERVICE, "words": {}, "dialogue": "Hi"} | written
    page = track(*(of if isinstance(of, str) else json.dumps(of) for of in given.values()))
    assert page.startswith("<p class='problem' role='alert'>")
    assert re.search(found, html.unescape(page))


def test_values_that_differ_are_marked_and_none_is_called_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SGDX_TRACKER", "lexical")
    words = {"name": "<Lifts>", "slots": {"riders": "headcount", "to": "riders going"}}
    dialogue = "USER: A ride for <b>two</b> riders\nSYSTEM: Where to?\nUSER: three riders, please"
    page = track(json.dumps(SERVICE), json.dumps(words), dialogue)
    assert "<th>Cabs</th><th>&lt;Lifts&gt;</th>" in page
    assert "USER: A ride for &lt;b&gt;two&lt;/b&gt; riders" in page and "<b>" not in page
    assert "<code>riders</code> <span" in page and "<code>headcount</code> <span" in page
    assert "right" not in page and "wrong" not in page
    # What the tracker says is set: values that differ, of which one is no markup.
    of_both = [[{"slot_values": {"to": [value]} if value else {}}] for value in ("<i>", "")]
    monkeypatch.setattr("sgdx_space.own.states_of", lambda *_: of_both)
    page = track(json.dumps(SERVICE), "{}", "Hi")
    assert "<code>to</code> <span class='differs'>&lt;i&gt;</span>" in page
