"""Lists of tools, as OpenAI's and Anthropic's APIs take them, and as an MCP server gives them.

OpenAI's are nested, of chat completions, or flat, of responses. Titles, annotations and schemas of
results are meant for programs, and a model is not shown them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import parse_json

from ..data import Json
from .collection import Collection, tool_records


class _OpenAI(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: Json | None = None
    type: str = "function"


class _Anthropic(msgspec.Struct):
    name: str
    parameters: Json = msgspec.field(name="input_schema")
    description: str | None = None
    type: str | None = None


class _MCP(msgspec.Struct):
    name: str
    parameters: Json = msgspec.field(name="inputSchema")
    description: str | None = None


_Tool = _OpenAI | _Anthropic | _MCP
_TYPES: dict[str, type[_Tool]] = {"openai": _OpenAI, "anthropic": _Anthropic, "mcp": _MCP}
# What a tool says it is that a program runs, and not the provider; None where it says nothing.
_KINDS = {"openai": (None, "function"), "anthropic": (None, "custom")}


def import_list(form: str, path: Path) -> Collection:
    """Read a list of tools, a request that has one, or a server's answer to ``tools/list``."""
    collection = Collection(form)
    content: Any = parse_json(collection.add_file(path), object, str(path), "a list of tools")
    if isinstance(content, dict) and form == "mcp":
        if "error" in content:
            raise SgdxError(f"{path}: found the server's error {str(content['error'])[:200]}")
        content = content.get("result", content)
    keys = ("tools", "functions") if form == "openai" else ("tools",)
    tools = []
    for i, record in enumerate(tool_records(content, keys, path), 1):
        kind = record.get("type")
        if form in _KINDS and kind not in _KINDS[form]:
            collection.left_out.append(f"tool {record.get('name', i)}: it is of type {kind}")
            continue
        inner, beyond = record, list[str]()
        if form == "openai" and isinstance(record.get("function"), dict):
            inner = record["function"]
            beyond = [key for key in record if key not in ("type", "function")]
        try:
            tool = msgspec.convert(inner, _TYPES[form])
        except msgspec.ValidationError as error:
            raise SgdxError(f"{path}: tool {i}: {error}") from None
        if not tool.name:
            raise SgdxError(f"{path}: tool {i}: name: found it empty, expected a name")
        beyond += [key for key in inner if key not in tool.__struct_encode_fields__]
        if beyond:
            collection.left_out.append(f"tool {tool.name}: {', '.join(beyond)}")
        tools.append((tool.name, tool.description or "", tool.parameters or {}))
    if isinstance(content, dict) and content.get("nextCursor"):
        collection.left_out.append("the tools of further pages: the answer has a nextCursor")
    collection.add_tools(tools)
    return collection
