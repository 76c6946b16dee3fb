"""Cases of logs, of spans in the forms that programs write, and by a model, and their review."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sgdx_dataset.io.files import locked
from sgdx_tools import score
from sgdx_tools.data import Case, ExpectedCall, Tool, ToolWords, Variant, Words
from sgdx_tools.folder import read_project, write_project

from ..sgdx_llm.server import StandIn, call_completion, completion, serving
from .conftest import CASES, TOOLS, Capture, Rows, call, command, objects, rows, user, write_lines

Json = Any
BOOKED = call_completion("book", '{"people": 3}')
TEXT = completion({"role": "assistant", "content": "Bye."}, "stop")


def asked(text: str, response: Json, **more: Json) -> Json:
    request = {"model": "m", "messages": [user(text)]}
    return {"request": request, "response": response, **more}


def added(folder: Path, *records: Json) -> list[Case]:
    """The cases that are new, of a log of these records."""
    before = {case.id for case in read_project(folder).all_cases}
    log = folder.parent / "log.jsonl"
    log.write_text("\n".join(json.dumps(record) for record in records))
    assert command("cases", folder, "--from", log) == 0
    return [case for case in read_project(folder).all_cases if case.id not in before]


def left_out(error: str) -> list[int]:
    """The lines of a log that the notes say are left out."""
    notes = [line for line in error.splitlines() if line.startswith("note: left out: ")]
    return [int(note.split("log.jsonl:")[1].split(":")[0]) for note in notes]


def test_logs_become_unreviewed_cases(folder: Path, capsys: Capture) -> None:
    """Same messages with other calls are two cases; a person's case of these messages stays."""
    seven = [{"role": "user", "content": [{"type": "text", "text": "Seven"}]}]
    written = {"role": "assistant", "content": '{"name": "ping", "arguments": {}}'}
    log = [
        asked("For three", BOOKED, custom_id="three"),
        asked("For three", BOOKED, custom_id="again"),  # the same conversation
        asked("For three", call_completion("book", '{"people": 4}')),
        asked("For three", completion(written, "stop")),
        asked("Bye", TEXT),
        {
            "custom_id": "seven",
            "body": {"messages": seven},
            "response": {"status_code": 200, "body": call_completion("book", '{"people": 7}')},
        },
        asked("Four in Rome", BOOKED),  # the conversation of a case that the folder has
        asked("?", call_completion("dance", "{}")),
        asked("!", call_completion("book", '{"people": "many"}')),
        asked("x", {"error": "busy"}),
        {"hello": "world"},
    ]
    three, four, bye, of_batch = added(folder, *log)
    expect = (ExpectedCall("book", {"people": 3}),)
    assert three == Case("three", (user("For three"),), expect, unreviewed=True)
    assert four.expect == (ExpectedCall("book", {"people": 4}),)
    assert len({three.id, four.id}) == 2
    assert bye.expect is None and bye.id.startswith("log-") and bye.unreviewed
    assert (of_batch.id, of_batch.messages) == ("seven", (user("Seven"),))
    error = capsys.readouterr().err
    assert left_out(error) == [4, 8, 9, 10, 11]
    said = ["new cases 4", "known already 2", "left out 5"]
    assert {*said} <= {*error.split("read: ")[1].splitlines()[0].split(", ")}


