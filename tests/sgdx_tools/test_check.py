"""The linter: what each rule finds and does not, and that it tells nothing without evidence."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from sarif.loader import load_sarif_file

from sgdx_tools import check as linter
from sgdx_tools.check import RULES, AllEvidence, Evidence, Finding, Ranking, evidence, find, rivals
from sgdx_tools.data import Case, ExpectedCall, Json, Tool
from sgdx_tools.folder import read_project, write_project
from sgdx_tools.json_schema import Element

from .conftest import Capture, command, objects, user


def of(name: str, description: str = "", **others: str) -> tuple[Element, Mapping[str, Element]]:
    """An element and all of its tool."""
    element = Element(name, description)
    return element, {name: element} | {k: Element(k, text) for k, text in others.items()}


FINDS = {
    "adds_nothing": [of("city"), of("city", "The city"), of("dueDates", "Due date of it")],
    "is_numbered": [of("x", "City"), of("arg3", "City"), of("param_1"), of("field2")],
    "is_abbreviated": [
        of("dprtr_dt", "Day of departure"),
        of("qnt", "How many"),
        of("departure_dt"),
    ],
    "is_short": [of("city", "Its town"), of("city", "town")],
    "is_alike": [of("a", "First name of the guest", b="First name of the host")],
}
FINDS_NOT = {
    "adds_nothing": [of("city", "City of the meal"), of("x", "y")],
    "is_numbered": [of("city"), of("address2"), of("iso3166"), of("id")],
    "is_abbreviated": [of("city_id"), of("day"), of("due_city_dt"), of("x")],
    "is_short": [of("city"), of("city", "Its town there")],
    "is_alike": [of("a", "Name of the guest", b="When it begins"), of("a", "", b="")],
}


@pytest.mark.parametrize("rule", RULES)
def test_what_a_rule_finds(rule: str) -> None:
    for element, siblings in FINDS[rule]:
        assert RULES[rule](element, siblings), element
    for element, siblings in FINDS_NOT[rule]:
        assert not RULES[rule](element, siblings), element


def test_only_rules_that_cost_are_told() -> None:
    known = evidence()
    assert known.rules and known.rules.keys() <= RULES.keys()
    assert all(0 < found.low <= found.loss <= found.high for found in known.rules.values())
    assert known.ranking.low <= known.ranking.rho <= known.ranking.high


TOOLS = (
    Tool("book", "Book a table", objects(arg1={"description": "City of the meal"},
                                         when={"description": "When"})),
    Tool("reserve_table", "Reserve a table in a city", objects(city={"description": "Its town"})),
)  # fmt: skip
CASES = (
    Case("a", (user("Reserve a table in the city"),), (ExpectedCall("book", {"when": "x"}),)),
    Case("b", (user("Bye"),), None),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_project(tmp_path / "api", TOOLS, CASES)
    return tmp_path / "api"


def test_the_costliest_rule_is_told_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = {"adds_nothing": 2.0, "is_numbered": 9.0, "is_short": 1.0}
    rules = {rule: Evidence(loss, loss - 1, loss + 1) for rule, loss in losses.items()}
    known = AllEvidence(rules, Ranking(0.5, 0.4, 0.6), "here")
    monkeypatch.setattr(linter, "evidence", lambda: known)
    found = find(read_project(folder))
    assert [finding[:3] for finding in found] == [
        ("book", "arg1", "is_numbered"),
        ("book", "when", "adds_nothing"),
        ("reserve_table", "city", "is_short"),
    ]
    assert found[0] == Finding("book", "arg1", "is_numbered", "its name 'arg1' says nothing")
    monkeypatch.setattr(linter, "evidence", lambda: AllEvidence({}, Ranking(0, 0, 0), "here"))
    assert find(read_project(folder)) == []


def test_a_rival_whose_words_are_said_more_is_named(folder: Path, capsys: Capture) -> None:
    ((tool, other, margin),) = rivals(read_project(folder))
    assert (tool, other) == ("book", "reserve_table") and margin < 0
    assert command("check", folder) == 0
    out = capsys.readouterr().out
    assert "arg1" in out and "reserve_table" in out
    assert command("check", folder / "nowhere") == 2


WORDS = {"a": "First name of the guest", "b": "First name of the host"}
SCHEMA = objects(**{name: {"type": "string", "description": text} for name, text in WORDS.items()})
PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string"}, "description": text}
    for name, text in WORDS.items()
]
FORMS: Json = {
    # Such a pair of escapes as an emoji is written by is JSON, and no YAML.
    "mcp": {"tools": [{"name": "greet", "description": "Say \U0001f600", "inputSchema": SCHEMA}]},
    "openapi": {
        "openapi": "3.1.0",
        "paths": {"/greet": {"get": {"operationId": "greet", "parameters": PARAMETERS}}},
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_of_any_form_is_checked_as_it_is(form: str, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "api.json"
    file.write_text(json.dumps(FORMS[form], indent=1))
    assert command("check", file, "--json", "--sarif", tmp_path / "out.sarif") == 0
    findings = json.loads(capsys.readouterr().out)
    found = [(f["tool"], f["path"], f["rule"]) for f in findings]
    assert found == [("greet", "a", "is_alike"), ("greet", "b", "is_alike")]
    assert findings[0]["measured"]["loss"] == pytest.approx(evidence().rules["is_alike"].loss)
    read = load_sarif_file(str(tmp_path / "out.sarif")).get_records()
    assert [(of["Code"], of["Location"], of["Line"]) for of in read] == [
        ("is_alike", str(file), 4)
    ] * 2
    (run,) = json.loads((tmp_path / "out.sarif").read_text())["runs"]
    place = run["results"][0]["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == str(file)
    line = place["physicalLocation"]["region"]["startLine"]
    assert "greet" in file.read_text().splitlines()[line - 1]
    assert place["logicalLocations"] == [{"fullyQualifiedName": "greet a"}]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {*evidence().rules}


def test_the_status_is_that_of_the_rules_that_are_to_fail(tmp_path: Path) -> None:
    file = tmp_path / "api.json"
    file.write_text(json.dumps(FORMS["mcp"]))
    before = file.read_bytes()
    assert command("check", file, "--fail-on", "is_alike") == 1
    assert command("check", file, "--fail-on", "is_abbreviated") == 0
    assert command("check", file, "--fail-on", "is_wrong") == 2
    assert command("check", file, "--sarif", file) == 2
    assert command("check") == 2
    assert file.read_bytes() == before
    for content in ("null", "[1]", '{"tools": 3}', "{"):
        file.write_text(content)
        assert command("check", file) == 2, content


SERVER = """
from mcp.server import MCPServer
server = MCPServer("kitchen")

