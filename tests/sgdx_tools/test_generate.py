"""Cases that a model writes: what is taken, what is dropped and counted, and their review."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sgdx_tools.data import ExpectedCall
from sgdx_tools.folder import read_tool_set, write_tool_set

from ..sgdx_llm.server import StandIn, call_completion, completion, serving
from .conftest import CASES, TOOLS, Capture, command

Json = Any


def said(utterance: Any, arguments: Any, **more: Any) -> Json:
    return {"utterance": utterance, "arguments": arguments, **more}


WRITTEN: Json = {
    "book": {
        "cases": [
            said("A table for three", {"people": 3}),
            said(" a TABLE for  three", {"people": 3}),  # said twice
            said("A table for many", {"people": "many"}),  # the schema refuses it
            said("A table in Rome", {"place": {"city": "Rome"}}),  # lacks what is required
            said("Two", {"people": 2}),  # a case of the folder
            said("", {"people": 2}),
            said("For six", "[6]"),
            said("For nine", '{"people": 9}'),
            "what?",
        ],
        "near": said("Is it dry on the terrace in Rome?", {"city": "Rome"}, tool="weather"),
    },
    "weather": {
        "cases": [said("Oslo?", {"city": "Oslo"})],
        "near": said("Rain dance", {}, tool="dance"),
    },
}


def answer(body: Json) -> Json:
    name = json.loads(body["messages"][1]["content"])["tool"]["name"]
    if name not in WRITTEN:
        return completion({"role": "assistant", "content": "No idea."}, "stop")
    return call_completion("write_cases", json.dumps(WRITTEN[name]))


def test_a_model_writes_cases_that_a_person_reviews(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "api"
    write_tool_set(folder, TOOLS, CASES)
    before = (folder / "cases.jsonl").read_bytes()
    with serving(StandIn(answer=answer)) as server:
        words = ("cases", folder, "--generate", "9", "--model", "m", "--base-url", server.url)
        assert command(*words, "--max-requests", "2", "--concurrency", "1") == 1
        assert (folder / "cases.jsonl").read_bytes() == before
        assert command(*words) == 0 and len(server.bodies) == len(TOOLS)
        note = capsys.readouterr().err.splitlines()[-1]
        assert command(*words) == 0 and len(server.bodies) == len(TOOLS)  # nothing is asked twice
    shown = [json.loads(body["messages"][1]["content"]) for body in server.bodies]
    of_book = next(content for content in shown if content["tool"]["name"] == "book")
    assert of_book["number of cases"] == 9
    assert {tool["name"] for tool in of_book["others"]} == {"weather", "ping"}
    for part in ("duplicates 1", "unread answers 1", "left out 6", "known already 1"):
        assert part in note, note
    new = [case for case in read_tool_set(folder).cases if case.unreviewed]
    assert [(case.messages[0]["content"], case.expect) for case in new] == [
        ("A table for three", (ExpectedCall("book", {"people": 3}),)),
        ("For nine", (ExpectedCall("book", {"people": 9}),)),
        ("Is it dry on the terrace in Rome?", (ExpectedCall("weather", {"city": "Rome"}),)),
        ("Oslo?", (ExpectedCall("weather", {"city": "Oslo"}),)),
    ]
    assert new[2].id.startswith("book-near-")
    table = folder / "review" / "review.tsv"
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(line for line in lines if "For nine" not in line))
    assert command("cases", folder, "--review", table) == 0
    cases = read_tool_set(folder).cases
    assert [case.id for case in cases[4:]] == [new[i].id for i in (0, 2, 3)]
    assert not any(case.unreviewed for case in cases)
    with serving(StandIn(answer=answer)) as server:  # what was struck out does not come back
        assert command(*words[:-1], server.url) == 0
    assert "struck out before 1" in capsys.readouterr().err.splitlines()[-1]
    assert read_tool_set(folder).cases == cases


@pytest.mark.parametrize(
    "options",
    [["--generate", "2"], ["--model", "m"], ["--generate", "0", "--model", "m"], []],
)
def test_options_that_do_not_go_together(options: list[str], tmp_path: Path) -> None:
    write_tool_set(tmp_path / "api", TOOLS)
    assert command("cases", tmp_path / "api", *options) == 2


def test_no_case_at_all_is_an_error(tmp_path: Path, capsys: Capture) -> None:
    write_tool_set(tmp_path / "api", TOOLS[2:])
    with serving(StandIn(answer=answer)) as server:
        words = ("--generate", "2", "--model", "m", "--base-url", server.url)
        assert command("cases", tmp_path / "api", *words) == 2
    assert "unread answers 1" in capsys.readouterr().err
