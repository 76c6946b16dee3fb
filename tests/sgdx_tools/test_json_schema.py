"""The words of a JSON Schema: where they are, and what becomes of schemas, values and messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from sgdx_dataset import SgdxError
from sgdx_tools.data import Case, ExpectedCall, Json, Tool, ToolWords, Variant, Words
from sgdx_tools.folder import check_variant
from sgdx_tools.json_schema import Element, Layout
from sgdx_tools.renaming import Renaming, WordedTools

from .conftest import TOOLS, V1, objects, read_lines, user

# Schemas with new words of their elements: what becomes of each, and of a value that fits it.
ROWS = read_lines(Path(__file__).with_name("renamed.jsonl"))


def renaming(schema: Json, words: Mapping[str, Words]) -> Renaming:
    tool, variant = Tool("t", "", schema), Variant("v1", {"t": ToolWords(parameters=words)})
    check_variant(variant, {"t": tool}, (), "v1.json")
    return Renaming(tool.layout, words)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["of"])
def test_new_words_arrive_and_all_else_stays(row: Json) -> None:
    words = msgspec.convert(row["words"], dict[str, Words])
    new = renaming(row["schema"], words)
    assert new.schema() == row["renamed"]
    assert new.value(row["value"], is_expected=True) == row["new_value"]
    Layout(new.schema(), "")


def test_elements_are_properties_and_whatever_is_described() -> None:
    found = Layout(ROWS[0]["schema"], "").elements
    paths = "party_size address guests guests[].name guests[].home when when.start when.start#2"
    paths += " labels any $defs.Address $defs.Address.city $defs.Address.next"
    assert [*found] == paths.split()
    assert found["guests[].name"] == Element("name", "Who")
    assert found["when"] == Element("when", "A date")
    assert found["when.start#2"] == Element("", "Days from now")
    assert found["$defs.Address"] == Element("", "A place")


def test_no_key_of_ones_own_is_lost() -> None:
    open_schema = objects(a={}) | {"additionalProperties": True}
    with pytest.raises(SgdxError, match="tool t: of the keys a, b two"):
        renaming(open_schema, {"a": Words("b")}).value({"a": 1, "b": 2})


def test_one_property_in_two_places_needs_one_name() -> None:
    twice = next(row["schema"] for row in ROWS if "two places" in row["of"])
    with pytest.raises(SgdxError, match="are one property"):
        renaming(twice, {"city": Words("town")})


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
