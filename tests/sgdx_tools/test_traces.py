"""Cases of logs in OpenAI's form and of OpenTelemetry's spans, and their review."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgdx_tools import score
from sgdx_tools.__main__ import main
from sgdx_tools.data import Case, ExpectedCall
from sgdx_tools.folder import read_tool_set

from ..sgdx_llm.server import call_completion, completion
from .conftest import Rows, call, rows, user


def line(text: str, response: Any, **more: Any) -> str:
    request = {"model": "m", "messages": [user(text)]}
    return json.dumps({"request": request, "response": response, **more})


BOOKED = call_completion("book", '{"people": 3}')
TEXT = completion({"role": "assistant", "content": "Bye."}, "stop")
ROME = {"city": "Rome"}
RAIN = {"type": "tool_call_response", "id": "1", "result": "rain"}
# As a collector writes it: messages as text, or in the structure of OTLP.
SPAN = {
    "gen_ai.operation.name": "chat",
    "gen_ai.conversation.id": "talk",
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be kind."}]),
    "gen_ai.input.messages": json.dumps(
        [
            {"role": "user", "parts": [{"type": "text", "content": "Rain in Rome?"}]},
            {
                "role": "assistant",
                "parts": [
                    {
                        "type": "tool_call",
                        "id": "1",
                        "name": "weather",
                        "arguments": {"city": "Rome"},
                    }
                ],
            },
            {
                "role": "tool",
                "parts": [{"type": "tool_call_response", "id": "1", "result": "rain"}],
            },
        ]
    ),
    "gen_ai.output.messages": json.dumps(
        [{"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]}]
    ),
}


def otlp(*spans: dict[str, str]) -> str:
    def values(span: dict[str, str]) -> list[dict[str, Any]]:
        return [{"key": key, "value": {"stringValue": value}} for key, value in span.items()]

    listed = [{"name": "chat m", "attributes": values(span)} for span in spans]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": listed}]}]}, indent=1)


def added(folder: Path, *files: str) -> list[Case]:
    """The cases that are new, of the files' contents."""
    before = {case.id for case in read_tool_set(folder).all_cases}
    paths = []
    for i, content in enumerate(files):
        paths.append(folder.parent / f"log{i}.jsonl")
        paths[-1].write_text(content)
    assert main(["cases", str(folder), "--from", *map(str, paths)]) == 0
    return [case for case in read_tool_set(folder).all_cases if case.id not in before]


