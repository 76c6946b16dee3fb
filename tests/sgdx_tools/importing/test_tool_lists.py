"""Lists of tools of OpenAI's, Anthropic's and MCP's forms, and what of them is left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgdx_tools.data import Tool, ToolWords, Variant, Words
from sgdx_tools.folder import read_project
from sgdx_tools.importing import import_source
from sgdx_tools.importing.collection import Collection
from sgdx_tools.renaming import WordedTools

from ..conftest import Capture, command, nested, objects

Json = Any
Write = Callable[[Json], Path]
TABLE = {
    **objects(
        ["guests"],
        guests={"type": "integer", "minimum": 1},
        address=objects(["city"], city={"type": "string", "enum": ["Rome", "Oslo"]}),
        dishes={"type": "array", "items": {"$ref": "#/$defs/Dish"}},
        by={"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    ),
    "additionalProperties": False,
    "$defs": {"Dish": {"properties": {"beside": {"$ref": "#/$defs/Dish"}}}},
}
BOOK = Tool("book_table", "Books a table.", TABLE)
NOW = Tool("now", "", {})


def read(path: Path) -> Collection:
    kind, collection = import_source([str(path)])
    assert kind == "list"
    return collection


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(content: Json) -> Path:
        path = tmp_path / "tools.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write_file


_BOOK = {"name": "book_table", "description": "Books a table."}
NESTED: list[Json] = [
    {"type": "function", "function": {**_BOOK, "parameters": TABLE}},
    {"type": "function", "function": {"name": "now"}},
]
FLAT: list[Json] = [
    {"type": "function", **_BOOK, "parameters": TABLE},
    {"type": "function", "name": "now", "description": None, "parameters": None},
]
ANTHROPIC: list[Json] = [
    {**_BOOK, "input_schema": TABLE},
    {"type": "custom", "name": "now", "input_schema": {}},
]
STRICT: Json = {"strict": True, "input_examples": [{"guests": 2, "address": {"city": "Rome"}}]}
MCP = [{**_BOOK, "inputSchema": TABLE}, {"name": "now", "inputSchema": {}}]


def spec(tool: Json) -> Json:
    """A tool of MCP's as Bedrock's."""
    return {"toolSpec": tool | {"inputSchema": {"json": tool["inputSchema"]}}}


def keyed(key: str) -> list[Json]:
    """The tools with their schema under another key."""
    return [{**_BOOK, key: TABLE}, {"name": "now", key: {}}]


@pytest.mark.parametrize(
    "content",
    [
        NESTED,
        FLAT,
        {"model": "m", "messages": [], "tools": NESTED},
        {"functions": [NESTED[0]["function"], {"name": "now"}]},
        ANTHROPIC,
        {"model": "m", "tools": ANTHROPIC},
        MCP,
        {"tools": MCP},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": MCP, "nextCursor": None}},
        {"toolConfig": {"tools": [spec(tool) for tool in MCP]}},
        {"contents": [], "tools": [{"functionDeclarations": keyed("parametersJsonSchema")}]},
        [{"function_declarations": keyed("parameters_json_schema")}],
        keyed("args_schema"),
        [{"type": "function", **tool} for tool in MCP],
        [*ANTHROPIC[:1], *MCP[1:]],
    ],
)
def test_the_same_tools_come_of_all_forms(content: Json, write: Write, tmp_path: Path) -> None:
    collection = read(write(content))
    assert collection.tools == {"book_table": BOOK, "now": NOW}
    assert collection.left_out == []
    folder = tmp_path / "api"
    collection.write(folder)
    assert read_project(folder).tools == collection.tools
    assert list(read_project(folder).source.files) == ["tools.json"]


# A schema in the dialects of Gemini, Python, OpenAPI 3.0 and draft 4, and in today's.
TODAYS = objects(
    n={"type": ["integer", "null"], "exclusiveMaximum": 10, "minimum": 0},
    tags={"type": "array", "items": {"type": "string"}},
    on={"type": "boolean"},
    next={"type": "object", "properties": {"again": {"$ref": "#"}}},
)


def in_dialect(schema: Json, types: dict[str, str], **words: Json) -> Json:
    """The schema with other types, and other words for its first property."""
    if isinstance(schema, list):
        return [in_dialect(part, types) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: in_dialect(value, types) for key, value in schema.items()}
    if isinstance(found.get("type"), str):
        found["type"] = types.get(found["type"], found["type"])
    if words:
        found["properties"] = {**found["properties"], "n": words}
    return found


PYTHONS = {"string": "str", "integer": "int", "array": "list", "object": "dict", "boolean": "bool"}
GEMINIS = {kind: kind.upper() for kind in PYTHONS}


@pytest.mark.parametrize(
    "schema",
    [
        TODAYS,
        in_dialect(TODAYS, GEMINIS, type="INTEGER", nullable=True, exclusiveMaximum=10, minimum=0),
        in_dialect(TODAYS, PYTHONS, type="int", nullable=True, exclusiveMaximum=10, minimum=0),
        in_dialect(
            TODAYS, {}, type=["integer", "null"], maximum=10, exclusiveMaximum=True, minimum=0,
            exclusiveMinimum=False,
        ),
        TODAYS | {"$recursiveAnchor": True, "properties": TODAYS["properties"] | {
            "next": objects(again={"$recursiveRef": "#"})}},
    ],
)  # fmt: skip
def test_a_schema_in_five_dialects_is_one_tool(schema: Json, write: Write) -> None:
    assert read(write([{"name": "f", "parameters": schema}])).tools == {"f": Tool("f", "", TODAYS)}


def test_what_cannot_be_expressed_is_noted_and_what_no_model_sees_is_kept(write: Write) -> None:
    content: Json = [{**FLAT[0], "defer_loading": True}, {"type": "web_search"}]
    collection = read(write(content))
    assert collection.left_out == ["tool 2: it is of type web_search"]
    assert collection.beside == {"tool book_table": {"defer_loading": True}}
    content = [{**ANTHROPIC[0], "cache_control": {}}, {"type": "bash_20250124", "name": "bash"}]
    content.append({"type": "mcp_toolset", "mcp_server_name": "files"})
    assert read(write(content)).left_out == [
        "tool bash: it is of type bash_20250124",
        "tool files: it is of type mcp_toolset: its address imports them",
    ]
    titled = {"title": "Book", "annotations": {"readOnlyHint": False}, "outputSchema": {}}
    for cursor in ("p2", ""):  # an empty one is not the end
        answer = {"result": {"tools": [{**MCP[0], **titled}], "nextCursor": cursor}}
        collection = read(write(answer))
        assert collection.left_out == ["the tools of further pages: the answer has a nextCursor"]
    assert collection.beside == {"tool book_table": titled}


def test_a_namespace_gives_its_tools_its_name_and_description(write: Write) -> None:
    inner = [{**FLAT[0], "defer_loading": True}, {"type": "function", "name": "now"}]
    namespace = {"type": "namespace", "name": "food", "description": "All about food."}
    collection = read(write([{**namespace, "tools": inner}, FLAT[0]]))
    assert list(collection.tools.values()) == [
        Tool("food__book_table", "All about food.\n\nBooks a table.", TABLE),
        Tool("food__now", "All about food."),
        BOOK,
    ]
    assert collection.beside == {"tool food__book_table": {"defer_loading": True}}


@pytest.mark.parametrize(
    ("form", "content"),
    [("openai", NESTED[0]["function"] | {"strict": True}), ("anthropic", ANTHROPIC[0] | STRICT)],
)
def test_strict_tools_stay_strict_and_examples_of_input_are_reworded(
    form: str, content: Json, write: Write, tmp_path: Path
) -> None:
    """The examples are Anthropic's, whose names are those of the parameters."""
    collection = read(write([content]))
    collection.write(tmp_path / "api")
    examples = {"examples": STRICT["input_examples"]} if form == "anthropic" else {}
    tool = Tool("book_table", "Books a table.", TABLE | examples, strict=True)
    assert read_project(tmp_path / "api").tools == {"book_table": tool}
    names = {"guests": Words("people"), "address.city": Words("town")}
    words = Variant("v1", {"book_table": ToolWords("reserve", parameters=names)})
    worded = WordedTools(collection.tools, words).tool("book_table")
    new = [{"people": 2, "address": {"town": "Rome"}}] if examples else None
    assert worded.strict and worded.parameters.get("examples") == new


