"""What each part of the words earns, what a crowd costs, and cases of several steps."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sgdx_eval.result import read_result
from sgdx_tools.data import Json, Tool
from sgdx_tools.rewording import without_variants
from sgdx_tools.steps import made_of

from ..sgdx_llm.server import StandIn, call_completion, serving
from .conftest import Capture, command, objects, read_lines, user, write_lines
from .test_report import data_of

# A program that reads: it calls the first tool whose description has a long word of what is said,
# with the number in it if the schema has an argument for one.
READER = """
import json, re, sys
for line in sys.stdin:
    request = json.loads(line)
    said = request["case"]["messages"][0]["content"].lower()
    calls = []
    for tool in request["case"]["tools"]:
        if any(word in said for word in re.findall(r"\\w{5,}", tool["description"].lower())):
            names = tool["parameters"]["properties"]
            number = re.search(r"\\d+", said)
            wanted = [n for n, of in names.items() if of.get("type") == "integer"]
            calls = [{"name": tool["name"], "arguments": {n: int(number[0]) for n in wanted}}]
            break
    print(json.dumps({"custom_id": request["custom_id"], "calls": calls}))
"""
BOOK = "Book a table. Use it for dinner, e.g. tonight. It is fast, i.e. quick.\nCall it once."
TOOLS = [
    Tool("book", BOOK, objects(people={"type": "integer", "description": "How many (e.g. 4)"})),
    Tool("find", "Find it.", objects(["city"], city={"examples": ["Rome"]}, near=objects(x={}))),
]


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two tools, sixty cases of one of them, and the program that reads."""
    monkeypatch.chdir(tmp_path)
    records = [{"name": t.name, "description": t.description, "inputSchema": t.parameters}
               for t in TOOLS]  # fmt: skip
    Path("tools.json").write_text(json.dumps({"tools": records}))
    Path("reader.py").write_text(READER)
    expected = [{"name": "book", "arguments": {"people": 2}}]
    write_lines(
        Path("cases.jsonl"),
        [
            {"id": f"c{i}", "messages": [user("Dinner for 2")], "expect": expected}
            for i in range(60)
        ],
    )
    return tmp_path


def counts_of(variants: str, more: str = "", program: str = "reader.py") -> Json:
    """What scores.json says in its counts, of a test with such variants."""
    models = f'models: [{{command: "{sys.executable} {program}"}}]'
    Path("sgdx.yaml").write_text(f"tools: tools.json\n{models}\nvariants: {variants}\n{more}\n")
    assert command("test") == 0
    return read_result(Path(f"sgdx-run/runs/{Path(program).stem}")).result.counts


# By what is left out, of which tool and part it is, and the text.
LEFT_OUT: Json = json.loads(Path(__file__).with_name("left_out_parts.json").read_text())


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_a_part_earns_is_the_loss_without_it(what: str, reads: Path, capsys: Capture) -> None:
    rows = counts_of(f"{{without: {what}}}", "gate: {max_drop: 40}")["earned"]
    assert sorted([r["tool"], r["path"], r["text"]] for r in rows) == sorted(LEFT_OUT[what])
    needed = {"sentences": "Use it for dinner, e.g. tonight.", "parameters": "How many (e.g. 4)"}
    for row in rows:
        assert row["tokens"] > 0 and row["low"] <= row["loss"] <= row["high"]
        is_needed = row["text"] == needed.get(what)
        assert (row["loss"] == 100) == (row["low"] > 80) == is_needed
        of_case = "earns" if is_needed else "can go"
        assert row["is"] == ("no case" if row["tool"] == "find" else of_case)
    assert len(data_of(Path("sgdx-run/report.html"))["models"][0]["earned"]) == len(rows)
    assert command("score") == 0
    shown = capsys.readouterr().out
    gone = [row["tokens"] for row in rows if row["is"] == "can go"]
    assert f"{len(gone)} of {len(rows)}" in shown and f"{sum(gone)} tokens" in shown


def test_a_part_that_others_refer_to_stays() -> None:
    schema = objects(a={"type": "string"}, b={"$ref": "#/properties/a"})
    names = [v.name for v in without_variants({"t": Tool("t", "", schema)}, "parameters")]
    assert names == ["without.t.b"]


def test_a_crowd_is_shown_beside_all_and_the_neighbour_that_takes_most_is_named(
    reads: Path, capsys: Capture
) -> None:
    """Some cases have tools of their own; the neighbour with a planted word takes all of them."""
    lines = read_lines(Path("cases.jsonl"))
    write_lines(Path("cases.jsonl"), [x | {"tools": ["book"]} for x in lines[:30]] + lines[30:])
    crowd = [Tool(name, text, objects()) for name, text in
             [("book", "Other"), ("meal", "For dinner"), ("far", "For dinner too")]]  # fmt: skip
    records = [{"name": t.name, "description": t.description, "inputSchema": {}} for t in crowd]
    Path("crowd.json").write_text(json.dumps(records))
    counts = counts_of("{crowd: crowd.json, sizes: [1, 3]}")
    assert counts["neighbours"] == {"crowd1": {}, "crowd3": {"meal#crowd": 60}}
    assert command("score") == 0
    assert "meal takes the most calls: 60" in " ".join(capsys.readouterr().out.split())
    result = read_result(Path("sgdx-run/runs/reader")).result
    assert [result[f"right_{name}"] for name in ("orig", "crowd1", "crowd3")] == [1, 1, 0]


