"""Tools as OpenAI's APIs take them: nested, of chat completions, or flat, of responses."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..data import Json
from .collection import Collection, read_json, read_record, tool_records


class _Function(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: Json | None = None
    type: str = "function"


def import_openai(path: Path) -> Collection:
    """Read a list of tools, or a request that has one as ``tools`` or ``functions``.

    Raises:
        SgdxError: The file is not of the form.
    """
    collection = Collection("openai")
    content = read_json(collection, path, "a list of tools")
    tools = []
    for i, record in enumerate(tool_records(content, ("tools", "functions"), path), 1):
        where = f"{path}: tool {i}"
        kind = record.get("type", "function")
        if kind != "function":
            collection.leave_out(f"tool {i}: it is of type {kind}, and not a function")
            continue
        inner, outer_keys = record, list[str]()
        if isinstance(record.get("function"), dict):
            inner = record["function"]
            outer_keys = [key for key in record if key not in ("type", "function")]
        function, keys = read_record(inner, _Function, where)
        if keys or outer_keys:
            collection.leave_out(f"tool {function.name}: {', '.join(outer_keys + keys)}")
        tools.append((function.name, function.description or "", function.parameters or {}))
    collection.add_tools(tools)
    return collection