def test_a_review_drops_what_is_struck_out_and_is_never_lost(folder: Path, capsys: Capture) -> None:
    """Neither by cases that come later, nor are those by a table that is older."""
    added(folder, asked("A", BOOKED, custom_id="=a"), asked("B", TEXT, custom_id="x"))
    extra: Rows = [{"id": "=a", "variant": name, "calls": []} for name in ("original", "v1", "v2")]
    extra += [row | {"id": "x"} for row in extra]
    assert score(folder, [*rows(), *extra]).counts["cases"]["unreviewed"] == 2
    table, log = folder / "review" / "review.tsv", folder.parent / "log.jsonl"
    page = (folder / "review" / "review.html").read_text()
    assert "user: A" in page and "book({&quot;people&quot;: 3})" in page
    struck = "\n".join(row for row in table.read_text().splitlines() if row[:2] != "x\t")
    table.write_text(struck)
    write_lines(log, [asked("C", BOOKED, custom_id="c1")])
    cases = (folder / "cases.jsonl").read_bytes()
    assert command("cases", folder, "--from", log) == 2
    assert "--review" in capsys.readouterr().err
    assert table.read_text() == struck and (folder / "cases.jsonl").read_bytes() == cases
    assert command("cases", folder, "--review", table) == 0
    assert capsys.readouterr().out == "5 cases\n"
    found = [(case.id, case.unreviewed) for case in read_project(folder).all_cases]
    assert found[-2:] == [("d", False), ("=a", False)]
    kept = [row for row in [*rows(), *extra] if row["id"] != "x"]
    assert "unreviewed" not in score(folder, kept).counts["cases"]
    assert command("cases", folder, "--from", log) == 0
    older = folder.parent / "older.tsv"
    older.write_text(struck)
    assert command("cases", folder, "--review", older) == 2
    assert "c1" in {case.id for case in read_project(folder).all_cases}
    table.write_text(table.read_text().splitlines()[0])  # all are struck out
    assert command("cases", folder, "--review", table) == 0
    assert "c1" not in {case.id for case in read_project(folder).all_cases}


def test_what_is_mended_in_the_table_is_refused_and_in_the_cases_kept(
    folder: Path, capsys: Capture
) -> None:
    """An id may have a carriage return, and a program for tables may break lines in its way."""
    added(folder, asked("A", BOOKED, custom_id="a\rb"), asked("B", BOOKED, custom_id="c"))
    table, cases = folder / "review" / "review.tsv", folder / "cases.jsonl"
    mended = folder.parent / "mended.tsv"
    mended.write_bytes(table.read_bytes().replace(b": 3", b": 4", 1))
    before = cases.read_bytes()
    assert command("cases", folder, "--review", mended) == 2
    error = capsys.readouterr().err
    assert all(part in error for part in ("mended.tsv", "cases.jsonl", ": 4"))
    assert cases.read_bytes() == before
    cases.write_bytes(before.replace(b'"people":3', b'"people":5'))
    mended.write_bytes(table.read_bytes().replace(b"user: A", b"user: A\r\n"))
    assert command("cases", folder, "--review", mended) == 0
    assert cases.read_bytes().count(b'"people":5') == before.count(b'"people":3') > 1
    assert not any(case.unreviewed for case in read_project(folder).all_cases)


def test_while_another_process_adds_cases_none_is_lost(folder: Path) -> None:
    log = write_lines(folder.parent / "log.jsonl", [asked("A", BOOKED, custom_id="a1")])
    before = (folder / "cases.jsonl").read_bytes()
    with locked(folder):
        assert command("cases", folder, "--from", log) == 2
    assert (folder / "cases.jsonl").read_bytes() == before
    assert command("cases", folder, "--from", log) == 0
    assert "a1" in {case.id for case in read_project(folder).all_cases}


# An argument whose own parts are called as the alternatives of an expected value are.
ALTERNATIVES = objects(any_of={"type": "array"}, absent={"type": "boolean"})


