"""``sgdx tools init`` and ``test``: one file, several models, one verdict."""

from __future__ import annotations

import json
import re
import socket
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from junitparser import JUnitXml

from sgdx_eval.result import read_result
from sgdx_metric.result import Result
from sgdx_tools.data import Json

from ..sgdx_llm.server import StandIn, call_completion, completion, failing, serving
from .conftest import (
    RIGHT,
    Capture,
    call,
    command,
    mcp_server,
    objects,
    read_lines,
    user,
    write_lines,
)
from .test_report import data_of

YAML = """
tools: {source: server.json, only: ["*a*", "book", "ping"]}
cases: cases.jsonl
models:
  - {model: good, base_url: "URL"}
  - {model: stubborn, base_url: "URL", set: {temperature: 0.5}, omit: [seed]}
variants: {file: v1.json}
gate: {max_drop: 3}
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
def project(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a server's tools, twenty cases and other words, where the tests are run."""
    tools = json.loads((folder / "tools.json").read_text())
    records = [{**tool, "inputSchema": tool.pop("parameters")} for tool in tools]
    place = tmp_path / "project"
    lines = [
        line | {"id": f"{line['id']}{i}", "messages": [user(f"{said}{'!' * i}")], "dialogue": ""}
        for i in range(5)
        for line in read_lines(folder / "cases.jsonl")
        for said in [line["messages"][0]["content"]]
    ]
    write_lines(place / "cases.jsonl", lines)
    # One that is not asked for, and one that is left out.
    records += [{"name": "other", "inputSchema": {}}]
    records += [{"name": "a list", "inputSchema": {"type": "array"}}]
    (place / "server.json").write_text(json.dumps({"tools": records}))
    (place / "v1.json").write_bytes((folder / "variants" / "v1.json").read_bytes())
    monkeypatch.chdir(place)
    return place


def write_file(url: str, old: str = "", new: str = "") -> None:
    assert old in YAML
    Path("sgdx.yaml").write_text(YAML.replace(old, new).replace("URL", url))


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def scores_of(model: str) -> Result:
    return read_result(Path(f"sgdx-run/runs/{model}")).result


