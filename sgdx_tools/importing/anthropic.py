"""Tools as Anthropic's API takes them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..data import Json
from .collection import Collection, read_json, read_record, tool_records


class _Tool(msgspec.Struct):
    name: str
    input_schema: Json
    description: str | None = None
    type: str | None = None


def import_anthropic(path: Path) -> Collection:
    """Read a list of tools, or a request that has one as ``tools``.

    Raises:
        SgdxError: The file is not of the form.
    """
    collection = Collection("anthropic")
    content = read_json(collection, path, "a list of tools")
    tools = []
    for i, record in enumerate(tool_records(content, ("tools",), path), 1):
        if record.get("type") not in (None, "custom"):
            fault = f"its type is {record['type']}, whose schema the provider has"
            collection.leave_out(f"tool {record.get('name', i)}: {fault}")
            continue
        tool, keys = read_record(record, _Tool, f"{path}: tool {i}")
        if keys:
            collection.leave_out(f"tool {tool.name}: {', '.join(keys)}")
        tools.append((tool.name, tool.description or "", tool.input_schema))
    collection.add_tools(tools)
    return collection
