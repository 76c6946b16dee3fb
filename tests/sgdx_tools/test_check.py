"""The linter: what each rule finds, and what it does not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from sarif.loader import load_sarif_file

from sgdx_tools.check import OFF, RULES, find
from sgdx_tools.data import Json, Project, Tool
from sgdx_tools.values import why_no_call_fits

from .conftest import Capture, command, mcp_server, objects, read_lines

# Tools, each with the rule that finds something in it, or with none where nothing is a fault.
CHECKED = read_lines(Path(__file__).with_name("checked.jsonl"))


def found_in(*tools: Tool) -> list[str]:
    project = Project("x", {tool.id: tool for tool in tools})
    return [finding.rule for finding in find(project, RULES)]


@pytest.mark.parametrize("row", CHECKED, ids=lambda row: row["rule"] or "no fault")
def test_what_a_rule_finds(row: Json) -> None:
    assert found_in(Tool(**row["tool"])) == [row["rule"]] * (row["rule"] is not None)


def test_tools_of_the_same_words_are_found() -> None:
    assert {row["rule"] for row in CHECKED} - {None} == {*RULES} - {"same_words"}
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
    named = ("--fail-on", "other_type", "--json", "--sarif", tmp_path / "out.sarif")
    assert command("check", file, *named) == 1
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


def test_the_status_is_that_of_the_rules_that_are_to_fail(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "api.json"
    file.write_text(json.dumps(FORMS["mcp"]))
    assert command("check", file, "--fail-on", "other_type") == 1
    capsys.readouterr()
    assert command("check", file, "--fail-on", "no_words") == 0  # which looks for no other rule
    assert "other_type" in OFF and capsys.readouterr().out.startswith("0 findings")


def test_places_in_sarif_are_uris_of_files_that_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """A server's tools stand in no file, but in sgdx.yaml, which names the server."""
    monkeypatch.chdir(tmp_path)
    name = "sub dir/tools [v2] \u00e4 100%.json"
    Path(name).parent.mkdir()
    Path(name).write_text(json.dumps(FORMS["mcp"]))
    Path("server.py").write_text(mcp_server(FORMS["mcp"]["tools"][0]))

    def places(source: str) -> Json:
        named = ("--fail-on", "other_type", "--sarif", "out.sarif")
        assert command("check", source, *named) == 1
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
