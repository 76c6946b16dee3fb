"""Lists of tools of OpenAI's, Anthropic's and MCP's forms, and what of them is left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgdx_tools.data import Tool, ToolWords, Variant, Words
from sgdx_tools.folder import read_project
from sgdx_tools.importing import import_source, kind_of
from sgdx_tools.importing.collection import Collection
from sgdx_tools.keys import Tools
from sgdx_tools.renaming import WordedTools

from ..conftest import Capture, command, objects

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


def read(path: Path) -> Collection:
    assert kind_of(str(path)) == "list"
    return import_source(Tools(str(path)))


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
ANTHROPIC: list[Json] = [
    {**_BOOK, "input_schema": TABLE},
    {"type": "custom", "name": "now", "input_schema": {}},
]
STRICT: Json = {"strict": True, "input_examples": [{"guests": 2, "address": {"city": "Rome"}}]}


# A schema in the dialects of Gemini, Python, OpenAPI 3.0 and draft 4, and in today's.
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