# A program that calls the same tool, whatever was said.
PINGS = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"custom_id": json.loads(line)["custom_id"], "calls": [{"name": "ping"}]}))
"""


def test_all_models_are_tested_anew_each_time_and_all_say_the_same_verdict(
    project: Path, capsys: Capture
) -> None:
    """`test` and `score` say it, and so do report, JUnit and summary, which is the comment."""
    cases = project / "cases.jsonl"
    cases.write_text(cases.read_text().replace('"a0"', json.dumps("ticket\x1b[31m \uffff")))
    Path("program.py").write_text(PINGS)
    program = f'  - {{command: "{sys.executable} program.py --key sk-secret"}}\nvariants:'
    with serving(StandIn(answer=answer)) as server:
        write_file(server.url, "variants:", program)
        assert command("test", "--junit", "junit.xml", "--summary", "summary.md") == 1
        asked = len(server.bodies)
        out, err = capsys.readouterr()
        assert asked == 2 * 2 * 20
        assert command("test") == 1 and len(server.bodies) == 2 * asked
        assert {(b["model"], b.get("temperature"), "seed" in b) for b in server.bodies} == {
            ("good", 0, True),
            ("stubborn", 0.5, False),
        }
    assert err.startswith("sgdx: left out: tool a list: ")
    read = [
        (s.name, s.tests, s.failures, s.skipped, s.time) for s in JUnitXml.fromfile("junit.xml")
    ]
    assert read == [("good", 20, 0, 0, 0), ("stubborn", 20, 10, 0, 0), ("program", 20, 0, 20, 0)]
    suites = ElementTree.parse("junit.xml").getroot()  # noqa: S314 - of our own
    # Readers of JUnit show no number where a time is missing.
    assert {element.get("time") for element in (suites, *suites, *suites.iter("testcase"))} == {"0"}
    (first, *_) = suites.iter("testcase")  # control characters are escaped
    assert first.get("name") == "ticket\\x1b[31m \N{REPLACEMENT CHARACTER}"
    ends = {
        "good": ("unclear", 0, "100.00 (83.25 to 100.00) -> 100.00 under", "0", "0"),
        "stubborn": ("failed", 1, "-> 50.00 under other words, right under all 50.00", "10", "0"),
        "program": ("cannot tell", 2, "0.00 (0.00 to 16.75) -> 0.00 under", "0", "20"),
    }
    lines, shown = out.splitlines()[-6:], data_of(Path("sgdx-run/report.html"))["models"]
    for i, (name, (end, status, figures, failures, skipped)) in enumerate(ends.items()):
        verdict = lines[2 * i].removeprefix(f"{name}: ")
        assert verdict.startswith(f"{end}: ") and lines[2 * i + 1].startswith(f"sgdx: {name}: ")
        assert figures in lines[2 * i + 1]
        assert (suites[i].get("name"), suites[i].get("tests")) == (name, "20")
        assert (suites[i].get("failures"), suites[i].get("skipped")) == (failures, skipped)
        values = {p.get("name"): p.get("value") for p in suites[i].iter("property")}
        assert f"{values['verdict']}: {values['why']}" == shown[i]["verdict"] == verdict
        (row,) = (ln for ln in Path("summary.md").read_text().splitlines() if f"| `{name}`" in ln)
        assert f"| {end} | `{verdict.removeprefix(f'{end}: ')}` |" in row
        run = ("sgdx.yaml", "--predictions", f"sgdx-run/runs/{name}")
        capsys.readouterr()
        assert command("score", *run) == status
        assert capsys.readouterr().out.splitlines()[-1] == verdict
        assert command("report", *run, "--output", f"{name}.html") == 0
        assert data_of(Path(f"{name}.html"))["models"] == [shown[i]]
    assert scores_of("stubborn")["call_worst"] == pytest.approx(1 / 3)
    written = [path.read_bytes().decode(errors="replace") for path in files_in(Path())]
    assert sum("sk-secret" in text for text in written) == 1  # the file of the test alone


def test_repeats_tell_flaky_cases_from_broken_ones(project: Path) -> None:
    """The first case of all is answered rightly every other time, under the same words."""
    asked: list[Json] = []

    def flaky(body: Json) -> Json:
        if body["messages"][-1]["content"] == "Four in Rome":
            asked.append(body)
            if len(asked) % 2:
                return completion({"role": "assistant", "content": "Well."}, "stop")
        return answer(body)

    with serving(StandIn(answer=flaky)) as server:
        write_file(server.url, "gate:", "repeats: 2\nasking: {concurrency: 1}\ngate:")
        words = ("--limit", "8", "--summary", "summary.md")
        assert command("test", *words) in (0, 1, 2)
        assert len(server.bodies) == 2 * 2 * 2 * 8
    scores = scores_of("stubborn")
    shares = [scores.counts["noise"]["v1"][key] for key in ("pass^k", "flaky", "broken")]
    assert shares == [0.5, 0.0, 0.375]  # four name the tool by its old name, one of them flaky
    assert scores.counts["noise"]["original"]["flaky"] == 0.125
    assert scores.counts["spent"]["original"]["tokens"] == {"median": 950, "p95": 950}
    assert scores.counts["spent"]["original"]["seconds"]["p95"] > 0
    data = data_of(project / "sgdx-run" / "report.html")
    assert data["cases"][0]["cells"]["good"]["v1"]["flaky"] == "right in 1 of 2 runs"
    assert "flaky" not in data["cases"][1]["cells"]["good"]["v1"]
    assert "flaky 12.50" in data["models"][0]["noise"]["original"]
    assert "950 tokens" in data["models"][0]["spent"]["original"]
    assert "flaky 12.50" in Path("summary.md").read_text()


def test_controls_stand_beside_what_words_cost(project: Path, capsys: Capture) -> None:
    """Both models fail with ' (value)' behind a description; the verdict is of the words alone."""

    def shaken(body: Json) -> Json:
        edited = body["tools"][0]["function"]["description"].endswith(" (value)")
        return (
            completion({"role": "assistant", "content": "Well."}, "stop")
            if edited
            else answer(body)
        )

    with serving(StandIn(answer=shaken)) as server:
        write_file(server.url, "v1.json}", "v1.json, control: true}")
        assert command("test", "--limit", "8", "--summary", "summary.md") in (0, 1, 2)
        assert len(server.bodies) == 2 * 7 * 8
    result, said = scores_of("stubborn"), capsys.readouterr().out
    # Six of eight cases expect a call, of which four name the tool by its old name.
    assert [result[f"right_{of}"] for of in ("orig", "reworded", "drop")] == [1.0, 0.5, -0.5]
    floors = [result[f"right_{of}_control"] for of in ("worst", "flips", "drop")]
    assert floors == pytest.approx([0.25, 0.75, -0.15])
    assert {element["variant"] for element in result.counts["elements"]} == {"v1"}
    assert said.count("trivial edits of the words cost 15.00 points") == 2
    assert "right under all 50.00 (25.00 under trivial edits)" in Path("summary.md").read_text()


def test_texts_that_look_like_calls_are_told_without_a_gate_too(project: Path) -> None:
    """In the summary, in JUnit's file and in the report."""
    text = '<tool_call>{"name": "book", "arguments": {"people": 2}}</tool_call>'
    said = lambda _: completion({"role": "assistant", "content": text}, "stop")  # noqa: E731
    with serving(StandIn(answer=said)) as server:
        write_file(server.url, "gate: {max_drop: 3}")
        words = ("--limit", "4", "--junit", "junit.xml", "--summary", "summary.md")
        assert command("test", *words) == 0
    told = "4 texts under original look like calls"
    (model, _) = data_of(Path("sgdx-run/report.html"))["models"]
    assert told in model["verdict"] and told in Path("summary.md").read_text()
    (why, *_) = ElementTree.parse("junit.xml").getroot().iter("property")  # noqa: S314
    assert (why.get("name"), str(why.get("value")).startswith(told)) == ("why", True)
    assert any(row[0].endswith(", of 3") for row in model["figures"])  # that expect a call