def test_logs_become_unreviewed_cases(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = {
        "custom_id": "seven",
        "body": {"messages": [{"role": "user", "content": [{"type": "text", "text": "Seven"}]}]},
        "response": {"status_code": 200, "body": call_completion("book", '{"people": 7}')},
    }
    log = [
        line("For three", BOOKED, custom_id="three"),
        line("For three", BOOKED, custom_id="again"),  # the same conversation
        line("Bye", TEXT),
        json.dumps(batch),
        line("Four in Rome", BOOKED),  # the conversation of a case that the folder has
        line("?", call_completion("dance", "{}")),
        line("!", call_completion("book", '{"people": "many"}')),
        line("x", {"error": "busy"}),
        json.dumps({"hello": "world"}),
    ]
    three, bye, seven = added(folder, "\n".join(log))
    assert three == Case(
        "three", (user("For three"),), (ExpectedCall("book", {"people": 3}),), unreviewed=True
    )
    assert bye.expect is None and bye.id.startswith("log0-") and bye.unreviewed
    assert (seven.id, seven.messages) == ("seven", (user("Seven"),))
    notes = [n for n in capsys.readouterr().err.splitlines() if n.startswith("note: left out: ")]
    assert [note.split("log0.jsonl:")[1][0] for note in notes] == ["6", "7", "8", "9"]


def test_spans_become_cases_of_their_conversation(folder: Path) -> None:
    structured: dict[str, Any] = {
        key: {"stringValue": value}
        for key, value in SPAN.items()
        if key not in ("gen_ai.input.messages", "gen_ai.conversation.id")
    }
    part = {"type": {"stringValue": "text"}, "content": {"stringValue": "And in Bonn?"}}

    def keyed(of: dict[str, Any]) -> dict[str, Any]:
        return {"kvlistValue": {"values": [{"key": k, "value": v} for k, v in of.items()]}}

    message = {"role": {"stringValue": "user"}, "parts": {"arrayValue": {"values": [keyed(part)]}}}
    structured["gen_ai.input.messages"] = {"arrayValue": {"values": [keyed(message)]}}
    span = {"attributes": [{"key": k, "value": v} for k, v in structured.items()]}
    other = {"attributes": {"http.method": "GET"}}
    first, second = added(folder, otlp(SPAN), json.dumps(span) + "\n" + json.dumps(other))
    assert first.dialogue == "talk" and second.dialogue == ""
    assert [message["role"] for message in first.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert json.loads(first.messages[2]["tool_calls"][0]["function"]["arguments"]) == {
        "city": "Rome"
    }
    assert first.messages[3] == {"role": "tool", "tool_call_id": "1", "content": "rain"}
    assert second.messages[1] == user("And in Bonn?")


def test_reviewed_cases_stay_and_others_go(
    folder: Path, write_rows: Callable[[Rows], Path]
) -> None:
    added(folder, "\n".join([line("A", BOOKED, custom_id="=a"), line("B", TEXT, custom_id="x")]))
    extra: Rows = [{"id": "=a", "variant": name, "calls": []} for name in ("original", "v1", "v2")]
    extra += [row | {"id": "x"} for row in extra]
    assert score(folder, [*rows(), *extra])["cases"]["unreviewed"] == 2
    table = folder / "review" / "review.tsv"
    page = (folder / "review" / "review.html").read_text()
    assert "user: A" in page and "book({&quot;people&quot;: 3})" in page
    table.write_text("\n".join(row for row in table.read_text().splitlines() if row[:2] != "x\t"))
    assert main(["cases", str(folder), "--review", str(table)]) == 0
    cases = read_tool_set(folder).all_cases
    assert [(case.id, case.unreviewed) for case in cases][-2:] == [("d", False), ("=a", False)]
    kept = [row for row in [*rows(), *extra] if row["id"] != "x"]
    assert "unreviewed" not in score(folder, kept)["cases"]


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ([], ["--from", "--review"]),
        (["--from", "log"], ["log:1", "JSON"]),
        (["--review", "table"], ["table:1", "columns"]),
    ],
)
def test_faults(
    folder: Path, words: list[str], facts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in {"log": "{\n", "table": "a\tb\n"}.items():
        (folder.parent / name).write_text(content)
    words = [str(folder.parent / w) if w in ("log", "table") else w for w in words]
    before = (folder / "cases.jsonl").read_bytes()
    assert main(["cases", str(folder), *words]) == 2
    error = capsys.readouterr().err
    assert all(fact in error for fact in facts), error
    assert (folder / "cases.jsonl").read_bytes() == before


def test_hostile_traces_are_left_out(folder: Path) -> None:
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
    hostile = [
        {"request": {"messages": [image]}, "response": TEXT},
        {"request": {"messages": 5}, "response": TEXT},
        {"request": [], "response": []},
        {"attributes": {"gen_ai.input.messages": "[", "gen_ai.output.messages": "[]"}},
        {"attributes": {"gen_ai.input.messages": "[]", "gen_ai.output.messages": "[]"}},
        {"resourceSpans": 7},
    ]
    assert added(folder, "\n".join(map(json.dumps, hostile))) == []


def test_a_call_of_a_trace_is_a_case_that_is_scored(folder: Path) -> None:
    (case,) = added(folder, line("For three", BOOKED))
    made = [
        {"id": case.id, "variant": "original", "calls": call("book", people=3)},
        *(row for row in rows() if row["variant"] == "original"),
    ]
    assert score(folder, made)["calls"]["call_accuracy"]["original"] == 1.0
