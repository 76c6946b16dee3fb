"""Tools in the forms of three providers as a service that a tracker takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("gradio", reason="the Space needs gradio: pip install sgdx[app]")

from baselines.use import load_tracker
from sgdx_dataset import SgdxError
from sgdx_space.own_schema import read_other_words, read_service, states_table
from sgdx_space.tools_as_service import are_tools, service_of_tools

PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where to stay"},
        "nights": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "pets": {"type": "boolean"},
        "room": {
            "type": "object",
            "properties": {"kind": {"enum": ["single", "double"]}},
            "required": ["kind"],
        },
    },
    "required": ["city", "room"],
}
SERVICE = {
    "service_name": "tools",
    "description": "",
    "slots": [
        {"name": "city", "description": "Where to stay"},
        {"name": "nights", "description": ""},
        {"name": "pets", "description": "", "possible_values": ["True", "False"]},
        {"name": "room.kind", "description": "", "possible_values": ["single", "double"]},
    ],
    "intents": [
        {
            "name": "book",
            "description": "Book a room",
            "required_slots": ["city", "room.kind"],
            "optional_slots": {"nights": "", "pets": ""},
        }
    ],
}
TEXTS = {"name": "book", "description": "Book a room"}


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
    assert are_tools(content)
    assert service_of_tools(content, "your API") == SERVICE


def test_a_parameter_of_two_tools_is_one_slot() -> None:
    tools = [{**TEXTS, "parameters": PARAMETERS}, {"name": "ask", "parameters": PARAMETERS}]
    service = service_of_tools(tools, "your API")
    assert [slot["name"] for slot in service["slots"]] == ["city", "nights", "pets", "room.kind"]
    assert [intent["name"] for intent in service["intents"]] == ["book", "ask"]
    other = {"properties": {"pets": {"type": "string"}}}
    service = service_of_tools([tools[0], {"name": "ask", "parameters": other}], "your API")
    assert service["slots"][-1] == {"name": "ask.pets", "description": ""}
    assert service["intents"][1]["optional_slots"] == {"ask.pets": ""}


def with_parameters(name: str, **parameters: Any) -> dict[str, Any]:
    return {"name": name, "parameters": parameters}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ({"tools": 3}, "int"),
        ([{"description": "x"}], "tool 1"),
        ([{"name": "a", "parameters": []}], "tool a"),
        ([], "no tools"),
        ([{"name": "a"}, {"name": "a"}], "two tools named a"),
        ([{"name": "a", "description": 5}], "tool a: description is 5"),
        ([with_parameters("a", properties={"x": {"description": ["y"]}})], "tool a, x"),
        ([with_parameters("a", properties={"x": {}}, required=True)], "tool a: required is True"),
        (
            [
                with_parameters("g", properties={"x": {"enum": ["1"]}, "f.x": {}}),
                with_parameters("f", properties={"x": {"enum": ["2"]}}),
            ],
            "tool f: found f.x",
        ),
    ],
)
def test_what_are_no_tools_is_refused(content: Any, place: str) -> None:
    with pytest.raises(SgdxError, match=f"your API: .*{place}"):
        service_of_tools(content, "your API")


def test_keys_of_a_schema_that_say_nothing_are_passed_over() -> None:
    parameters = {"properties": {"x": {"anyOf": None}, "y": {"oneOf": 5}}, "required": None}
    service = service_of_tools([{"name": "a", "parameters": parameters}], "your API")
    assert [slot["name"] for slot in service["slots"]] == ["x", "y"]
    assert service["intents"][0]["optional_slots"] == {"x": "", "y": ""}


def test_an_object_that_holds_itself_deeply_is_refused() -> None:
    schema: dict[str, Any] = {"properties": {"x": {"type": "string"}}}
    for _ in range(12):
        schema = {"properties": {"x": schema}}
    with pytest.raises(SgdxError, match="tool a"):
        service_of_tools([{"name": "a", "parameters": schema}], "your API")


def test_a_dialogue_is_tracked_with_tools_under_two_variants() -> None:
    words = json.loads(json.dumps(PARAMETERS).replace("city", "town").replace("pets", "animals"))
    service = read_service(json.dumps([{**TEXTS, "parameters": PARAMETERS}]), "your API")
    other = read_other_words(json.dumps([{"name": "reserve", "parameters": words}]), service)
    assert other.intents[0].required_slots == ["town", "room.kind"]
    assert other.slots[0].description == "Where to stay"
    table = states_table(load_tracker("lexical"), service, other, ["A double room, please."])
    assert table.count(">double</span>") == 2