def test_names_are_changed_and_tools_that_are_not_understood_are_left_out(write: Write) -> None:
    """So is the second of two tools of one name; names change where providers do not take them."""
    remote = {"type": "object", "properties": {"a": {"$ref": "https://example.org/a.json"}}}
    schemas = {"remote": remote, "deep": nested(150), "list": {"type": "array"}, "now": {}}
    names = ["fs/read.file", "fs_read_file", "x" * 70]
    tools = [{"name": name, "inputSchema": {}} for name in names]
    tools += [{"name": name, "inputSchema": schema} for name, schema in schemas.items()]
    collection = read(write([*MCP, *tools]))
    new = ["fs_read_file_2", "fs_read_file", "x" * 64]
    assert list(collection.tools) == ["book_table", "now", *new]
    assert [*collection.tools.values()][:2] == [BOOK, NOW]
    assert [line.split(":")[0] for line in collection.left_out] == [f"tool {n}" for n in schemas]
    assert [line.split(":")[0] for line in collection.renamed] == [
        "tool fs/read.file",
        f"tool {'x' * 70}",
    ]


def test_long_lists_are_cut_and_controls_are_escaped(tmp_path: Path, capsys: Capture) -> None:
    tools: list[dict[str, object]] = [{"name": "t", "defer_loading": True, "\x1b[31m": 1}]
    tools += [{"type": f"\x1b[31m{i}"} for i in range(30)]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    api = tmp_path / "api"
    assert command("import", tmp_path / "tools.json", "--output", api) == 0
    *lines, kept, _ = capsys.readouterr().err.splitlines()
    assert lines[0] == r"sgdx: left out: tool 2: it is of type \x1b[31m0"
    assert kept.endswith(
        r"source.json keeps what no model is shown: defer_loading of 1, \x1b[31m of 1"
    )
    assert len(lines) == 21 and "10 more" in lines[-1] and "source.json" in lines[-1]
    assert len(read_project(api).source.left_out) == 30
