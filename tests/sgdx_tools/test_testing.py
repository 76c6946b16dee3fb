"""``sgdx tools test``: one file, several models, one verdict."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sgdx_tools.__main__ import main
from sgdx_tools.data import Json
from sgdx_tools.folder import read_tool_set
from sgdx_tools.scoring import score

from ..sgdx_llm.server import StandIn, call_completion, completion, failing, serving
from .conftest import RIGHT, call, rows
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
    junit = tmp_path / "junit.xml"
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
    scores = json.loads((project / "sgdx-run/runs/stubborn/scores.json").read_text())
    assert scores["calls"]["call_accuracy"]["worst"] == pytest.approx(1 / 3)


def test_only_what_changed_is_asked_again(project: Path) -> None:
    with serving(StandIn(answer=answer)) as server:
        text = YAML.format(url=server.url).replace("{max_drop: 3}", "{max_drop: 100}")
        (project / "sgdx.yaml").write_text(text)
        run = ["test", str(project / "sgdx.yaml")]
        assert main([*run, "--limit", "8"]) == 0
        assert len(server.bodies) == 2 * 2 * 8
        assert main(run) == 0
        assert len(server.bodies) == 2 * 2 * 20
        words = json.loads((project / "v1.json").read_text())
        words["book"]["description"] = "Keep a table"
        (project / "v1.json").write_text(json.dumps(words))
        assert main(run) == 0
        assert len(server.bodies) == 2 * 3 * 20


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
        ("max_drop: 3", "max_drop: .inf", ["sgdx.yaml", "max_drop"]),
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


@pytest.mark.parametrize("option", ["--junit", "--summary"])
@pytest.mark.parametrize("name", ["cases.jsonl", "sgdx.yaml", "v1.json", "server.json"])
def test_what_is_read_is_not_written_over(option: str, name: str, project: Path) -> None:
    (project / "sgdx.yaml").write_text(YAML.format(url="http://127.0.0.1:9"))
    before = (project / name).read_bytes()
    assert main(["test", str(project / "sgdx.yaml"), option, str(project / name)]) == 2
    assert (project / name).read_bytes() == before


def test_control_characters_are_escaped_in_junit(project: Path, tmp_path: Path) -> None:
    lines = (project / "cases.jsonl").read_text().splitlines()
    strange = json.loads(lines[0]) | {"id": "ticket\x1b[31m \uffff"}
    (project / "cases.jsonl").write_text("\n".join([json.dumps(strange), *lines[1:]]))
    junit = tmp_path / "junit.xml"
    with serving(StandIn(answer=answer)) as server:
        (project / "sgdx.yaml").write_text(YAML.format(url=server.url))
        assert main(["test", str(project / "sgdx.yaml"), "--junit", str(junit)]) == 1
    suite = ElementTree.fromstring(junit.read_bytes())[0]  # noqa: S314 - of our own
    assert suite.get("tests") == "20"
    names = [case.get("name", "") for case in suite.iter("testcase")]
    assert names[0] == "ticket\\x1b[31m \N{REPLACEMENT CHARACTER}"


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


def test_no_words_lose_more_cases_than_have_to_do_with_them(folder: Path) -> None:
    """Under other words a tool is called that no case of these expects."""
    tool_set = read_tool_set(folder)
    wrong = [("v1", case, call("reserve", guests=1)) for case in ("a", "b", "c", "d")]
    for element in score(tool_set, rows(wrong))["elements"]:
        assert 0 < element["lost"] + element["won"] <= element["cases"]
