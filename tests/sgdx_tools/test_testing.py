"""``sgdx tools test``: one file, several models, one verdict."""

from __future__ import annotations

import json
import re
import socket
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sgdx_tools.__main__ import main
from sgdx_tools.data import Json

from ..sgdx_llm.server import StandIn, call_completion, completion, failing, serving
from .conftest import RIGHT, call, objects, user
from .test_report import data_of

YAML = """
tools: {{mcp: server.json}}
cases: cases.jsonl
models:
  - {{model: good, base_url: "{url}"}}
  - {{model: stubborn, base_url: "{url}", set: {{temperature: 0.5}}, omit: [seed]}}
variants: {{file: v1.json}}
gate: {{max_drop: 3}}
"""


def answer(body: Json) -> Json:
    """The right call; of the stubborn model, in the old names, whatever the tools are called."""
    case = {"Four": "a", "Two": "b", "Rain": "c", "Thanks": "d"}
    first_word = re.findall(r"\w+", body["messages"][-1]["content"])[0]
    names = [tool["function"]["name"] for tool in body["tools"]]
    variant = "v1" if "reserve" in names and body["model"] == "good" else "original"
    calls = RIGHT[variant][case[first_word]]
    if not calls:
        return completion({"role": "assistant", "content": "Bye."}, "stop")
    return call_completion(calls[0]["name"], json.dumps(calls[0]["arguments"]))


@pytest.fixture
def project(folder: Path, tmp_path: Path) -> Path:
    """A folder with a server's tools, ten cases and other words."""
    tools = json.loads((folder / "tools.json").read_text())
    keys = {"parameters": "inputSchema"}
    records = [{keys.get(key, key): value for key, value in tool.items()} for tool in tools]
    place = tmp_path / "project"
    place.mkdir()
    (place / "server.json").write_text(json.dumps({"tools": records}))
    lines = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    cases = []
    for i in range(5):
        for line in lines:
            content = line["messages"][0]["content"] + "!" * i
            messages = [{"role": "user", "content": content}]
            cases.append(line | {"id": f"{line['id']}{i}", "messages": messages, "dialogue": ""})
    (place / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)))
    (place / "v1.json").write_bytes((folder / "variants" / "v1.json").read_bytes())
    return place


