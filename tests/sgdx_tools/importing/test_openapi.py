"""OpenAPI documents as tools: literal tools of an own document in both versions, and bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sgdx_dataset import SgdxError
from sgdx_tools.data import Tool
from sgdx_tools.folder import read_project
from sgdx_tools.importing.collection import Collection
from sgdx_tools.importing.openapi import import_openapi

from ..conftest import Capture, command, objects

Json = Any
LIBRARY = Path(__file__).with_name("library_3_0.yaml")
FILTER = objects(shelf={"type": "string"}, tags={"type": "array", "items": {"type": "string"}}) | {
    "additionalProperties": {"type": "boolean"}
}
BOOK = objects(
    ["title"],  # the id is only read
    title={"type": "string", "description": "Its title.", "examples": ["Emma"]},
    sequel={"$ref": "#/$defs/Book", "description": "What follows."},
    shelf={"anyOf": [{"allOf": [{"$ref": "#/$defs/shelf"}]}, {"type": "null"}]},
)
DEFINITIONS = {"Book": BOOK, "shelf": {"type": "string"}}
NOTED = objects(["note"], note={"type": ["string", "null"]})
BOOK_ID = {"type": "integer", "format": "int64", "description": "Its number."}


def import_document(tmp_path: Path, document: Json) -> Collection:
    path = tmp_path / "api.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return import_openapi(path)


def document_of(**operation: Json) -> Json:
    paths = {"/a": {"get": {"operationId": "a", **operation}}}
    return {"openapi": "3.1.0", "info": {}, "paths": paths}


def only_schema(tmp_path: Path, **operation: Json) -> Json:
    return import_document(tmp_path, document_of(**operation)).tools["a"].parameters


def body_of(tmp_path: Path, schema: Json, **components: Json) -> tuple[Json, Json]:
    """The schema of a body, after it and components are imported, with its definitions."""
    document = document_of(requestBody={"content": {"application/json": {"schema": schema}}})
    document |= {"components": {"schemas": components}}
    found = import_document(tmp_path, document).tools["a"].parameters
    return found["properties"]["body"], found.get("$defs", {})


def test_a_document_of_3_0(tmp_path: Path) -> None:
    collection = import_openapi(LIBRARY, with_headers=True)
    assert list(collection.tools.values()) == [
        Tool(
            "getBook",
            "Find a book\n\nFinds a book by its number.",
            {
                **objects(
                    ["bookId"],
                    bookId=BOOK_ID,
                    # `no` is a text in YAML 1.2, and the operation's parameter replaces the path's.
                    language={
                        "type": ["string", "null"],
                        "enum": ["no", "en", None],
                        "description": "Of the text.",
                    },
                    **{"X-Trace": {"type": "string", "examples": ["abc"]}},
                    page_size={"type": "integer", "exclusiveMinimum": 0},
                    filter={"$ref": "#/$defs/Filter"},
                ),
                "$defs": {"Filter": FILTER},
            },
        ),
        Tool(
            "patch_books_bookId",
            "Change a book",
            {
                **objects(
                    ["bookId"],
                    bookId=BOOK_ID,
                    language={"type": "string", "enum": ["no", "yes", "en"]},
                    body={"allOf": [{"$ref": "#/$defs/Book"}, NOTED]},
                ),
                "$defs": DEFINITIONS,
            },
        ),
        Tool(
            "addBook",
            "",
            {
                **objects(["body"], body={"$ref": "#/$defs/Book", "description": "The new book."}),
                "$defs": DEFINITIONS,
            },
        ),
        Tool(
            "put_cover",
            "",
            objects(
                ["body_query"],
                body_query={"type": "string", "examples": ["back"]},
                id={"type": "integer"},
                id_cookie={"type": "string", "deprecated": True},
                body={"type": "string"},
            ),
        ),
        Tool("health", "Says whether it works.", {}),
    ]
    assert [line.split(":")[:2] for line in collection.left_out] == [
        ["GET /books/{bookId}", " header Accept"],
        ["PATCH /books/{bookId}", " only read, never sent"],
        ["POST /books", " its body as text/csv; it is application/json here"],
        ["POST /books", " only read, never sent"],
        ["GET /broken", " found $ref other.yaml, which is no file"],
    ]
    renamed = [line.partition(": ")[2] for line in collection.renamed]
    assert [line.split()[-1] for line in renamed[:3]] == ["page_size", "body_query", "id_cookie"]
    assert renamed[3].endswith("it is put_cover here")
    folder = tmp_path / "api"
    collection.write(folder)
    assert read_project(folder).tools == collection.tools


def test_a_parameter_in_the_path_is_required(tmp_path: Path) -> None:
    """Whether it says so or not: there is no path without it."""
    places = ("path", "query")
    listed = [{"name": place, "in": place, "schema": {"type": "string"}} for place in places]
    assert only_schema(tmp_path, parameters=listed)["required"] == ["path"]


def test_schemas_of_3_1_stay_as_they_are(tmp_path: Path) -> None:
    schema = objects(a={"const": 1}, b={"type": "number", "exclusiveMinimum": 0}) | {
        "type": ["object", "null"],
        "patternProperties": {"^x-": True},
        "if": {"properties": {"a": {"const": 1}}},
        "then": {"required": ["b"]},
        "prefixItems": [{"type": "string"}],
        "unevaluatedProperties": False,
        "examples": [{"a": 1}],
    }
    assert body_of(tmp_path, schema) == (schema, {})


@pytest.mark.parametrize(
    ("version", "beside"),
    [("3.1.1", {"minLength": 2, "description": "d"}), ("3.0.0", {"description": "d"})],
)
def test_what_stands_beside_a_reference(version: str, beside: Json, tmp_path: Path) -> None:
    schema = {"$ref": "#/components/schemas/A", "minLength": 2, "description": "d"}
    document = document_of(parameters=[{"name": "p", "in": "query", "schema": schema}])
    document |= {"components": {"schemas": {"A": {"type": "string"}}}, "openapi": version}
    tool = import_document(tmp_path, document).tools["a"]
    assert tool.parameters["properties"] == {"p": {"$ref": "#/$defs/A", **beside}}


def test_references_to_any_part_and_to_each_other(tmp_path: Path) -> None:
    places = ("schemas/a~1b/items", "schemas/x%20y", "other/items")
    listed = [
        {"name": name, "in": "query", "schema": {"$ref": f"#/components/{place}"}}
        for name, place in zip("pqr", places, strict=True)
    ]
    schemas = {
        "a/b": {"items": {"$ref": "#/components/schemas/x%20y"}},
        "x y": {"properties": {"back": {"$ref": "#/components/schemas/a~1b"}}},
    }
    document = document_of(parameters=listed)
    document["components"] = {"schemas": schemas, "other": {"items": True}}
    names = {"p": "items", "q": "x_y", "r": "items_2"}
    defined = {
        "items": {"$ref": "#/$defs/x_y"},
        "x_y": {"properties": {"back": {"$ref": "#/$defs/a_b"}}},
        "items_2": True,
        "a_b": {"items": {"$ref": "#/$defs/x_y"}},
    }
    properties = {name: {"$ref": f"#/$defs/{to}"} for name, to in names.items()}
    found = import_document(tmp_path, document).tools["a"].parameters
    assert found == objects(**properties) | {"$defs": defined}


def test_headers_are_arguments_only_if_asked() -> None:
    collection = import_openapi(LIBRARY)
    properties = collection.tools["getBook"].parameters["properties"]
    assert list(properties) == ["bookId", "language", "page_size", "filter"]
    assert "header X-Trace" in " ".join(collection.left_out)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"parameters": [{"$ref": "#/components/x"}]}, "GET /a: $ref #/components/x is not in"),
        ({"parameters": [{"name": "p"}]}, "GET /a: found the parameter 'p' in 'None'"),
        ({"$ref": "resources/a.yml"}, "GET /a: found $ref resources/a.yml, which is no file"),
        ({"parameters": [{"name": "p", "in": "query", "schema": 5}]}, "GET /a: found '5'"),
        ({"requestBody": {"$ref": "#/paths/~1a/get/requestBody"}}, "refers to itself"),
        (
            {"operationId": "b", "requestBody": {"content": {"a/json": {"schema": []}}}},
            "found '[]'",
        ),
    ],
)
def test_an_operation_that_cannot_be_read_is_left_out(
    operation: Json, reason: str, tmp_path: Path
) -> None:
    document = document_of(**operation)
    document["paths"]["/ok"] = {"get": {"operationId": "ok"}}
    collection = import_document(tmp_path, document)
    assert list(collection.tools) == ["ok"]
    assert reason in collection.left_out[0], collection.left_out
    assert collection.left_out[0].endswith("the tool is left out")


def test_names_of_operations_are_distinct(tmp_path: Path) -> None:
    """Ids go first; who has none, or that of another, is called by method and path."""
    document = document_of()
    document["paths"] |= {
        "/b/{x}": {"get": {}},
        "/b/x": {"get": {"operationId": "a"}},
        "/c": {"get": {"operationId": "get_b_x"}},
    }
    collection = import_document(tmp_path, document)
    assert list(collection.tools) == ["a", "get_b_x_2", "get_b_x_3", "get_b_x"]
    assert collection.left_out == []
    assert collection.renamed == ["GET /b/x: GET /a has its operationId a: it is get_b_x_3"]


def test_files_of_the_folder_refer_to_each_other(tmp_path: Path) -> None:
    """From the first file, from one below and back, in both directions and in a circle."""
    (tmp_path / "schemas").mkdir()
    kind, owner = {"$ref": "../api.json#/x/Kind"}, {"$ref": "all.json#/Owner"}
    pet = objects(owner=owner, kind=kind)
    (tmp_path / "schemas" / "pet.yaml").write_text(json.dumps(pet))
    pets = {"type": "array", "items": {"$ref": "./pet.yaml"}}
    shared = {"Owner": objects(pets={"$ref": "#/Pets"}), "Pets": pets}
    (tmp_path / "schemas" / "all.json").write_text(json.dumps(shared))
    (tmp_path / "paths.yaml").write_text(
        "/pets:\n  post:\n    operationId: add\n    requestBody:\n      content:\n"
        "        application/json: {schema: {$ref: schemas/pet.yaml}}\n"
    )
    document = {
        "openapi": "3.2.0",
        "x": {"Kind": {"enum": ["cat"]}},
        "paths": {"/pets": {"$ref": "paths.yaml#/~1pets"}},
    }
    collection = import_document(tmp_path, document)
    assert collection.tools["add"].parameters == objects(body={"$ref": "#/$defs/pet"}) | {
        "$defs": {
            "pet": objects(owner={"$ref": "#/$defs/Owner"}, kind={"$ref": "#/$defs/Kind"}),
            "Owner": objects(pets={"$ref": "#/$defs/Pets"}),
            "Kind": {"enum": ["cat"]},
            "Pets": {"type": "array", "items": {"$ref": "#/$defs/pet"}},
        }
    }
    assert sorted(collection.files) == ["all.json", "api.json", "paths.yaml", "pet.yaml"]


@pytest.mark.parametrize("name", ["../secret.yaml", "/etc/passwd", "https://a.example/x.yaml"])
def test_no_file_outside_the_folder_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.yaml").write_text("type: string")
    (tmp_path / "in").mkdir()
    schema = {"parameters": [{"name": "q", "in": "query", "schema": {"$ref": name}}]}
    document = document_of(**schema)
    document["paths"]["/b"] = {"get": {"operationId": "b"}}
    collection = import_document(tmp_path / "in", document)
    assert list(collection.tools) == ["b"] and list(collection.files) == ["api.json"]
    assert "inside the document's folder" in collection.left_out[0]


def test_operations_of_3_2(tmp_path: Path) -> None:
    whole = {"content": {"application/x-www-form-urlencoded": {"schema": objects(a={})}}}
    item = {
        "query": {
            "operationId": "find",
            "parameters": [{"name": "all", "in": "querystring", **whole}],
        },
        "additionalOperations": {"COPY": {"operationId": "copy"}},
    }
    tools = import_document(tmp_path, {"openapi": "3.2.0", "paths": {"/a": item}}).tools
    assert tools["find"].parameters == objects(all=objects(a={}))
    assert list(tools) == ["find", "copy"]


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


def test_a_variant_that_is_not_in_the_file_is_named(tmp_path: Path) -> None:
    discriminator = {"propertyName": "kind", "mapping": {"sea": "Sea"}}
    schema = objects(kind={}) | {"discriminator": discriminator}
    document = document_of(requestBody={"content": {"application/json": {"schema": schema}}})
    document["components"] = {"schemas": {"Odd": 5}}
    collection = import_document(tmp_path, document)
    assert collection.left_out == [
        "GET /a: the variant by kind: sea: there is no #/components/schemas/Sea"
    ]


def test_only_takes_operations_by_name_path_or_tag(tmp_path: Path) -> None:
    """What is not asked for is no loss."""
    paths = {
        "/pets/{id}": {"get": {"operationId": "find"}, "put": {"operationId": "change"}},
        "/shops": {"get": {"operationId": "list", "tags": ["shop"]}},
        "/broken": {"get": {"parameters": 3}},
    }
    path = tmp_path / "api.json"
    path.write_text(json.dumps({"openapi": "3.1.0", "paths": paths}))
    for only, names in {("/pets*",): ["find", "change"], ("f*", "shop"): ["find", "list"]}.items():
        collection = import_openapi(path, only=only)
        assert (list(collection.tools), collection.left_out) == (names, [])
    with pytest.raises(SgdxError, match="nothing"):
        import_openapi(path, only=["find", "nothing"])


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


@pytest.mark.parametrize(
    ("keyword", "reference"),
    [
        ({"$recursiveAnchor": True}, {"$recursiveRef": "#"}),
        ({"$dynamicAnchor": "node"}, {"$dynamicRef": "#node"}),
        ({}, {"$ref": "#/components/schemas/Both"}),
    ],
)
def test_a_schema_that_refers_to_itself(keyword: Json, reference: Json, tmp_path: Path) -> None:
    """However it says so, the definition refers to itself."""
    parts = {"type": "array", "items": reference}
    both = objects(parts=parts, port={"type": "string"}) | keyword
    _, found = body_of(tmp_path, {"$ref": "#/components/schemas/Both"}, Both=both)
    assert found["Both"]["properties"]["parts"]["items"] == {"$ref": "#/$defs/Both"}
    assert "$recursiveAnchor" not in found["Both"]
    lost = document_of(requestBody={"content": {"application/json": {"schema": objects(
        next={"$recursiveRef": "#"})}}})  # fmt: skip
    assert any("$recursiveRef" in line for line in import_document(tmp_path, lost).left_out)
