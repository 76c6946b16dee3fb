"""Logs in the forms of programs and providers: the same conversations of each, or why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sgdx_llm.messages import conversation_of
from sgdx_tools.data import ExpectedCall
from sgdx_tools.folder import read_project
from sgdx_tools.logs import read_records
from sgdx_tools.predictions import MadeCall, read_calls

from .conftest import Capture, command, read_lines, user, write_lines

Json = Any
# Logs that programs and providers write, in files by their form, of the same conversations: the
# first two, or the last. Of these the last message is the answer.
LOGS = sorted(Path(__file__).with_name("logs").glob("*.json*"))
CONVERSATIONS: list[list[Json]] = json.loads(
    Path(__file__).with_name("conversations.json").read_text()
)
REFUSED = read_lines(Path(__file__).with_name("logs_refused.jsonl"))


def calls_of(message: Json) -> list[tuple[str, Json]]:
    """The name and the arguments of each call."""
    functions = [call["function"] for call in message.get("tool_calls", ())]
    return [(function["name"], json.loads(function["arguments"])) for function in functions]


def plain(message: Json) -> Json:
    """A message without what not all forms have: ids of calls, and names of results."""
    kept = {key: message[key] for key in ("role", "content", "tool_call_id") if message.get(key)}
    return kept | {"calls": calls_of(message)}


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_conversation_is_the_same_in_each_form(path: Path) -> None:
    found = [asked for _, asked in read_records(path) if asked is not None]
    expected = CONVERSATIONS[:2] if len(found) == 2 else CONVERSATIONS[2:]
    for asked, (*messages, answer) in zip(found, expected, strict=True):
        assert not isinstance(asked, str), asked
        assert [*map(plain, conversation_of(asked.request))] == [*map(plain, messages)]
        made, counts = read_calls(asked.answer)
        assert made == tuple(MadeCall(*call) for call in calls_of(answer))
        assert not counts["unread"]


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused["part"])
def test_what_is_not_read_is_named(folder: Path, refused: Json, capsys: Capture) -> None:
    """An answer that has not ended, what no provider takes, what is no text, and other forms."""
    other = {"attributes": {"http.method": "GET"}}
    write_lines(folder.parent / "log.jsonl", [other, refused["record"]])
    assert command("cases", folder, "--from", folder.parent / "log.jsonl") == 2
    error = capsys.readouterr().err
    assert "left out 1" in error and "other records 1" in error and "log.jsonl:2" in error
    assert refused["part"] in error.split("log.jsonl:2")[1], error


SAID = [user("Rain in Rome?")]
CALL = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
CHOICE = {"index": 0, "finish_reason": "tool_calls", "message": CALLED}
TEXT = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}
WEATHER = (ExpectedCall("weather", {}),)


def asked(response: Json, **more: Json) -> Json:
    return {"request": {"messages": SAID, **more}, "response": response}


@pytest.mark.parametrize(
    ("record", "expect"),
    [
        # Two messages are one answer, and two choices are two.
        ({"name": "chat m", "attributes": {"gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(SAID),
            "gen_ai.output.messages": json.dumps([TEXT["message"], CALLED])}}, [WEATHER]),
        (asked({"choices": [TEXT, CHOICE]}, n=2), [None, WEATHER]),
        (asked({"choices": [{**CHOICE, "message": {"content": "", "function_call": {
            "name": "weather", "arguments": ""}}}]}), [WEATHER]),
        # A refusal is an answer, and calls nothing.
        (asked({"choices": [{**TEXT, "message": {"role": "assistant", "content": None, "refusal":
            "No."}}]}), [None]),
        # The later of two answers in a list has the call.
        (asked({"output": [{"type": "reasoning", "summary": []}, CALLED]}), [WEATHER]),
    ],
)  # fmt: skip
def test_what_an_answer_calls(folder: Path, record: Json, expect: Json, capsys: Capture) -> None:
    before = {case.id for case in read_project(folder).all_cases}
    write_lines(folder.parent / "log.jsonl", [record])
    assert command("cases", folder, "--from", folder.parent / "log.jsonl") == 0
    cases = [case for case in read_project(folder).all_cases if case.id not in before]
    assert [case.expect for case in cases] == expect