def test_arguments_that_are_called_as_alternatives_are(tmp_path: Path) -> None:
    """A log says what was called; the case of it is right where the same is called again."""
    tools = [Tool("search", "", objects(filter=ALTERNATIVES)), Tool("all", "", ALTERNATIVES)]
    new = Variant("v1", {"search": ToolWords(parameters={"filter.any_of": Words("either")})})
    write_project(tmp_path / "api", tools, variants=[new])
    made: list[tuple[str, Json]] = [
        ("search", {"filter": {"any_of": [{"any_of": ["red"]}, "blue"]}}),
        ("search", {"filter": {"absent": True}}),
        ("all", {"any_of": ["red", {"absent": True}]}),
        ("all", {"absent": True}),
        ("all", {"any_of": [], "absent": True}),
    ]
    log = [asked(str(i), call_completion(n, json.dumps(a))) for i, (n, a) in enumerate(made)]
    cases = added(tmp_path / "api", *log)
    rows = [
        {"id": case.id, "variant": "original", "calls": call(name, **arguments)}
        for case, (name, arguments) in zip(cases, made, strict=True)
    ]
    worded = [row | {"variant": "v1"} for row in rows]
    worded[0]["calls"] = call("search", filter={"either": [{"any_of": ["red"]}, "blue"]})
    for rules in ("exact", "fuzzy"):
        found = score(tmp_path / "api", [*rows, *worded], rules=rules)
        assert (found["call_orig"], found["call_v1"]) == (1.0, 1.0)
    wrong = [row | {"calls": call("search", filter={})} for row in rows]
    assert score(tmp_path / "api", wrong)["call_orig"] == 0.0


def test_an_alternative_may_be_a_list(tmp_path: Path) -> None:
    write_project(tmp_path / "api", [Tool("search", "", objects(filter=ALTERNATIVES))])
    plain = call("search", filter={"any_of": [{"any_of": [1, 2]}]})
    case = {"id": "a", "messages": [user("?")], "expect": plain}
    write_lines(tmp_path / "api" / "cases.jsonl", [case])
    for value, right in (([1, 2], 1.0), ([2], 0.0)):
        row = {"id": "a", "variant": "original", "calls": call("search", filter={"any_of": value})}
        assert score(tmp_path / "api", [row])["call_orig"] == right


# What a model writes of each tool: what can be used and what is near; what is said twice, what the
# schema refuses, what the folder has already; and what is near to a tool that there is not.
WRITTEN: Json = json.loads(Path(__file__).with_name("written_cases.json").read_text())


def answer(body: Json) -> Json:
    name = json.loads(body["messages"][1]["content"])["tool"]["name"]
    if name not in WRITTEN:
        return completion({"role": "assistant", "content": "No idea."}, "stop")
    return call_completion("write_cases", json.dumps(WRITTEN[name]))


def asks(folder: Path, url: str, **keys: object) -> Path:
    """A file beside a folder of tools by which a model is asked about them."""
    file = folder.parent / "sgdx.yaml"
    model = {"model": "m", "base_url": url, **keys}
    file.write_text(json.dumps({"tools": str(folder), "models": [model]}))
    return file


def test_a_model_writes_cases_that_a_person_reviews(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "api"
    write_project(folder, TOOLS, CASES)
    before = (folder / "cases.jsonl").read_bytes()
    with serving(StandIn(answer=answer)) as server:
        few = {"max_requests": 2, "concurrency": 1}
        assert command("cases", asks(folder, server.url, **few), "--generate", "9") == 1
        words = ("cases", asks(folder, server.url), "--generate", "9")
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
    new = [case for case in read_project(folder).cases if case.unreviewed]
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
    cases = read_project(folder).cases
    assert [case.id for case in cases[4:]] == [new[i].id for i in (0, 2, 3)]
    assert not any(case.unreviewed for case in cases)
    with serving(StandIn(answer=answer)) as server:  # what was struck out does not come back
        assert command("cases", asks(folder, server.url), "--generate", "9") == 0
    assert "struck out before 1" in capsys.readouterr().err.splitlines()[-1]
    assert read_project(folder).cases == cases


def test_no_case_at_all_is_an_error(tmp_path: Path, capsys: Capture) -> None:
    write_project(tmp_path / "api", TOOLS[2:])
    with serving(StandIn(answer=answer)) as server:
        words = ("cases", asks(tmp_path / "api", server.url), "--generate", "2")
        assert command(*words) == 2
    assert "unread answers 1" in capsys.readouterr().err