def test_a_run_that_does_not_end_cannot_tell_and_leaves_no_older_verdict(project: Path) -> None:
    """The limit of requests is reached, or the server refuses all; a test passed before."""
    outputs = ("--junit", "junit.xml", "--summary", "summary.md")
    with serving(StandIn(answer=answer)) as server:
        write_file(server.url, "{max_drop: 3}", "{max_drop: 100}")
        assert command("test", *outputs) == 0 and "passed" in Path("summary.md").read_text()
        for file in (Path("cases.jsonl"), Path("v1.json")):
            file.write_text(file.read_text().replace("!", "?").replace("Reserve", "Keep"))
        for few in (True, False):
            more = "asking: {max_requests: 5}\ngate:" if few else "gate:"
            write_file(server.url, "gate:", more)
            if not few:
                server.faults += [failing(401)] * 100
            assert command("test", *outputs) == 2
            said = Path("summary.md").read_text()
            assert "cannot tell" in said and "passed" not in said
            suites = ElementTree.parse("junit.xml").getroot()  # noqa: S314 - of our own
            assert {s.get("errors") for s in suites} == {"1"}
            assert not Path("sgdx-run/report.html").exists()


def test_what_an_earlier_test_left_finishes_only_a_run_that_did_not_end(project: Path) -> None:
    """Of a model for a day, or for as long as it is kept; of a program never."""
    program = f'{{command: "{sys.executable} program.py"}}'
    first = YAML.splitlines()[4]
    entries = '  - {model: good, base_url: "URL", KEYS}'
    asks = """import json, sys
for line in sys.stdin:
    open("asked", "a").write("x")
    print(json.dumps({"custom_id": json.loads(line)["custom_id"], "calls": []}), flush=True)
"""
    Path("program.py").write_text(asks)
    answers = Path("sgdx-run/runs/good/answers.jsonl")

    def asked(keys: str) -> int:
        before = len(server.bodies)
        text = YAML.replace(first, entries.replace("KEYS", keys)).replace("URL", server.url)
        lines = [line for line in text.splitlines() if "stubborn" not in line]
        Path("sgdx.yaml").write_text("\n".join(lines))
        command("test", "--limit", "6", "--summary", "summary.md")
        return len(server.bodies) - before

    def older(days: int) -> None:
        lines = read_lines(answers)
        at = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
        write_lines(answers, [line | {"at": at} for line in lines])

    with serving(StandIn(answer=answer)) as server:
        assert asked("max_requests: 5") == 5
        assert asked("timeout: 60") == 7  # which ends the run
        assert asked("timeout: 60") == 12
        assert asked("max_requests: 5") == 5
        older(2)
        assert asked("timeout: 60") == 12
        older(3)
        assert asked("keep: 4") == 0  # also of a run that ended
        day = f"{datetime.now(UTC) - timedelta(days=3):%Y-%m-%d}"
        assert day in Path("summary.md").read_text()
        older(5)
        assert asked("keep: 4") == 12
        Path("sgdx.yaml").write_text(YAML.replace(first, f"  - {program}\nasking: {{keep: 9}}"))
        lines = [line for line in Path("sgdx.yaml").read_text().splitlines() if "stub" not in line]
        Path("sgdx.yaml").write_text("\n".join(lines))
        for times in (1, 2):
            command("test", "--limit", "6")
            assert len(Path("asked").read_text()) == 12 * times


