"""Logs in the forms of programs and providers: the same conversations of each, or why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sgdx_llm.messages import conversation_of
from sgdx_tools.folder import read_project
from sgdx_tools.logs import read_records
from sgdx_tools.predictions import MadeCall, read_calls

from .conftest import Capture, command, read_lines, write_lines

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


@pytest.mark.parametrize("row", read_lines(Path(__file__).with_name("logs_answers.jsonl")))
def test_what_an_answer_calls(folder: Path, row: Json) -> None:
    """Two messages are one answer, and two choices are two; a refusal is one that calls nothing.

    Of spans in the structure of OTLP, the conversation and whose it is are looked at too.
    """
    before = {case.id for case in read_project(folder).all_cases}
    write_lines(folder.parent / "log.jsonl", [row["record"]])
    assert command("cases", folder, "--from", folder.parent / "log.jsonl") == 0
    new = [case for case in read_project(folder).all_cases if case.id not in before]
    assert [case.expect and [call.name for call in case.expect] for case in new] == row["expect"]
    if "messages" in row:
        (case,) = new
        said = [[message["role"], message["content"]] for message in case.messages]
        assert (said, case.dialogue) == (row["messages"], row.get("dialogue", ""))
