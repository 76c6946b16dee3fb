"""Large, odd and hostile input: the right result, or one line with file and record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdx_metric.call_rules import score_case
from sgdx_tools.data import Json
from sgdx_tools.folder import read_project
from sgdx_tools.predictions import MadeCall, beginning, read_calls

from ..mutations import is_read, mutations


def message(finish_reason: str = "stop", **parts: Any) -> Json:
    return {"choices": [{"message": parts, "finish_reason": finish_reason}]}


def tool_call(arguments: str) -> Json:
    return message(tool_calls=[{"function": {"name": "a", "arguments": arguments}}])


WRITTEN = '<tool_call>\n{"name": "a", "parameters": {}}\n</tool_call> Done.'
CUT = '<tool_call>{"name": "a", "arguments": {}}, {"na'


@pytest.mark.parametrize(
    ("body", "arguments", "counts"),
    [
        ({"calls": [{"name": "a"}]}, {}, {}),
        ({"calls": [{"name": 1}]}, None, {"unread": 1}),
        ({"calls": None}, None, {"unread": 1}),
        (None, None, {"unread": 1}),
        ({"error": {"code": "x"}}, None, {"unread": 1, "refused": 1}),
        ({"choices": []}, None, {"unread": 1}),
        ({"choices": [{"message": ["x"]}]}, None, {"unread": 1}),
        (message(content="Hello"), None, {}),
        (message("length", content="He"), None, {"unread": 1, "truncated": 1}),
        # A server that does not know the form of the model's calls gives them as text: no client
        # carries these out.
        (message(content='{"name": "a", "arguments": {"b": 1}}'), None, {"text_calls": 1}),
        (message(content=WRITTEN), None, {"text_calls": 1}),
        (message(content='I met {"name": "Bob", "age": 3}.'), None, {}),
        (message("length", content=CUT), None, {"unread": 1, "truncated": 1}),
        (message(refusal="No"), None, {"refused": 1}),
        (tool_call("{"), None, {"unread": 1}),
        (tool_call(""), {}, {}),
        # What has two meanings, or none that other programs can read.
        (tool_call('{"city": "Oslo", "city": "Rome"}'), None, {"unread": 1}),
        (tool_call('{"x": NaN}'), None, {"unread": 1}),
        (tool_call('{"x": 1e400}'), None, {"unread": 1}),
        (tool_call('{"x": "\\ud83d"}'), None, {"unread": 1}),
        (tool_call(f'{{"x": {"[" * 300}{"]" * 300}}}'), None, {"unread": 1}),
        ({"calls": [{"name": "a", "arguments": {"x": float("inf")}}]}, None, {"unread": 1}),
        ({"calls": [{"name": "\ud83d"}]}, None, {"unread": 1}),
        # What is no answer.
        (message("error", content=""), None, {"unread": 1}),
        (message(content=""), None, {"unread": 1}),
        ({"detail": "rate limit"}, None, {"unread": 1}),
    ],
)
def test_answers(body: Any, arguments: Json | None, counts: dict[str, int]) -> None:
    calls = () if arguments is None else (MadeCall("a", arguments),)
    assert read_calls(body) == (calls, counts)


@pytest.mark.parametrize(
    ("body", "calls", "counts"),
    [
        (message(content='{"name": "a", "arguments": {"b": 1}}'), [{"b": 1}], {"from_text": 1}),
        (message(content=WRITTEN * 2), [{}, {}], {"from_text": 1}),
        (message(content="<tool_call>a</tool_call>"), [], {"unread": 1}),
        (message(content=f"{WRITTEN}<tool_call>a</tool_call>"), [], {"unread": 1, "from_text": 1}),
        (message(content="Hello"), [], {}),
        (message("length", content=CUT), [], {"unread": 1, "truncated": 1}),
        (message(content=WRITTEN, tool_calls=[{"function": {"name": "a"}}]), [{}], {}),
        ({"calls": []}, [], {}),
    ],
)
def test_calls_in_a_text_where_they_count(
    body: Any, calls: list[Json], counts: dict[str, int]
) -> None:
    made = tuple(MadeCall("a", arguments) for arguments in calls)
    assert read_calls(body, text_calls=True) == (made, counts)


def test_how_an_unread_answer_begins() -> None:
    assert beginning(message(content="<think>so</think> <tool_call>{")) == "<tool_call>{"
    assert beginning(tool_call("{")).startswith('{"tool_calls": [{"function": {"name": "a"')
    assert beginning({"error": {"code": "x"}}) == '{"error": {"code": "x"}}'
    assert len(beginning(message(content="\ud83d" * 1000))) == 300


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(JSON, st.booleans())
def test_any_arguments_are_written_and_scored_or_unread(value: Any, in_text: bool) -> None:
    arguments = json.dumps(value) if in_text else value
    body = message(tool_calls=[{"function": {"name": "a", "arguments": arguments}}])
    calls, counts = read_calls(body)
    assert bool(counts["unread"]) == (not calls)
    for made in calls:
        assert json.loads(msgspec.json.encode(made.arguments)) == made.arguments
        expected = [{"name": "a", "arguments": made.arguments}]
        assert score_case(expected, expected, {}, "exact").call == 1


@pytest.mark.parametrize("name", ["tools.json", "cases.jsonl", "variants/v1.json"])
def test_a_value_of_another_kind_is_read_or_refused(name: str, folder: Path) -> None:
    path = folder / name
    content = path.read_bytes()
    first, *others = content.splitlines() if name == "cases.jsonl" else [content]

    def read(data: bytes) -> None:
        path.write_bytes(b"\n".join([data, *others]))
        read_project(folder)

    @settings(max_examples=60, deadline=None)
    @given(mutations(json.loads(first)))
    def check(data: bytes) -> None:
        is_read(read, data, str(folder))

    assert is_read(read, first, "")
    check()