def test_every_option_of_asking_is_a_key_of_a_model_or_of_all(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables are put into addresses and headers, and a query goes with every request."""
    monkeypatch.setenv("PLACE", "deployments/x")
    monkeypatch.setenv("GATE", "g4te-k3y-of-mine")
    address = "URL/${PLACE}?api-version=2026-12-03"
    with serving(StandIn(answer=answer)) as server:
        file = YAML.replace('base_url: "URL"', f'base_url: "{address}"', 1)
        more = "asking: {headers: {X-Gate: '${GATE}', X-All: a}, set: {top_p: 1, temperature: 0.1}}"
        file = file.replace("omit: [seed]", "omit: [seed], headers: {X-All: b}") + more
        Path("sgdx.yaml").write_text(file.replace("URL", server.url))
        assert command("test", "--limit", "8") in (0, 1, 2)
        queries = {path for path, body in server.asked if body["model"] == "good"}
        assert queries == {"/v1/deployments/x/chat/completions?api-version=2026-12-03"}
        seen = {(b["model"], b["top_p"], b["temperature"]) for b in server.bodies}
        assert seen == {("good", 1, 0.1), ("stubborn", 1, 0.5)}
        assert (server.headers["x-gate"], server.headers["x-all"]) == ("g4te-k3y-of-mine", "b")
    written = [path.read_bytes().decode(errors="replace") for path in files_in(Path("sgdx-run"))]
    assert not any("g4te-k3y-of-mine" in text for text in written)


PROGRAM = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    known = request["case"]["tools"][0]["name"] == "book_table"
    calls = [{"name": "book_table", "arguments": {"city": "Rome"}}] if known else []
    print(json.dumps({"custom_id": request["custom_id"], "calls": calls}))
"""
BOOK, WEATHER = (
    {"name": name, "inputSchema": objects(city={"type": "string"})}
    for name in ("book_table", "get_weather")
)
# A server of streamable HTTP, which is started for each version of the tools.
OVER_HTTP = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("tables")

@server.tool()
def book_table(city: str) -> None:
    "Book a table"

server.run("streamable-http", port=PORT)
"""


def versions_tested(
    place: Path, tools: str, base: str, head: str, gone: int = 0, **more: str
) -> tuple[int, str]:
    """The status and the summary of a test of two versions of a file that `tools` names.

    Of its cases 20 book a table, and some call a tool that only the base has. The file of the head
    may say more of the tools, and both of the gate.
    """
    cases = [{"id": f"c{i}", "expect": call("book_table", city="Rome")} for i in range(20)]
    cases += [{"id": f"@everyone-{i}", "expect": call("get_weather")} for i in range(gone)]
    file = f"tools: {{{tools}MORE}}\ncases: cases.jsonl\nvariants: {{file: none.json}}\n"
    file += f"models: [{{command: '{sys.executable} program.py'}}]\n"
    file += f"gate: {{{more.get('gate', '')}max_drop: 3}}\n"
    for version, content, said in (("base", base, ""), ("head", head, more.get("keys", ""))):
        lines = (case | {"messages": [user("Rome?")]} for case in cases)
        write_lines(place / version / "cases.jsonl", lines)
        (place / version / "sgdx.yaml").write_text(file.replace("MORE", said))
        (place / version / "program.py").write_text(PROGRAM)
        (place / version / "tools").write_text(content)
    summary = place / "summary.md"
    words = [str(place / "head" / "sgdx.yaml"), "--base", str(place / "base" / "sgdx.yaml")]
    return command("test", *words, "--summary", summary), summary.read_text()


def test_a_pull_request_may_not_ask_for_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "k3y")
    server = mcp_server(BOOK)
    asks = f"import os\nassert 'TOKEN' not in os.environ\n{server}"
    tools, more = f'source: "{sys.executable} tools"', ", env: {TOKEN: '${KEY}'}"
    assert versions_tested(tmp_path, tools, server, asks, keys=more)[0] == 0


def test_the_server_of_each_version_is_started_and_stopped(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = free.getsockname()
    server = OVER_HTTP.replace("PORT", str(address[1]))
    tools = f'source: "http://127.0.0.1:{address[1]}/mcp", start: "{sys.executable} tools"'
    status, said = versions_tested(tmp_path, tools, server, server.replace("book_table", "seat"))
    assert status == 1 and "100.00 points" in said
    with pytest.raises(OSError):
        socket.create_connection(address, timeout=1)


def test_cases_whose_tool_is_gone_are_counted_and_named_as_code(tmp_path: Path) -> None:
    """As code, which mentions nobody in a pull request."""
    base, head = json.dumps([BOOK, WEATHER]), json.dumps([BOOK])
    status, said = versions_tested(tmp_path, "source: tools", base, head, gone=30)
    assert status == 0 and "30 of 50 cases count as wrong" in said and "10 more" in said
    assert "`@everyone-19`" in said and "@everyone-20" not in said
    allow = "left_out: allow, "
    status, said = versions_tested(tmp_path, "source: tools", base, head, gone=30, gate=allow)
    assert status == 2 and "30 of 50 cases are left out" in said


CALLS_FIRST_WORD = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    wanted = request["case"]["messages"][-1]["content"].split()[0]
    calls = [{"name": t["name"]} for t in request["case"]["tools"] if wanted in t["description"]]
    print(json.dumps({"custom_id": request["custom_id"], "calls": calls[:1]}))
"""


def test_a_lost_tool_and_exchanged_descriptions_fail(tmp_path: Path) -> None:
    """Also where they are a small part of the cases."""
    tools = [
        {"name": f"t{i}", "description": f"word{i}", "parameters": objects()} for i in range(4)
    ]
    cases = [
        {"id": f"c{n}", "messages": [user(f"word{i} please")], "expect": call(f"t{i}")}
        for n, i in enumerate([0] * 30 + [1] * 20 + [2] * 6 + [3] * 6)
    ]
    swapped = [dict(tool) for tool in tools]
    swapped[2]["description"], swapped[3]["description"] = "word3", "word2"
    file = "tools: tools.json\ncases: cases.jsonl\nvariants: {file: none.json}\n"
    file += f"models: [{{command: '{sys.executable} program.py'}}]\ngate: {{max_drop: 3}}\n"
    ends = {"lost": (tools[:2] + tools[3:], ["t2"]), "swapped": (swapped, ["t2", "t3"])}
    for name, (head, lost) in {"base": (tools, list[str]()), **ends}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "tools.json").write_text(json.dumps(head))
        (tmp_path / name / "sgdx.yaml").write_text(file)
        (tmp_path / name / "program.py").write_text(CALLS_FIRST_WORD)
        write_lines(tmp_path / name / "cases.jsonl", cases)
        if lost:
            words = (tmp_path / name / "sgdx.yaml", "--base", tmp_path / "base" / "sgdx.yaml")
            status = command("test", *words, "--summary", tmp_path / "s.md")
            said = (tmp_path / "s.md").read_text()
            assert status == (1 if name == "swapped" else 0), said
            assert ("failed" if name == "swapped" else "unclear") in said
            assert all(f"all 6 cases of {tool} are lost" in said for tool in lost)