@server.tool()
def greet(param_1: str = "", arg2: str = "") -> str:
    "Greets."
    return a

server.run()
"""


def test_places_in_sarif_are_uris_of_files_that_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """A server's tools stand in no file, but in sgdx.yaml, which names the server."""
    monkeypatch.chdir(tmp_path)
    name = "sub dir/tools [v2] \u00e4 100%.json"
    Path(name).parent.mkdir()
    Path(name).write_text(json.dumps(FORMS["mcp"]))
    Path("server.py").write_text(SERVER)

    def places(source: str) -> Json:
        assert command("check", source, "--sarif", "out.sarif") == 0
        (run,) = json.loads(Path("out.sarif").read_text())["runs"]
        found: Json = run["results"][0]["locations"][0]
        assert found["logicalLocations"]
        place: Json = found.get("physicalLocation", {})
        return place

    uri = places(name)["artifactLocation"]["uri"]
    assert uri == "sub%20dir/tools%20%5Bv2%5D%20%C3%A4%20100%25.json"
    capsys.readouterr()
    server = f"{sys.executable} server.py"
    assert places(server) == {} and "sgdx.yaml" in capsys.readouterr().err
    Path("sgdx.yaml").write_text(f"tools: {{source: {server}}}\n# greet\n")
    found = places(server)
    assert found["artifactLocation"]["uri"] == "sgdx.yaml" and found["region"]["startLine"] == 2
