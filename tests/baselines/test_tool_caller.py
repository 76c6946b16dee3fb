"""A tracker as a program that calls tools."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from baselines.tool_caller import calls_of, service_of, utterances_of
from sgdx_tools import score
from sgdx_tools.__main__ import main

Json = dict[str, Any]
BOOK: Json = {
    "name": "book",
    "description": "Book a table",
    "parameters": {
        "type": "object",
        "required": ["city"],
        "properties": {
            "city": {"type": "string", "description": "City"},
            "people": {"type": "integer"},
            "outside": {"type": "boolean"},
            "meal": {"enum": ["lunch", "dinner"]},
        },
    },
}
PING: Json = {"name": "ping", "description": "", "parameters": {"type": "object", "properties": {}}}


def test_a_tool_is_a_service_of_one_intent() -> None:
    service = service_of(BOOK)
    assert [slot["possible_values"] for slot in service["slots"]] == [
        [],
        [],
        ["True", "False"],
        ["lunch", "dinner"],
    ]
    (intent,) = service["intents"]
    assert intent["required_slots"] == ["city"]
    assert list(intent["optional_slots"]) == ["people", "outside", "meal"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["u:a", "s:b", "u:c"], ["a", "b", "c"]),
        (["s:b", "u:a", "u:c", "s:d"], ["a c"]),
        (["system:x", "u:a", "t:result", "s:b", "s:c", "u:d"], ["a", "b c", "d"]),
    ],
)
def test_the_user_begins_and_ends(said: list[str], expected: list[str]) -> None:
    roles = {"u": "user", "s": "assistant", "t": "tool", "system": "system"}
    pairs = (text.split(":") for text in said)
    assert utterances_of([{"role": roles[r], "content": text} for r, text in pairs]) == expected


def test_the_tool_with_the_most_values_is_called_with_them_in_their_types() -> None:
    values = {"city": ["Rome", "rome"], "people": ["4"], "outside": ["True"], "meal": ["lunch"]}
    states = [
        {"active_intent": "book", "slot_values": values},
        {"active_intent": "ping", "slot_values": {}},
    ]
    arguments = {"city": "Rome", "people": 4, "outside": True, "meal": "lunch"}
    assert calls_of([BOOK, PING], states) == [{"name": "book", "arguments": arguments}]
    states[0] = {"active_intent": "NONE", "slot_values": values}
    assert calls_of([BOOK, PING], states) == [{"name": "ping", "arguments": {}}]
    assert calls_of([BOOK], [states[0]]) == []
    odd = {"active_intent": "book", "slot_values": {"people": ["a few"]}}
    assert calls_of([BOOK], [odd])[0]["arguments"] == {"people": "a few"}


def test_it_answers_as_a_program(tmp_path: Path) -> None:
    """The sample's calls; the lower bound is right in some of them."""
    api, run = str(tmp_path / "api"), str(tmp_path / "run")
    words = ["--sgd", "original", "v1", "--source", "sample", "--output", api]
    assert main(["import", *words]) == 0
    program = f"{shlex.quote(sys.executable)} -m baselines.tool_caller lexical"
    assert main(["run", api, "--command", program, "--output", run]) == 0
    scores = score(api, run)
    assert scores["unread"] == {"original": 0, "v1": 0}
    assert 0 < scores["calls"]["call_accuracy"]["original"] < 1