# A program that looks first, then stages, then commits; a few commit at once, one never does.
AGENT = """
import json, re, sys
for line in sys.stdin:
    request = json.loads(line)
    messages, n = request["case"]["messages"], int(request["custom_id"].split("|")[1])
    look, stage, commit = (tool["name"] for tool in request["case"]["tools"])
    results = [json.loads(m["content"]) for m in messages if m["role"] == "tool" and n < 6]
    asked = [m["tool_calls"][0]["function"]["name"] for m in messages if m["role"] == "assistant"]
    calls = [{"name": look, "arguments": {}}]
    if look in asked and n != 9:
        (files,) = [of["changed"] for of in results if "changed" in of]
        calls = [{"name": stage, "arguments": {"files": files}}]
    if stage in asked or 6 <= n < 9:
        calls = [{"name": commit, "arguments": {"message": "fix"}}]
    print(json.dumps({"custom_id": request["custom_id"], "calls": calls}))
"""
LIST: Json = {"type": "array", "items": {"type": "string"}}


@pytest.fixture
def commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    changed = {"type": "array", "items": {"type": "string", "examples": ["a.py"]}}
    records = [
        {"name": "look", "inputSchema": {}, "outputSchema": objects(changed=changed)},
        {"name": "stage", "inputSchema": objects(["files"], files=LIST)},
        {"name": "commit", "inputSchema": objects(message={"type": "string"})},
    ]
    Path("tools.json").write_text(json.dumps({"tools": records}))
    Path("agent.py").write_text(AGENT)
    Path("ours.json").write_text('{"stage": {"name": "put_aside", "description": "x"}}')
    expected = [{"name": "commit", "arguments": {"message": "fix"}}]
    case: Json = {"messages": [user("Commit all")], "expect": expected, "results": {"stage": {}}}
    write_lines(Path("cases.jsonl"), [case | {"id": f"{i}"} for i in range(10)])
    return tmp_path


@pytest.mark.parametrize("steps, right, before", [(1, 0.3, 0), (2, 0.3, 0), (3, 0.9, 6)])
def test_preparation_is_right_if_the_expected_call_comes(
    steps: int, right: float, before: int, commits: Path, capsys: Capture
) -> None:
    """The results are the case's, or made of the output schema, under every variant."""
    counts = counts_of("{file: ours.json}", f"steps: {steps}", "agent.py")
    result = read_result(Path("sgdx-run/runs/agent")).result
    assert result["right_orig"] == result["right_ours"] == right
    rows = {row["first"]: row for row in counts.get("first", ())}
    if steps == 3:
        both = {"original": 6, "ours": 6}
        row: Json = {"first": "stage", "tool": "commit", "of": 10, "said": False}
        assert rows["stage"] == row | {"cases": both, "right": both}
        # The one that looks again and again ends when it makes a call again.
        assert result.systems["original"]["counts"]["requests"] == 6 * 3 + 3 + 2
        assert command("score") == 0
        assert "stage came first in 6 of 10" in capsys.readouterr().out
        (told,) = [row for row in read_lines(Path("sgdx-run/runs/agent/ours.jsonl"))
                   if row.get("id") == "0"]  # fmt: skip
        assert [call["name"] for call in told["before"]] == ["look", "put_aside"]
    asked = Path("sgdx-run/runs/agent/answers.jsonl").read_bytes().count(b"\n")
    assert command("explain", "sgdx.yaml", "0") == 0
    out = capsys.readouterr().out
    assert ("look({})" in out) and asked == 2 * {1: 10, 2: 17, 3: 23}[steps]


def test_a_value_is_made_of_any_schema_without_an_end() -> None:
    tree = {"$defs": {"t": objects(next={"$ref": "#/$defs/t"})}, "$ref": "#/$defs/t"}
    assert json.dumps(made_of(tree)).count("next") < 10
    for schema, value in [
        ({"enum": ["a", "b"]}, "a"),
        ({"anyOf": [{"type": "integer", "minimum": 3}, {}]}, 3),
        ({"type": ["array", "null"], "items": {"type": "boolean"}}, [True]),
        ({"type": "string", "format": "date"}, "2026-01-15"),
        ({"properties": 3, "type": 4, "enum": 1, "anyOf": [], "oneOf": 5}, "text"),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"const": 7}}}, 7),
        ({"$ref": "#/$defs/none", "$id": 5}, None),
        ({"type": [{}]}, "text"),
        (True, None),
    ]:
        assert made_of(schema) == value


@pytest.mark.parametrize("limit, asked", [(None, 4), (3, 3)])
def test_a_server_is_asked_step_after_step_within_one_limit(
    limit: int | None, asked: int, commits: Path
) -> None:
    """Of two cases one stages first, three steps in all; the other commits at once."""
    write_lines(Path("cases.jsonl"), [
        {"id": said, "messages": [user(said)], "steps": 3,
         "expect": [{"name": "commit", "arguments": {"message": "fix"}}]}
        for said in ("stage", "now")
    ])  # fmt: skip

    def answer(body: Json) -> Json:
        results = [m["content"] for m in body["messages"] if m["role"] == "tool"]
        calls = (
            ["look", "stage"][len(results) :] if body["messages"][0]["content"] == "stage" else []
        )
        arguments: Json = {"look": {}, "stage": {"files": ["a.py"]}, "commit": {"message": "fix"}}
        assert results == ['{"changed": ["a.py"]}', "Done."][: len(results)]
        name = (calls or ["commit"])[0]
        return call_completion(name, json.dumps(arguments[name]))

    with serving(StandIn(answer=answer)) as server:
        model = f'{{model: m, base_url: "{server.url}"' + (
            f", max_requests: {limit}}}" if limit else "}"
        )
        Path("sgdx.yaml").write_text(f"tools: tools.json\nmodels: [{model}]\n")
        status = command("test")
    assert len(server.bodies) == asked and status == (0 if limit is None else 2)
    if limit is None:
        assert read_result(Path("sgdx-run/runs/m")).result["right_orig"] == 1