def test_the_file_that_init_writes_reads_the_tools(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    (tmp_path / "f.json").write_text(json.dumps([tool]))
    words = ("--output", tmp_path / "api", "--model", "m", "--base-url", "http://localhost:1/v1")
    assert command("init", tmp_path / "f.json", *words) == 0
    written = yaml.safe_load((tmp_path / "api" / "sgdx.yaml").read_text())
    server = {"model": "m", "base_url": "http://localhost:1/v1"}
    assert written == {
        "tools": "../f.json",
        "cases": "cases.jsonl",
        "models": [server],
        "variants": {**server, "count": 2},
        "gate": {"max_drop": 3},
    }
    assert command("check", tmp_path / "api" / "sgdx.yaml") == 0


def test_a_program_is_a_server_that_gets_variables_and_whose_keys_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Nothing is overwritten."""
    program, written = tmp_path / "kitchen", tmp_path / "sgdx.yaml"
    first = f"#!{sys.executable}\nimport os\nassert os.environ['TOKEN'] == 'k3y'"
    program.write_text(first + mcp_server())
    program.chmod(0o755)
    words = ("init", program, "--output", tmp_path, "--env")
    monkeypatch.setenv("KEY", "no")
    assert command(*words, "TOKEN=${KEY}") == 2
    assert "AssertionError" in capsys.readouterr().err and not written.exists()
    monkeypatch.setenv("KEY", "k3y")
    assert command(*words, "TOKEN=${KEY}") == 0
    assert "found: 2;" in capsys.readouterr().err
    tools = {"source": str(program), "env": {"TOKEN": "${KEY}"}}
    assert yaml.safe_load(written.read_text())["tools"] == tools
    before = written.read_bytes()
    assert command(*words, "TOKEN=${KEY}") == 2 and written.read_bytes() == before
    assert command("check", written) == 0
    assert command("check", program) == 2  # without the variable


def test_what_drifted_since_a_lock_is_said_and_measured(project: Path, capsys: Capture) -> None:
    """The lock is never of the new tools, and nothing is asked where nothing has drifted."""
    Path("program.py").write_text(PINGS.replace("ping", "now"))
    keys = f"tools: tools.json\nmodels: [{{command: {sys.executable} program.py}}]\n"
    Path("sgdx.yaml").write_text(f"{keys}gate: {{max_drop: 3}}\n")
    lines = [{"id": f"{i}", "messages": [user(f"{i}?")], "expect": call("now")} for i in range(40)]
    write_lines(project / "cases.jsonl", lines)
    book, now = ({"name": name, "description": f"To {name}"} for name in ("book", "now"))
    Path("tools.json").write_text(json.dumps([book, now]))
    assert command("test", "--locked") == 2 and "sgdx.lock" in capsys.readouterr().err
    assert command("lock") == 0 and "2 tools" in capsys.readouterr().out
    locked = json.loads(Path("sgdx.lock").read_text())
    assert [tool["name"] for tool in locked["locked_tools"]] == ["book", "now"]
    assert command("test", "--locked") == 0 and "passed" in capsys.readouterr().out
    assert not list(Path("sgdx-run").rglob("answers.jsonl"))
    Path("tools.json").write_text(json.dumps([book, now | {"name": "hour"}]))
    assert command("test", "--locked") == 1
    out, err = capsys.readouterr()
    assert "tool now is called hour" in err and "program: failed" in out
    locked["locked_tools"][0]["description"] = "Sell a table."
    Path("sgdx.lock").write_text(json.dumps(locked))
    assert command("test", "--locked") == 2 and "tool book" in capsys.readouterr().err
    assert command("lock") == 0
    Path("sgdx.lock").write_text("{}")
    assert command("lock") == 2 and "sgdx.lock" in capsys.readouterr().err


def test_a_client_s_file_asks_for_no_other_variables_than_the_base_s(
    project: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables that are not there are named; what a server says as it dies is told."""
    Path("server.py").write_text(mcp_server())
    server = {"command": sys.executable, "args": ["server.py"], "env": {"A": "${SOME}"}}
    Path(".mcp.json").write_text(json.dumps({"mcpServers": {"kitchen": server}}))
    Path("sgdx.yaml").write_text("tools: {client: .mcp.json}\nmodels: [{command: x}]\n")
    assert command("lock") == 2 and "SOME" in capsys.readouterr().err
    monkeypatch.setenv("SOME", "x")
    assert command("lock") == 0 and "2 tools" in capsys.readouterr().out
    Path("base.json").write_text(Path(".mcp.json").read_text().replace("${SOME}", "x"))
    Path("base.yaml").write_text(Path("sgdx.yaml").read_text().replace(".mcp.json", "base.json"))
    write_lines(
        project / "cases.jsonl", [{"id": "a", "messages": [user("?")], "expect": call("now")}]
    )
    assert command("test", "--base", "base.yaml") == 2 and "SOME" in capsys.readouterr().err
    Path("server.py").write_text("import os; os.environ['LACKING']")
    assert command("lock") == 2
    assert "'LACKING'" in (said := capsys.readouterr().err) and "--env" in said
