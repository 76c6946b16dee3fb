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
from .conftest import read_lines


def message(finish_reason: str = "stop", **parts: Any) -> Json:
    return {"choices": [{"message": parts, "finish_reason": finish_reason}]}


def tool_call(arguments: str) -> Json:
    return message(tool_calls=[{"function": {"name": "a", "arguments": arguments}}])


@pytest.mark.parametrize("row", read_lines(Path(__file__).with_name("calls.jsonl")))
def test_the_calls_of_an_answer(row: Json) -> None:
    """What has two meanings, or is no answer, is unread; a text that looks like calls is none."""
    made = tuple(MadeCall("a", arguments) for arguments in row["calls"])
    assert read_calls(row["body"], row.get("text_calls", False)) == (made, row["counts"])


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
