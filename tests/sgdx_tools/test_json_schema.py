"""The words of a JSON Schema: where they are, and what becomes of schemas, values and messages."""

from __future__ import annotations

import json

import pytest

from sgdx_dataset import SgdxError
from sgdx_tools.data import Case, ExpectedCall, Json, Tool, ToolWords, Variant, Words
from sgdx_tools.folder import check_variant
from sgdx_tools.json_schema import Element, Layout
from sgdx_tools.renaming import Renaming, WordedTools

from .conftest import TOOLS, V1, objects, user

TEXT, TO_ADDRESS = {"type": "string"}, {"$ref": "#/$defs/Address"}
PLACE = {"description": "A place"}
SCHEMA: Json = {
    **objects(
        ["party_size"],
        party_size={"type": "integer", "title": "Party Size", "description": "How many"},
        address={**TO_ADDRESS, "description": "Where"},
        guests={
            "type": "array",
            "items": objects(
                ["name"], name={**TEXT, "description": "Who"}, home={"$ref": "#/properties/address"}
            ),
        },
        when={
            "anyOf": [
                {**TEXT, "description": "A date"},
                objects(["start"], start={**TEXT, "description": "First day"}),
                objects(start={"type": "integer", "description": "Days from now"}),
            ],
            "default": {"start": "today"},
        },
        labels={"type": "object", "additionalProperties": TO_ADDRESS},
        any=True,
    ),
    "$defs": {"Address": objects(["city"], city=TEXT, next=TO_ADDRESS) | PLACE},
}
WORDS = {
    "party_size": Words("how_many_people"),
    "address": Words("place", "Where it is"),
    "$defs.Address.city": Words("town", "Name of the town"),
    "guests[].name": Words("who"),
    "when": Words(description="A day"),
    "when.start": Words("beginning"),
    "when.start#2": Words(description="In how many days"),
    "any": Words("whatever"),
}


def renaming(schema: Json, words: dict[str, Words]) -> Renaming:
    tool, variant = Tool("t", "", schema), Variant("v1", {"t": ToolWords(parameters=words)})
    check_variant(variant, {"t": tool}, (), "v1.json")
    return Renaming(tool.layout, words)


def test_elements_are_properties_and_whatever_is_described() -> None:
    found = Layout(SCHEMA, "").elements
    paths = "party_size address guests guests[].name guests[].home when when.start when.start#2"
    paths += " labels any $defs.Address $defs.Address.city $defs.Address.next"
    assert [*found] == paths.split()
    assert found["guests[].name"] == Element("name", "Who")
    assert found["when"] == Element("when", "A date")
    assert found["when.start#2"] == Element("", "Days from now")
    assert found["$defs.Address"] == Element("", "A place")


def test_a_schema_keeps_everything_but_its_words() -> None:
    schema = renaming(SCHEMA, WORDS).schema()
    town = {**TEXT, "description": "Name of the town"}
    assert schema == {
        **objects(
            ["how_many_people"],
            how_many_people={
                "type": "integer",
                "title": "How Many People",
                "description": "How many",
            },
            place={**TO_ADDRESS, "description": "Where it is"},
            guests={
                "type": "array",
                "items": objects(
                    ["who"], who={**TEXT, "description": "Who"}, home={"$ref": "#/properties/place"}
                ),
            },
            when={
                "anyOf": [
                    {**TEXT, "description": "A day"},
                    objects(["beginning"], beginning={**TEXT, "description": "First day"}),
                    objects(beginning={"type": "integer", "description": "In how many days"}),
                ],
                "default": {"beginning": "today"},
            },
            labels={"type": "object", "additionalProperties": TO_ADDRESS},
            whatever=True,
        ),
        "$defs": {"Address": objects(["town"], town=town, next=TO_ADDRESS) | PLACE},
    }
    Layout(schema, "")


def test_values_have_the_new_names_at_every_depth() -> None:
    value = {
        "party_size": 4,
        "address": {"city": "Rome", "next": {"city": "Oslo"}},
        "guests": [{"name": "Ann", "home": {"city": "Bern"}}],
        "when": {"any_of": [{"start": 1}, "start", {"absent": True}]},
        "labels": {"city": {"city": "Paris"}},
    }
    assert renaming(SCHEMA, WORDS).value(value, is_expected=True) == {
        "how_many_people": 4,
        "place": {"town": "Rome", "next": {"town": "Oslo"}},
        "guests": [{"who": "Ann", "home": {"town": "Bern"}}],
        "when": {"any_of": [{"beginning": 1}, "start", {"absent": True}]},
        "labels": {"city": {"town": "Paris"}},
    }


