"""Tools as a server of the Model Context Protocol lists them in its answer to ``tools/list``."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sgdx_dataset import SgdxError

from ..data import Json
from .collection import Collection, read_json, read_record, tool_records


class _Tool(msgspec.Struct, rename="camel"):
    name: str
    input_schema: Json
    description: str | None = None


def import_mcp(path: Path) -> Collection:
    """Read the whole JSON-RPC answer, its ``result``, or the list of tools in it.

    Titles, annotations and schemas of results are noted as left out: they are meant for programs,
    and a model is not shown them.

    Raises:
        SgdxError: The file is not of the form, or has the server's error.
    """
    collection = Collection("mcp")
    content = read_json(collection, path, "an answer to tools/list")
    if isinstance(content, dict) and "error" in content:
        raise SgdxError(f"{path}: found the server's error {str(content['error'])[:200]}")
    if isinstance(content, dict) and "result" in content:
        content = content["result"]
    tools = []
    for i, record in enumerate(tool_records(content, ("tools",), path), 1):
        tool, keys = read_record(record, _Tool, f"{path}: tool {i}")
        if keys:
            collection.leave_out(f"tool {tool.name}: {', '.join(keys)}")
        tools.append((tool.name, tool.description or "", tool.input_schema))
    if isinstance(content, dict) and content.get("nextCursor"):
        collection.leave_out("the tools of further pages: the answer has a nextCursor")
    collection.add_tools(tools)
    return collection
