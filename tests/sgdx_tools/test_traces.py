"""Cases of logs in OpenAI's form and of OpenTelemetry's spans, and their review."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_tools import score
from sgdx_tools.__main__ import main
from sgdx_tools.data import Case, ExpectedCall, Tool, ToolWords, Variant, Words
from sgdx_tools.folder import read_tool_set, write_tool_set, write_variant

from ..sgdx_llm.server import call_completion, completion
from .conftest import Rows, call, objects, rows, user


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
                "parts": [{"type": "tool_call", "id": "1", "name": "weather", "arguments": ROME}],
            },
            {"role": "tool", "parts": [RAIN]},
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
    system, asked, called, result = first.messages
    assert (system["role"], asked["content"]) == ("system", "Rain in Rome?")
    assert json.loads(called["tool_calls"][0]["function"]["arguments"]) == ROME
    assert result == {"role": "tool", "tool_call_id": "1", "content": "rain"}
    assert second.messages[1] == user("And in Bonn?")


def test_reviewed_cases_stay_and_others_go(
    folder: Path, capsys: pytest.CaptureFixture[str]
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
    assert capsys.readouterr().out.endswith("\n5 cases\n")
    cases = read_tool_set(folder).all_cases
    assert [(case.id, case.unreviewed) for case in cases][-2:] == [("d", False), ("=a", False)]
    kept = [row for row in [*rows(), *extra] if row["id"] != "x"]
    assert "unreviewed" not in score(folder, kept)["cases"]


def test_a_review_is_never_lost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither by cases that come later, nor are those by a table that is older."""
    added(folder, "\n".join([line("A", BOOKED, custom_id="a1"), line("B", TEXT, custom_id="b1")]))
    table, log = folder / "review" / "review.tsv", folder.parent / "log0.jsonl"
    whole = table.read_text()
    struck = "\n".join(row for row in whole.splitlines() if row[:3] != "b1\t")
    table.write_text(struck)
    log.write_text(line("C", BOOKED, custom_id="c1"))
    cases = (folder / "cases.jsonl").read_bytes()
    assert main(["cases", str(folder), "--from", str(log)]) == 2
    assert "--review" in capsys.readouterr().err
    assert table.read_text() == struck and (folder / "cases.jsonl").read_bytes() == cases
    table.write_text(whole)
    assert main(["cases", str(folder), "--from", str(log)]) == 0
    older = folder.parent / "older.tsv"
    older.write_text(struck)
    assert main(["cases", str(folder), "--review", str(older)]) == 2
    assert {"b1", "c1"} <= {case.id for case in read_tool_set(folder).all_cases}
    table.write_text(table.read_text().splitlines()[0])  # all are struck out
    assert main(["cases", str(folder), "--review", str(table)]) == 0
    assert not any(case.unreviewed for case in read_tool_set(folder).all_cases)


def test_several_at_once_lose_no_case(folder: Path) -> None:
    """Each adds its cases, or says that another one is writing and adds none."""
    processes = []
    for i in range(3):
        log = folder.parent / f"at-once-{i}.jsonl"
        log.write_text("\n".join(line(f"{i} {n}", BOOKED, custom_id=f"{i}-{n}") for n in range(9)))
        command = [sys.executable, "-m", "sgdx_tools", "cases", str(folder), "--from", str(log)]
        processes.append(subprocess.Popen(command, stderr=subprocess.PIPE))
    ended = [process.wait() for process in processes]
    ids = {case.id for case in read_tool_set(folder).all_cases}
    for i, status in enumerate(ended):
        assert status in (0, 2)
        assert sum(name.startswith(f"{i}-") for name in ids) == (0 if status else 9)


