"""Tools and cases under a variant."""

from __future__ import annotations

import json

from sgdx_tools.data import Case, ExpectedCall, Json, Tool, ToolWords, Variant
from sgdx_tools.renaming import WordedTools

from .conftest import TOOLS, V1, user

BY_ID = {tool.id: tool for tool in TOOLS}


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
    messages = WordedTools(BY_ID, V1).messages(earlier_turn('{"people": 4, "id": 7}'))
    assert messages[0] == user("Book a table, people: 4")
    assert messages[1]["tool_calls"][0]["function"] == {
        "name": "reserve",
        "arguments": '{"guests": 4, "place": {"town": "Rome"}}',
    }
    assert messages[2] == {
        "role": "tool",
        "tool_call_id": "1",
        "name": "reserve",
        "content": '{"guests": 4, "id": 7}',
    }
    for result, renamed in (
        ('[{"people": 4}, 1]', '[{"guests": 4}, 1]'),
        ("people: 4", "people: 4"),
        ('{"people": 4, "guests": 5}', '{"people": 4, "guests": 5}'),  # would be one name
    ):
        assert WordedTools(BY_ID, V1).messages(earlier_turn(result))[2]["content"] == renamed


def test_an_id_that_is_no_name_never_reaches_a_model() -> None:
    tools = {"f": Tool("f"), "f#2": Tool("f", "Another", id="f#2")}
    case = Case("x", (user("Hi"),), (ExpectedCall("f#2"),), ("f#2",))
    assert WordedTools(tools, Variant("original")).expect(case) == (ExpectedCall("f"),)
    new_name = Variant("v1", {"f#2": ToolWords("g")})
    assert WordedTools(tools, new_name).expect(case) == (ExpectedCall("g"),)
    assert WordedTools(tools, new_name).tool("f#2") == Tool("g", "Another", {}, "f#2")


def test_a_title_does_not_give_the_old_name_away() -> None:
    tool = Tool("book", "", {"type": "object", "title": "book_arguments", "properties": {}})
    worded = WordedTools({"book": tool}, Variant("v1", {"book": ToolWords("keep_a_table")}))
    assert worded.tool("book").parameters["title"] == "Keep A Table"