def test_two_models_are_tested_and_nothing_is_done_twice(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit, cases = tmp_path / "junit.xml", project / "cases.jsonl"
    strange = json.dumps("ticket\x1b[31m \uffff")
    cases.write_text(cases.read_text().replace('"a0"', strange))
    with serving(StandIn(answer=answer)) as server:
        (project / "sgdx.yaml").write_text(YAML.format(url=server.url))
        run = ["test", str(project / "sgdx.yaml")]
        assert main([*run, "--junit", str(junit)]) == 1
        asked = len(server.bodies)
        assert main(run) == 1 and len(server.bodies) == asked
        assert {(b["model"], b.get("temperature"), "seed" in b) for b in server.bodies} == {
            ("good", 0, True),
            ("stubborn", 0.5, False),
        }
    assert asked == 2 * 2 * 20
    *_, good, good_line, bad, bad_line = capsys.readouterr().out.splitlines()
    assert good.startswith("good: passed") and bad.startswith("stubborn: failed")
    assert good_line.startswith("sgdx: good: 100.00 ")
    assert bad_line.endswith("-> 50.00 under other words, right under all 50.00")
    suites = ElementTree.fromstring(junit.read_bytes())  # noqa: S314 - of our own
    counts = [(s.get("name"), s.get("tests"), s.get("failures")) for s in suites]
    assert counts == [("good", "20", "0"), ("stubborn", "20", "10")]
    (first, *_) = suites.iter("testcase")  # control characters are escaped
    assert first.get("name") == "ticket\\x1b[31m \N{REPLACEMENT CHARACTER}"
    scores = json.loads((project / "sgdx-run/runs/stubborn/scores.json").read_text())
    assert scores["calls"]["call_accuracy"]["worst"] == pytest.approx(1 / 3)


def test_repeats_tell_flaky_cases_from_broken_ones(project: Path, tmp_path: Path) -> None:
    """The first case of all is answered rightly every other time, under the same words."""
    asked: list[Json] = []

    def flaky(body: Json) -> Json:
        if body["messages"][-1]["content"] == "Four in Rome":
            asked.append(body)
            if len(asked) % 2:
                return completion({"role": "assistant", "content": "Well."}, "stop")
        return answer(body)

    summary, (_, *rest) = tmp_path / "summary.md", YAML.splitlines()
    with serving(StandIn(answer=flaky)) as server:
        text = "\n".join(["repeats: 2", *rest]).format(url=server.url)
        (project / "sgdx.yaml").write_text(text)
        run = ["test", str(project / "sgdx.yaml"), "--limit", "8", "--summary", str(summary)]
        assert main([*run, "--concurrency", "1"]) in (0, 1, 2)
        assert len(server.bodies) == 2 * 2 * 2 * 8
    scores = json.loads((project / "sgdx-run/runs/stubborn/scores.json").read_text())
    shares = [scores["noise"]["v1"][key] for key in ("pass^k", "flaky", "broken")]
    assert shares == [0.5, 0.0, 0.375]  # four name the tool by its old name, one of them flaky
    assert scores["noise"]["original"]["flaky"] == 0.125
    assert scores["spent"]["original"]["tokens"] == {"median": 950, "p95": 950}
    assert scores["spent"]["original"]["seconds"]["p95"] > 0
    data = data_of(project / "sgdx-run" / "report.html")
    assert data["cases"][0]["cells"]["good"]["v1"]["flaky"] == "right in 1 of 2 runs"
    assert "flaky" not in data["cases"][1]["cells"]["good"]["v1"]
    assert "flaky 12.50" in data["models"][0]["noise"]["original"]
    assert "950 tokens" in data["models"][0]["spent"]["original"]
    assert "flaky 12.50" in summary.read_text()


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        ("cases: cases.jsonl", "cases: nowhere.jsonl", ["nowhere.jsonl"]),
        ("{file: v1.json}", "{file: v1.json, pool: p.json}", ["sgdx.yaml", "variants"]),
        ("model: good", "modle: good", ["sgdx.yaml", "modle"]),
        ("model: stubborn", "model: good", ["sgdx.yaml", "models"]),
        ("{mcp: server.json}", "{mcp: server.json, openai: x.json}", ["sgdx.yaml", "tools"]),
        ("max_drop: 3", "max_drop: x", ["sgdx.yaml", "max_drop"]),
        ("max_drop: 3", "max_drop: .nan", ["sgdx.yaml", "max_drop"]),
        ("max_drop: 3", "max_drop: 1000", ["sgdx.yaml", "max_drop"]),
        ("max_drop: 3", "max_drop: -5", ["sgdx.yaml", "max_drop"]),
        ("gate:", "repeats: 0\ngate:", ["sgdx.yaml", "repeats"]),
        ("{mcp: server.json}", "{openai: x.json, start: server}", ["sgdx.yaml", "start"]),
    ],
)
def test_faults_of_the_file_are_one_line(
    project: Path, old: str, new: str, facts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "sgdx.yaml").write_text(YAML.format(url="http://127.0.0.1:9").replace(old, new))
    assert main(["test", str(project / "sgdx.yaml")]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("sgdx: error: ")
    assert all(fact in error for fact in facts), error


def test_what_an_import_loses_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Losses line by line, new names as a number."""
    content = json.loads((project / "server.json").read_text())
    names = ["a tool", "another tool", "list"]
    schemas: list[Json] = [{}, {}, {"type": "array"}]
    content["tools"] += [{"name": n, "inputSchema": s} for n, s in zip(names, schemas)]
    (project / "server.json").write_text(json.dumps(content))
    (project / "run.py").write_text("import sys\nsys.exit(1)")
    tools = '{mcp: server.json, only: ["*t*", "book", "weather", "ping"]}'
    text = f"tools: {tools}\ncases: cases.jsonl\nvariants: {{file: v1.json}}\n"
    text += 'models: [{command: "python run.py"}]\n'
    (project / "sgdx.yaml").write_text(text)
    assert main(["test", str(project / "sgdx.yaml")]) == 2
    lost, renamed, *_ = capsys.readouterr().err.splitlines()
    assert lost.startswith("sgdx: left out: tool list: ")
    assert renamed.startswith("sgdx: renamed: 2, ")
    assert "a_tool" in (project / "sgdx-run" / "tools" / "source.json").read_text()


@pytest.mark.parametrize("way", ["limit", "gone"])
def test_a_run_that_does_not_end_cannot_tell_and_leaves_no_older_verdict(
    way: str, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The limit of requests is reached, or the server refuses all; a test passed before."""
    junit, summary = tmp_path / "junit.xml", tmp_path / "summary.md"
    with serving(StandIn(answer=answer)) as server:
        lines = YAML.format(url=server.url).replace("{max_drop: 3}", "{max_drop: 100}")
        (project / "sgdx.yaml").write_text(lines)
        run = ["test", str(project / "sgdx.yaml"), "--junit", str(junit)]
        run += ["--summary", str(summary)]
        assert main(run) == 0 and "passed" in summary.read_text()
        for case in (project / "cases.jsonl", project / "v1.json"):
            case.write_text(case.read_text().replace("!", "?").replace("Reserve", "Keep"))
        if way == "gone":
            server.faults += [failing(401)] * 100
        assert main([*run, "--max-requests", "5"] if way == "limit" else run) == 2
    assert "cannot tell" in summary.read_text() and "passed" not in summary.read_text()
    suites = ElementTree.fromstring(junit.read_bytes())  # noqa: S314 - of our own
    assert {s.get("errors") for s in suites} == {"1"}
    assert not (project / "sgdx-run" / "report.html").exists()


def test_what_is_read_is_not_written_over(project: Path) -> None:
    (project / "sgdx.yaml").write_text(YAML.format(url="http://127.0.0.1:9"))
    for name in ("cases.jsonl", "sgdx.yaml", "v1.json", "server.json"):
        before = (project / name).read_bytes()
        for option in ("--junit", "--summary"):
            assert main(["test", str(project / "sgdx.yaml"), option, str(project / name)]) == 2
        assert (project / name).read_bytes() == before


def test_two_variants_with_the_same_words_count_once(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pool.json").write_text('{"book": {"name": ["reserve"]}}')
    with serving(StandIn(answer=answer)) as server:
        text = YAML.format(url=server.url).replace("{file: v1.json}", "{pool: pool.json, count: 3}")
        (project / "sgdx.yaml").write_text(text)
        main(["test", str(project / "sgdx.yaml"), "--limit", "4"])
    words = sorted(p.name for p in (project / "sgdx-run/words").glob("v*.json"))
    assert words == ["v1.json"]
    assert "v2" in capsys.readouterr().err


PROGRAM = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    known = request["case"]["tools"][0]["name"] == "book_table"
    calls = [{"name": "book_table", "arguments": {"city": "Rome"}}] if known else []
    print(json.dumps({"custom_id": request["custom_id"], "calls": calls}))
"""
SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("tables")

@server.tool()
def book_table(city: str) -> None:
    "Book a table"

server.run(RUN)
"""


def versions_tested(
    place: Path, tools: str, base: str, head: str, gone: int = 0
) -> tuple[int, str]:
    """The status and the summary of a test of two versions of a file that `tools` names.

    Of its cases 20 book a table, and some call a tool that only the base has.
    """
    cases = [{"id": f"c{i}", "expect": call("book_table", city="Rome")} for i in range(20)]
    cases += [{"id": f"@everyone-{i}", "expect": call("get_weather")} for i in range(gone)]
    lines = [json.dumps(case | {"messages": [user("Rome?")]}) for case in cases]
    files = {
        "sgdx.yaml": f"tools: {{{tools}}}\ncases: cases.jsonl\nvariants: {{file: none.json}}\n"
        f"models: [{{command: '{sys.executable} program.py'}}]\ngate: {{max_drop: 3}}\n",
        "cases.jsonl": "\n".join(lines),
        "program.py": PROGRAM,
    }
    for version, content in (("base", base), ("head", head)):
        (place / version).mkdir()
        for name, text in {**files, "tools": content}.items():
            (place / version / name).write_text(text)
    summary = place / "summary.md"
    words = [str(place / "head" / "sgdx.yaml"), "--base", str(place / "base" / "sgdx.yaml")]
    return main(["test", *words, "--summary", str(summary)]), summary.read_text()


def test_a_live_server_cannot_tell_two_versions_apart(tmp_path: Path) -> None:
    server = SERVER.replace("RUN", "")
    tools = f'mcp: "{sys.executable} tools http://live.example/mcp"'
    status, said = versions_tested(tmp_path, tools, server, server)
    assert status == 2 and "both versions were asked at http://live.example/mcp" in said


def test_the_server_of_each_version_is_started_and_stopped(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = free.getsockname()
    server = SERVER.replace("RUN", f'"streamable-http", port={address[1]}')
    tools = f'mcp: "http://127.0.0.1:{address[1]}/mcp", start: "{sys.executable} tools"'
    status, said = versions_tested(tmp_path, tools, server, server.replace("book_table", "seat"))
    assert status == 1 and "100.00 points" in said
    with pytest.raises(OSError):
        socket.create_connection(address, timeout=1)


def test_cases_whose_tool_is_gone_are_counted_and_named_as_code(tmp_path: Path) -> None:
    """As code, which mentions nobody in a pull request."""
    book, weather = (
        {"name": name, "parameters": objects(city={"type": "string"})}
        for name in ("book_table", "get_weather")
    )
    base, head = json.dumps([book, weather]), json.dumps([book])
    status, said = versions_tested(tmp_path, "openai: tools", base, head, gone=30)
    assert status == 2 and "30 of 50 cases are left out" in said and "10 more" in said
    assert "`@everyone-19`" in said and "@everyone-20" not in said