@pytest.mark.parametrize(
    ("words", "content", "facts"),
    [
        ([], "", ["--from", "--review"]),
        (["--from", "FILE"], "{\n", ["file:1", "JSON"]),
        (["--from", "FILE"], "", ["file", "empty"]),
        (["--review", "FILE"], "a\tb\n", ["file:1", "columns"]),
        # Spans that hold no messages are named.
        (
            ["--from", "FILE"],
            '{"name": "chat m", "attributes": {"gen_ai.operation.name": "chat"}}',
            ["'chat m' without content"],
        ),
        (["--from", "FILE"], '{"attributes": {"http.method": "GET"}}', ["other spans 1"]),
    ],
)
def test_faults(
    folder: Path,
    words: list[str],
    content: str,
    facts: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = folder.parent / "file"
    file.write_text(content)
    before = (folder / "cases.jsonl").read_bytes()
    assert main(["cases", str(folder), *(word.replace("FILE", str(file)) for word in words)]) == 2
    error = capsys.readouterr().err
    assert all(fact in error for fact in facts), error
    assert (folder / "cases.jsonl").read_bytes() == before


def test_hostile_traces_are_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
    hostile = [
        {"request": {"messages": [image]}, "response": TEXT},
        {"request": {"messages": 5}, "response": TEXT},
        {"request": [], "response": []},
        {"attributes": {"gen_ai.input.messages": "[", "gen_ai.output.messages": "[]"}},
        {"attributes": {"gen_ai.input.messages": "[]", "gen_ai.output.messages": "[]"}},
        {"resourceSpans": 7},
        None,
        5,
    ]
    path = folder.parent / "hostile.jsonl"
    path.write_text("\n".join(map(json.dumps, hostile)))
    assert main(["cases", str(folder), "--from", str(path)]) == 2
    assert f"left out {len(hostile)}" in capsys.readouterr().err
    good = json.loads(line("A", BOOKED))
    assert len(added(folder, "\n".join(map(json.dumps, [*hostile, good])))) == 1
    notes = [n for n in capsys.readouterr().err.splitlines() if "left out: " in n]
    assert [note.split("log0.jsonl:")[1][0] for note in notes] == list("12345678")
    assert "'messages'" not in "".join(notes)


ASKED = [user("Rain in Rome?")]
EXPECTED = (ExpectedCall("weather", {"city": "Rome"}),)
SAID = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
FUNCTION = {"name": "weather", "arguments": json.dumps(ROME)}
_OI = "llm.output_messages.0.message.tool_calls.0.tool_call."
_CONTENT = "llm.input_messages.0.message.contents.0.message_content."
ON_EVENT = {
    "gen_ai.input.messages": [
        {"role": "user", "parts": [{"type": "text", "content": "Rain in Rome?"}]}
    ],
    "gen_ai.output.messages": [
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", **FUNCTION, "arguments": ROME}],
        }
    ],
}
CHOICE = {
    "finish_reason": "tool_calls",
    "message": json.dumps({"tool_calls": [{"id": "1", "type": "function", "function": FUNCTION}]}),
}
RECORDS: dict[str, Any] = {
    "openllmetry": {
        "attributes": {
            "gen_ai.system": "openai",
            "llm.request.type": "chat",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "Rain in Rome?",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.finish_reason": "tool_calls",
            "gen_ai.completion.0.tool_calls.0.id": "1",
            **{f"gen_ai.completion.0.tool_calls.0.{key}": FUNCTION[key] for key in FUNCTION},
        }
    },
    "openinference": {
        "attributes": {
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message.role": "user",
            f"{_CONTENT}type": "text",
            f"{_CONTENT}text": "Rain in Rome?",
            "llm.output_messages.0.message.role": "assistant",
            f"{_OI}id": "1",
            **{f"{_OI}function.{key}": FUNCTION[key] for key in FUNCTION},
        }
    },
    "event": {
        "name": "chat m",
        "attributes": SAID,
        "events": [{"name": "gen_ai.client.inference.operation.details", "attributes": ON_EVENT}],
    },
    "events": {
        "name": "chat m",
        "attributes": SAID,
        "events": [
            {"name": "gen_ai.user.message", "attributes": {"content": "Rain in Rome?"}},
            {"name": "gen_ai.choice", "attributes": CHOICE},
        ],
    },
}


@pytest.mark.parametrize("form", RECORDS)
def test_logs_of_other_forms(folder: Path, form: str) -> None:
    other = {"name": "GET", "attributes": {"http.method": "GET"}}
    # Lines, and indented one after the other, as a console shows spans.
    record = RECORDS[form]
    (case,) = added(folder, "\n".join(json.dumps(one, indent=4) for one in (other, record)))
    assert (list(case.messages), case.expect) == (ASKED, EXPECTED)
    assert added(folder, json.dumps(record)) == []