def test_names_that_keywords_mention_follow() -> None:
    """Those of JSON Schema, of OpenAPI and of other programs; values of them stay."""

    def schema(amount: str, card: str) -> Json:
        return objects(**{amount: {"x-depends-on": card}, card: {"type": "string"}}) | {
            "allOf": [{"if": {"required": [amount]}, "then": {"required": [card]}}],
            "dependentRequired": {amount: [card]},
            "dependentSchemas": {amount: {"required": [card]}},
            "discriminator": {"propertyName": amount, "mapping": {"card": f"#/properties/{card}"}},
            "examples": [{amount: "card"}],
            "ui:order": [amount, "*"],
            "propertyNames": {"enum": [amount, card], "pattern": f"^({amount}|card-no)$"},
            "patternProperties": {f"^{amount}$": {"minimum": 1}, "^card-": True},
            "dependencies": {amount: [card], card: {"required": [amount]}},
            "errorMessage": {"required": {card: "needs a card"}},
            "format": "card",
        }

    words = {"amount": Words("sum"), "card": Words("pan")}
    assert renaming(schema("amount", "card"), words).schema() == schema("sum", "pan")


@pytest.mark.parametrize(
    ("anchor", "reference"),
    [
        ({"$anchor": "node"}, {"$ref": "#node"}),
        ({"$dynamicAnchor": "node"}, {"$dynamicRef": "#node"}),
        ({"$recursiveAnchor": True}, {"$recursiveRef": "#"}),
        ({"$id": "tree.json"}, {"$ref": "tree.json"}),
    ],
)
def test_every_kind_of_reference_is_followed(anchor: Json, reference: Json) -> None:
    schema = objects(label={}, parts={"type": "array", "items": reference}) | anchor
    tree = renaming(schema, {"label": Words("text")})
    assert tree.schema() == objects(text={}, parts={"type": "array", "items": reference}) | anchor
    value = {"label": "a", "parts": [{"label": "b"}]}
    assert tree.value(value) == {"text": "a", "parts": [{"text": "b"}]}


def test_two_names_change_places_and_no_key_of_ones_own_is_lost() -> None:
    swap = renaming(objects(a={}, b={}), {"a": Words("b"), "b": Words("a")})
    assert swap.schema() == objects(b={}, a={})
    assert swap.value({"a": 1, "b": 2}) == {"b": 1, "a": 2}
    open_schema = objects(a={}) | {"additionalProperties": True}
    with pytest.raises(SgdxError, match="tool t: of the keys a, b two"):
        renaming(open_schema, {"a": Words("b")}).value({"a": 1, "b": 2})


def test_one_property_in_two_places_needs_one_name() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/Base"}, objects(city={})],
        "$defs": {"Base": objects(city={})},
    }
    both = {"city": Words("town"), "$defs.Base.city": Words("town")}
    assert renaming(schema, both).value({"city": 1}) == {"town": 1}
    with pytest.raises(SgdxError, match="are one property"):
        renaming(schema, {"city": Words("town")})


def earlier_turn(result: str) -> Case:
    function = {"name": "book", "arguments": json.dumps({"people": 4, "place": {"city": "Rome"}})}
    call = {"id": "1", "type": "function", "function": function}
    messages: tuple[Json, ...] = (
        user("Book a table, people: 4"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "name": "book", "content": result},
        user("Thanks"),
    )
    return Case("x", messages, None)


def test_earlier_calls_and_results_follow_and_what_was_said_stays() -> None:
    worded = WordedTools({tool.id: tool for tool in TOOLS}, V1)
    for result, renamed in (
        ('{"people": 4, "id": 7}', '{"guests": 4, "id": 7}'),
        ('[{"people": 4}, 1]', '[{"guests": 4}, 1]'),
        ("people: 4", "people: 4"),
        ('{"people": 4, "guests": 5}', '{"people": 4, "guests": 5}'),  # would be one name
    ):
        said, asked, answered, _ = worded.messages(earlier_turn(result))
        assert said == user("Book a table, people: 4")
        arguments = '{"guests": 4, "place": {"town": "Rome"}}'
        function = {"name": "reserve", "arguments": arguments}
        assert asked["tool_calls"][0]["function"] == function
        assert (answered["name"], answered["content"]) == ("reserve", renamed)


def test_an_id_that_is_no_name_never_reaches_a_model() -> None:
    tools = {"f": Tool("f"), "f#2": Tool("f", "Another", id="f#2")}
    case = Case("x", (user("Hi"),), (ExpectedCall("f#2"),), ("f#2",))
    assert WordedTools(tools, Variant("original")).expect(case) == (ExpectedCall("f"),)
    new_name = Variant("v1", {"f#2": ToolWords("g")})
    assert WordedTools(tools, new_name).expect(case) == (ExpectedCall("g"),)
    assert WordedTools(tools, new_name).tool("f#2") == Tool("g", "Another", {}, "f#2")


def test_a_title_does_not_give_the_old_name_away() -> None:
    tool = Tool("book", "", objects() | {"title": "book_arguments"})
    worded = WordedTools({"book": tool}, Variant("v1", {"book": ToolWords("keep_a_table")}))
    assert worded.tool("book").parameters["title"] == "Keep A Table"
