"""OpenAPI documents as tools: literal tools of an own document in both versions, and bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sgdx_tools.folder import read_project
from sgdx_tools.importing.openapi import import_openapi

from ..conftest import Capture, command, read_lines

Json = Any
LIBRARY = Path(__file__).with_name("library_3_0.yaml")


def component(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def body_of(path: Path, name: str, components: Json) -> Json:
    """The schema of a body that is one of some components, after an import."""
    content = {"application/json": {"schema": component(name)}}
    operation = {"operationId": "a", "requestBody": {"content": content}}
    document = {"openapi": "3.1.0", "info": {}, "paths": {"/a": {"get": operation}}}
    path.write_text(json.dumps(document | {"components": {"schemas": components}}))
    found = import_openapi(path).tools["a"].parameters
    return {**found["properties"]["body"], "$defs": found.get("$defs", {})}


# Schemas that say by a value which of them is meant; and values, and which schema takes them.
FIRST, *ROWS = read_lines(Path(__file__).with_name("discriminators.jsonl"))
COMPONENTS = FIRST["components"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['of']} {row['value']['kind']}")
def test_a_discriminator_tells_variants_and_heirs(row: Json, tmp_path: Path) -> None:
    """By the mapping, else by the name of the schema, or what it says itself.

    Heirs are those of the mapping, and those that have the schema in their `allOf`. The same where
    schemas inherit from each other in a circle, which no validator ends.
    """
    name, file = row["of"], tmp_path / "api.json"
    body = body_of(file, name, COMPONENTS)
    assert Draft202012Validator(body).is_valid(row["value"]) == row["is_valid"]
    circle = COMPONENTS["Sent"] | {"properties": {}, "allOf": [component("Ferry")]}
    of_circle = json.dumps(body_of(file, name, COMPONENTS | {"Sent": circle})["$defs"])
    assert name in ("Sea", "Air", "Paid", "Pet") or "car ferry" in of_circle


def test_an_import_says_what_was_left_out(tmp_path: Path, capsys: Capture) -> None:
    api = tmp_path / "api"
    assert command("import", LIBRARY, "--output", api) == 0
    out, err = capsys.readouterr()
    assert out == f"{api}: 5 tools\n"
    *lines, renamed, note, following = err.splitlines()
    assert "argument body" in note and f"sgdx tools reword {api}" in following
    assert len(lines) == 6 and renamed.startswith("sgdx: renamed: 4, ")
    source = read_project(api).source
    assert [f"sgdx: left out: {line}" for line in source.left_out] == lines
    assert (source.form, list(source.files)) == ("openapi", ["library_3_0.yaml"])