def test_same_messages_with_other_calls_are_two_cases(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = call_completion("book", '{"people": 4}')
    text = completion({"role": "assistant", "content": '{"name": "ping", "arguments": {}}'}, "stop")
    log = [line("For three", answer) for answer in (BOOKED, other, BOOKED, text)]
    first, second, third = added(folder, "\n".join(log))
    assert first.expect == (ExpectedCall("book", {"people": 3}),)
    assert second.expect == (ExpectedCall("book", {"people": 4}),)
    assert third.expect is None and len({first.id, second.id, third.id}) == 3
    said = "new cases 3, known already 1, texts that look like calls 1"
    assert set(said.split(", ")) <= set(
        capsys.readouterr().err.split("read: ")[1].strip().split(", ")
    )


def test_arguments_that_are_called_as_alternatives_are(
    tmp_path: Path, write_rows: Callable[[Rows], Path]
) -> None:
    """A log says what was called; the case of it is right where the same is called again."""
    schema = objects(filter=objects(any_of={"type": "array"}, absent={"type": "boolean"}))
    whole = objects(any_of={"type": "array"}, absent={"type": "boolean"})
    write_tool_set(tmp_path / "api", [Tool("search", "", schema), Tool("all", "", whole)])
    made: list[tuple[str, Any]] = [
        ("search", {"filter": {"any_of": [{"any_of": ["red"]}, "blue"]}}),
        ("search", {"filter": {"absent": True}}),
        ("all", {"any_of": ["red", {"absent": True}]}),
        ("all", {"absent": True}),
        ("all", {"any_of": [], "absent": True}),
    ]
    log = [line(str(i), call_completion(n, json.dumps(a))) for i, (n, a) in enumerate(made)]
    cases = added(tmp_path / "api", "\n".join(log))
    new = Variant("v1", {"search": ToolWords(parameters={"filter.any_of": Words("either")})})
    write_variant(tmp_path / "api" / "variants" / "v1.json", new)
    predictions = [
        {"id": case.id, "variant": "original", "calls": [{"name": name, "arguments": arguments}]}
        for case, (name, arguments) in zip(cases, made)
    ]
    worded = [row | {"variant": "v1"} for row in predictions]
    worded[0] = worded[0] | {
        "calls": call("search", filter={"either": [{"any_of": ["red"]}, "blue"]})
    }
    for rules in ("exact", "fuzzy"):
        found = score(tmp_path / "api", [*predictions, *worded], rules=rules)
        assert found["calls"]["call_accuracy"]["by_variant"] == {"original": 1.0, "v1": 1.0}
    wrong = [row | {"calls": call("search", filter={})} for row in predictions]
    assert score(tmp_path / "api", wrong)["calls"]["call_accuracy"]["original"] == 0.0


@pytest.mark.parametrize(
    "arguments", [{"any_of": [{"tag": "red"}, {"tag": "blue"}]}, {"absent": True}]
)
def test_an_expected_value_with_two_meanings_is_refused(tmp_path: Path, arguments: Any) -> None:
    schema = objects(filter=objects(any_of={"type": "array"}, absent={"type": "boolean"}))
    write_tool_set(tmp_path / "api", [Tool("search", "", schema)])
    cases = tmp_path / "api" / "cases.jsonl"
    expect = {"name": "search", "arguments": {"filter": arguments}}
    cases.write_text(json.dumps({"id": "a", "messages": ASKED, "expect": [expect]}))
    with pytest.raises(SgdxError, match="cases.jsonl:1"):
        read_tool_set(tmp_path / "api")
    expect["arguments"] = {"filter": {"any_of": [{"any_of": [1, 2]}]}}
    cases.write_text(json.dumps({"id": "a", "messages": ASKED, "expect": [expect]}))
    row = {"id": "a", "variant": "original", "calls": call("search", filter={"any_of": [1, 2]})}
    assert score(tmp_path / "api", [row])["calls"]["call_accuracy"]["original"] == 1.0
    row["calls"] = call("search", filter={"any_of": [2]})
    assert score(tmp_path / "api", [row])["calls"]["call_accuracy"]["original"] == 0.0
