"""The tab of one's own API: what it reads, and the states it shows under two variants."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")

from sgdx_dataset import SgdxError
from sgdx_space.own import read_other_words, read_service, read_utterances, service_of_tools, track

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


def test_a_dialogue_is_read_line_by_line() -> None:
    text = "user: Hi: all\n\n  SYSTEM: Where to?\nHome"
    assert read_utterances(text) == ["Hi: all", "Where to?", "Home"]
    with pytest.raises(SgdxError, match="'USER: Hello': found USER"):
        read_utterances("Hi\n\nUSER: Hello")
    with pytest.raises(SgdxError, match="found 5000 utterances"):
        read_utterances("Hi\n" * 5000)
    with pytest.raises(SgdxError, match="with 90000 characters"):
        read_utterances("Hi" * 45_000)


@pytest.mark.parametrize("entry", [{"slots": {"to": "goal"}}, {"slots": {"to": {"name": "goal"}}}])
@pytest.mark.parametrize("is_whole_file", [True, False])
def test_other_words_name_what_changes_alone(entry: dict[str, Any], is_whole_file: bool) -> None:
    service = read_service(json.dumps(SERVICE))
    new = read_other_words(json.dumps({"Cabs": entry} if is_whole_file else entry), service)
    assert (new.service_name, new.description) == ("Cabs", "Rides")
    assert [(slot.name, slot.description, slot.values) for slot in new.slots] == [
        ("riders", "", ["two", "three"]),
        ("goal", "Where the ride ends", []),
    ]
    (intent,) = new.intents
    assert (intent.required_slots, intent.optional_slots) == (["goal"], {"riders": "two"})


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ({"slots": {"to": "goal", "riders": "goal"}}, "goal"),
        ({"slots": {"from": "start"}}, "from"),
        ({"Taxis": {"name": "Cars"}}, "Taxis"),
        ([], "the other words"),
        (5, "the other words"),
    ],
)
def test_other_words_that_do_not_fit_are_refused(words: Any, found: str) -> None:
    service = read_service(json.dumps(SERVICE))
    with pytest.raises(SgdxError, match=found):
        read_other_words(json.dumps(words), service)


def test_values_that_differ_are_marked_and_none_is_called_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SGDX_TRACKER", "lexical")
    words = {"name": "<Lifts>", "slots": {"riders": "headcount", "to": "riders going"}}
    dialogue = "USER: A ride for <b>two</b> riders\nSYSTEM: Where to?\nUSER: three riders, please"
    html = track(json.dumps(SERVICE), json.dumps(words), dialogue)
    assert "<th>Cabs</th><th>&lt;Lifts&gt;</th>" in html
    assert "USER: A ride for &lt;b&gt;two&lt;/b&gt; riders" in html and "<b>" not in html
    assert "<code>riders</code> <span" in html and "<code>headcount</code> <span" in html
    assert "right" not in html and "wrong" not in html


def test_a_value_is_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    for states, html in (
        (["<i>", "<i>"], "<code>to</code> <span>&lt;i&gt;</span>"),
        (["<i>", ""], "<code>to</code> <span class='differs'>"),
    ):
        of_both = [[{"slot_values": {"to": [value]} if value else {}}] for value in states]
        monkeypatch.setattr("sgdx_space.own.states_of", lambda *_, made=of_both: made)
        found = track(json.dumps(SERVICE), "{}", "Hi")
        assert found.count(html) == 2 and "<i>" not in found


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"slots": None}, "list of tools"),
        ({"slots": [5]}, "list of tools"),
        ({"slots": [{"name": 5}]}, r"slots\[0\].name"),
        ({"slots": [{"name": "to", "colour": "red"}]}, "colour"),
        ({"slots": [{"name": "to"}, {"name": "to"}]}, "to appears twice"),
        ({"intents": [{"name": "Order", "required_slots": ["to", "day"]}]}, "slot day"),
        ({"slots": [{"name": f"slot_{i}"} for i in range(20_000)]}, "20000 slots"),
    ],
)
def test_what_is_no_service_is_refused(change: dict[str, Any], place: str) -> None:
    with pytest.raises(SgdxError, match=f"your API: .*{place}"):
        read_service(json.dumps(SERVICE | change))


@pytest.mark.parametrize("text", ["5", "{", "{}", "null", "[]", '{"tools": []}', '"\ud83d"'])
def test_a_page_says_what_it_cannot_read(text: str) -> None:
    assert "role='alert'" in track(text, "{}", "Hi")
    assert "role='alert'" in track(json.dumps(SERVICE), text, "Hi") or text == "{}"
    assert "role='alert'" in track(json.dumps(SERVICE), "{}", "")


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "function", "function": {**TEXTS, "parameters": PARAMETERS}}],
        {"tools": [{"type": "function", **TEXTS, "parameters": PARAMETERS}]},
        [{**TEXTS, "input_schema": PARAMETERS}],
        {"jsonrpc": "2.0", "result": {"tools": [{**TEXTS, "inputSchema": PARAMETERS}]}},
    ],
)
def test_tools_of_each_form_are_one_service(content: Any) -> None:
    assert service_of_tools(content, "your API") == OF_TOOLS
    assert read_service(json.dumps(content)).slots_by_name["kind"].values == ["single", "double"]


def test_a_parameter_of_two_tools_is_one_slot() -> None:
    tools = [{**TEXTS, "parameters": PARAMETERS}, {"name": "ask", "parameters": PARAMETERS}]
    service = service_of_tools(tools, "your API")
    assert [slot["name"] for slot in service["slots"]] == ["city", "nights", "pets", "kind"]
    assert [intent["name"] for intent in service["intents"]] == ["book", "ask"]
    other = {"properties": {"pets": {"type": "string"}}}
    service = service_of_tools([tools[0], {"name": "ask", "parameters": other}], "your API")
    assert service["slots"][-1]["name"] == "ask.pets"
    assert service["intents"][1]["optional_slots"] == {"ask.pets": ""}


@pytest.mark.parametrize(
    "tools",
    [
        3,
        [{"name": "a"}, {"name": "a"}],
        [{"name": "a", "parameters": {"properties": {"x": {"description": ["y"]}}}}],
        [{"name": "a", "parameters": {"properties": {"x": {}}, "required": True}}],
    ],
)
def test_what_are_no_tools_is_refused(tools: Any) -> None:
    with pytest.raises(SgdxError, match="your API"):
        read_service(json.dumps({"tools": tools}))
