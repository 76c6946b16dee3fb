"""The linter: what each rule finds, and what it does not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from sarif.loader import load_sarif_file

from sgdx_tools.check import RULES, find
from sgdx_tools.data import Json, Project, Tool
from sgdx_tools.values import why_no_call_fits

from .conftest import Capture, command, objects


def described(text: str, is_required: bool = False, **schema: Any) -> Tool:
    """A tool with one argument `a`."""
    names = {"a": {"description": text, **schema}}
    return Tool("t", "Do it", objects(["a"] if is_required else None, **names))


def variants(*kinds: Json) -> Tool:
    """A tool whose argument is one of several objects, told by their property `kind`."""
    return Tool(
        "t", "Do it", objects(["a"], a={"oneOf": [objects(["kind"], kind=k) for k in kinds]})
    )


ENUM: Json = {"type": "string", "enum": ["a", "b", "c"]}
FINDS: dict[str, list[Tool]] = {
    "no_call": [
        described("x", True, type="integer", enum=["1", "2"]),
        described("x", True, type="integer", minimum=5, maximum=4),
        described("x", True, allOf=[{"const": "Cat"}, {"enum": ["cat", "dog"]}]),
        variants({"const": 1, "type": "string"}, {"enum": []}),
        Tool("t", "Do it", objects(["a"], a=False)),
    ],
    "unknown_name": [
        Tool("t", "Do it", objects(["b"], a={"type": "string"})),
        Tool("t", "Do it", objects(a=objects(["x"], y={}))),
    ],
    "other_type": [
        described("A number", type="string"),
        described("The list of names", type="string"),
        described("How many; must be a string", type="integer"),
        described("City (integer)", type=["string", "null"]),
    ],
    "other_values": [
        described("One of a, b or d.", **ENUM),
        described("Either 'a' or 'b'", **ENUM),
        described("One of 'New York' or 'LA'.", type="string", enum=["New York", "LA", "Rome"]),
        described("Unit", type="string", enum=["a"], default="b"),
    ],
    "other_range": [
        described("Hours, between 1 and 10", type="integer", minimum=1, maximum=24),
        described("At most 5.", type="integer", maximum=10),
        described("At least 5", type="integer", default=1),
    ],
    "other_default": [
        described("Unit. Defaults to 'km'", type="string", default="miles"),
        described("Size, default: 10", type="integer", default=20),
    ],
    "optional": [described("(optional) the city", True, type="string")],
    "no_words": [Tool("t")],
}
# What earlier rules found, and what is no contradiction.
FINDS_NOT = [
    described("A number of guests", type="string"),
    described("A list name", type="string"),
    described("An object id", type="string"),
    described("List of ids, separated by commas", type="string"),
    described("Number of people", type="integer"),
    described("A number", type=["integer", "null"]),
    described("A string", anyOf=[{"type": "string"}, {"type": "null"}]),
    described("One of a, b, c", **ENUM),
    described("Either `a`, `b` or `c`.", **ENUM),
    described("One of the values of the list", **ENUM),
    described("From 1 to 10", type="integer", minimum=1, maximum=10),
    described("From 2020-01-01 to 2020-12-31", type="integer", minimum=1),
    described("Default: 10", type="integer", default=10.0),
    described("Defaults to the current user", type="string", default="me"),
    described("Defaults to true", type="boolean", default=True),
    described("Optional flags of the call", True, type="string"),
    described("Address", format="uri", type="string"),
    described("x", type="integer", enum=["1"]),  # which may be left out
    variants({"const": "cat"}, {"const": 1, "type": "string"}),
    Tool("t", "Do it", objects(http_url={"type": "string"}, md5={"type": "string"})),
    Tool("t", "Do it", objects(a={"anyOf": [
        objects(x={"description": "First name of the guest"}),
        objects(x={"description": "First name of the host"}),
    ]})),
    Tool("t", "Do it", objects(width={"description": "The width of it, in px"},
                               height={"description": "The height of it, in px"})),
]  # fmt: skip


def found_in(*tools: Tool) -> list[str]:
    return [finding.rule for finding in find(Project("x", {tool.id: tool for tool in tools}))]


@pytest.mark.parametrize("rule", FINDS)
def test_what_a_rule_finds(rule: str) -> None:
    for tool in FINDS[rule]:
        assert found_in(tool) == [rule], tool


def test_what_is_no_fault_is_not_found() -> None:
    assert [tool for tool in FINDS_NOT if found_in(tool)] == []
    same = [Tool(name, f"{words} a  table") for name, words in zip("abc", ("Book", "Book", "Seat"))]
    assert found_in(*same) == ["same_words"]


def test_schemas_that_branch_without_end_take_no_time() -> None:
    branch: Json = {"anyOf": [{"$ref": "#"}] * 20, "properties": {"a": {"$ref": "#"}}}
    assert why_no_call_fits({"type": "object", "required": ["a"], **branch}) == ""


WORDS = {"a": "A number", "b": "The list of guests"}
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
        "paths": {
            "/greet": {
                "get": {"operationId": "greet", "summary": "Greet", "parameters": PARAMETERS}
            }
        },
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_of_any_form_is_checked_as_it_is(form: str, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "api.json"
    file.write_text(json.dumps(FORMS[form], indent=1))
    assert command("check", file, "--json", "--sarif", tmp_path / "out.sarif") == 0
    findings = json.loads(capsys.readouterr().out)
    found = [(f["tool"], f["path"], f["rule"]) for f in findings]
    assert found == [("greet", "a", "other_type"), ("greet", "b", "other_type")]
    read = load_sarif_file(str(tmp_path / "out.sarif")).get_records()
    assert [(of["Code"], of["Location"], of["Line"]) for of in read] == [
        ("other_type", str(file), 4)
    ] * 2
    (run,) = json.loads((tmp_path / "out.sarif").read_text())["runs"]
    place = run["results"][0]["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == str(file)
    line = place["physicalLocation"]["region"]["startLine"]
    assert "greet" in file.read_text().splitlines()[line - 1]
    assert place["logicalLocations"] == [{"fullyQualifiedName": "greet a"}]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {*RULES}


def test_the_status_is_that_of_the_rules_that_are_to_fail(tmp_path: Path) -> None:
    file = tmp_path / "api.json"
    file.write_text(json.dumps(FORMS["mcp"]))
    before = file.read_bytes()
    assert command("check", file, "--fail-on", "other_type") == 1
    assert command("check", file, "--fail-on", "no_words") == 0
    assert command("check", file, "--fail-on", "other_typ") == 2
    assert command("check", file, "--sarif", file) == 2
    assert command("check") == command("check", tmp_path / "nowhere") == 2
    assert file.read_bytes() == before
    for content in ("null", "[1]", '{"tools": 3}', "{"):
        file.write_text(content)
        assert command("check", file) == 2, content


SERVER = """
from typing import Annotated
from pydantic import Field
from mcp.server import MCPServer
server = MCPServer("kitchen")

@server.tool()
def greet(x: Annotated[str, Field(description="A number")] = "") -> str:
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
