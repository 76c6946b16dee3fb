"""OpenAPI documents as tools: literal tools of an own document in both versions, and bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sgdx_tools.folder import read_project
from sgdx_tools.importing.collection import Collection
from sgdx_tools.importing.openapi import import_openapi

from ..conftest import Capture, command, objects

Json = Any
LIBRARY = Path(__file__).with_name("library_3_0.yaml")


def import_document(tmp_path: Path, document: Json) -> Collection:
    path = tmp_path / "api.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return import_openapi(path)


def document_of(**operation: Json) -> Json:
    paths = {"/a": {"get": {"operationId": "a", **operation}}}
    return {"openapi": "3.1.0", "info": {}, "paths": paths}


def body_of(tmp_path: Path, schema: Json, **components: Json) -> tuple[Json, Json]:
    """The schema of a body, after it and components are imported, with its definitions."""
    document = document_of(requestBody={"content": {"application/json": {"schema": schema}}})
    document |= {"components": {"schemas": components}}
    found = import_document(tmp_path, document).tools["a"].parameters
    return found["properties"]["body"], found.get("$defs", {})


def component(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def heir(of: str, name: str) -> Json:
    return {"allOf": [component(of), objects([name], **{name: {}})]}


SENT = objects(["kind"], kind={"type": "string"}) | {
    "discriminator": {"propertyName": "kind", "mapping": {"sea": "Sea", "car ferry": "Ferry"}}
}
PAID = {
    "oneOf": [component("Card"), component("Cash")],
    "discriminator": {
        "propertyName": "kind",
        "mapping": {"card": component("Card")["$ref"], "credit-card": "Card"},
    },
}
COMPONENTS = {
    "Sent": SENT,
    "Sea": heir("Sent", "vessel"),
    "Ferry": heir("Sea", "cars"),
    "Air": heir("Sent", "flight"),
    "Named": {"allOf": [component("Sent")], "description": "Other words"},
    "Paid": PAID,
    "Card": objects(kind={}, pan={}),
    "Cash": objects(kind={}),
    "Pet": {
        "oneOf": [component("Cat"), component("Dog")],
        "discriminator": {"propertyName": "kind"},
    },
    "Cat": objects(["kind"], kind={"const": "cat"}),
    "Dog": objects(["kind"], kind={"enum": ["dog", "Dog"]}),
}


@pytest.mark.parametrize(
    ("of", "value", "is_valid"),
    [
        # By the mapping, to a reference or a name, or else by the name of the schema.
        ("Paid", {"kind": "card"}, True),
        ("Paid", {"kind": "credit-card"}, True),
        ("Paid", {"kind": "Cash"}, True),
        ("Paid", {"kind": "Card"}, False),
        ("Paid", {"kind": "cash"}, False),
        # Or by what the schema says itself.
        ("Pet", {"kind": "cat"}, True),
        ("Pet", {"kind": "Cat"}, False),
        ("Pet", {"kind": "Dog"}, True),
        # Heirs are those of the mapping, and those that have the schema in their `allOf`.
        ("Sent", {"kind": "sea", "vessel": "Ann"}, True),
        ("Sent", {"kind": "Air", "flight": 7}, True),
        ("Sent", {"kind": "Air", "vessel": "Ann"}, False),
        ("Sent", {"kind": "car ferry", "vessel": "Ann", "cars": 2}, True),
        ("Sent", {"kind": "car ferry", "vessel": "Ann"}, False),
        ("Sent", {"kind": "ship", "vessel": "Ann", "cars": 2}, False),
        ("Sea", {"kind": "sea", "vessel": "Ann"}, True),
        ("Sea", {"kind": "car ferry", "vessel": "Ann"}, False),
        ("Ferry", {"kind": "car ferry", "vessel": "Ann", "cars": 2}, True),
        ("Ferry", {"kind": "sea", "vessel": "Ann", "cars": 2}, False),
        ("Named", {"kind": "sea", "vessel": "Ann"}, True),
        ("Named", {"kind": "sea"}, False),
    ],
)
def test_a_discriminator_tells_variants_and_heirs(
    of: str, value: Json, is_valid: bool, tmp_path: Path
) -> None:
    """The same where schemas inherit from each other in a circle, which no validator ends."""
    body, definitions = body_of(tmp_path, component(of), **COMPONENTS)
    assert Draft202012Validator({**body, "$defs": definitions}).is_valid(value) == is_valid
    circle = COMPONENTS | {"Sent": SENT | {"properties": {}, "allOf": [component("Ferry")]}}
    _, of_circle = body_of(tmp_path, component(of), **circle)
    assert of in ("Sea", "Air", "Paid", "Pet") or "car ferry" in json.dumps(of_circle)


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
