"""Lists of tools, as OpenAI's and Anthropic's APIs take them, and as an MCP server gives them.

OpenAI's are nested, of chat completions, or flat, of responses. A namespace's tools get its name
before theirs, and its description before theirs, which a model sees first and which is reworded
with them. Anthropic's examples of input become examples in the schema, where names in them are
reworded. What else a definition has, such as titles and schemas of results, is meant for programs;
``source.json`` keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import parse_json

from ..data import Json, Tool
from .collection import Collection, tool_records

# What is read of a tool in each form, its schema first.
_FIELDS = {
    "openai": ("parameters", "name", "description", "type", "strict"),
    "anthropic": ("input_schema", "name", "description", "type", "strict", "input_examples"),
    "mcp": ("inputSchema", "name", "description"),
}
# What a tool says it is that a program runs, and not the provider; None where it says nothing.
_KINDS = {"openai": (None, "function"), "anthropic": (None, "custom")}


class _Tool(msgspec.Struct):
    name: str
    schema: Json | None = None
    description: str | None = None
    type: str | None = None
    strict: bool | None = None
    input_examples: list[Json] = []


class _Namespace(msgspec.Struct):
    name: str
    tools: list[Json]
    type: str = "namespace"
    description: str | None = None


def import_list(form: str, path: Path, only: Sequence[str] = ()) -> Collection:
    """Read a list of tools, a request that has one, or a server's answer to ``tools/list``."""
    collection = Collection(form, only=only)
    content: Any = parse_json(collection.add_file(path), object, str(path), "a list of tools")
    if isinstance(content, dict) and form == "mcp":
        if "error" in content:
            raise SgdxError(f"{path}: found the server's error {str(content['error'])[:200]}")
        content = content.get("result", content)
    keys = ("tools", "functions") if form == "openai" else ("tools",)
    records = tool_records(content, keys, path)
    collection.add_tools(tools_of(form, records, str(path), collection))
    if isinstance(content, dict) and content.get("nextCursor"):
        collection.left_out.append("the tools of further pages: the answer has a nextCursor")
    return collection


def tools_of(
    form: str, records: Iterable[Json], place: str, collection: Collection, prefix: str = ""
) -> Iterator[Tool]:
    """The tools of records in a form that a collection takes, under the names that they have there.

    What they say beside is noted in the collection; there, a prefix stands before their names.
    """
    for i, record in enumerate(records, 1):
        where = f"{place}: tool {i}"
        if form != "openai" or record.get("type") != "namespace":
            yield from _tools(form, record, where, collection, prefix)
            continue
        try:
            space = msgspec.convert(record, _Namespace)
        except msgspec.ValidationError as error:
            raise SgdxError(f"{where}: {error}") from None
        _keep(record, space.__struct_fields__, f"namespace {space.name}", collection)
        for n, inner in enumerate(space.tools, 1):
            place_of = f"{where}: tool {n}"
            yield from _tools(form, inner, place_of, collection, "", space.name, space.description)


def _tools(
    form: str,
    record: Json,
    where: str,
    collection: Collection,
    prefix: str = "",
    namespace: str = "",
    said: str | None = None,
) -> Iterator[Tool]:
    """The tool of a record, perhaps of a namespace; none where the provider runs it."""
    kind = record.get("type")
    if form in _KINDS and kind not in _KINDS[form]:
        name = record.get("name", record.get("mcp_server_name", where.rpartition(" ")[2]))
        hint = ": import them with --mcp-server" if kind == "mcp_toolset" else ""
        collection.left_out.append(f"tool {name}: it is of type {kind}{hint}")
        return
    if form == "openai" and isinstance(record.get("function"), dict):
        record = {k: v for k, v in record.items() if k != "function"} | record["function"]
    schema, *others = _FIELDS[form]
    known = {key: record[key] for key in others if key in record}
    try:
        if form != "openai" and schema not in record:
            raise msgspec.ValidationError(f"Object missing required field `{schema}`")
        tool = msgspec.convert({**known, "schema": record.get(schema)}, _Tool)
    except msgspec.ValidationError as error:
        fault = str(error).replace("$.schema", f"$.{schema}")
        raise SgdxError(f"{where}: {fault}") from None
    if not tool.name:
        raise SgdxError(f"{where}: name: found it empty, expected a name")
    name = f"{namespace}__{tool.name}" if namespace else tool.name
    if not collection.takes(prefix + name):
        return
    _keep(record, (schema, *others), f"tool {prefix}{name}", collection)
    examples = {"examples": tool.input_examples} if tool.input_examples else {}
    description = "\n\n".join(filter(None, (said, tool.description)))
    parameters = {**(tool.schema or {}), **examples}
    yield Tool(name, description, parameters, strict=tool.strict is True)


def _keep(record: Json, read: Iterable[str], whose: str, collection: Collection) -> None:
    """Keep what a record has that was not read."""
    if beside := {key: value for key, value in record.items() if key not in read}:
        collection.beside[whose] = beside
