"""Lists of tools, as interfaces take them, and as an MCP server gives them, by their content.

OpenAI's are nested, of chat completions, or flat, of responses. A namespace's tools get its name
before theirs, and its description before theirs, which a model sees first and which is reworded
with them. Gemini's and Bedrock's stand in objects of their own. Anthropic's examples of input
become examples in the schema, where names in them are reworded. What else a definition has, such as
titles and schemas of results, is meant for programs; ``source.json`` keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from sgdx_dataset import SgdxError

from ..data import Json, Tool
from ..json_schema import plain_schema
from .collection import Collection, tool_records

# Where a tool has its schema: OpenAI's, Anthropic's, MCP's and Bedrock's, Gemini's,
# LangChain's.
_SCHEMAS = (
    *("parameters", "input_schema", "inputSchema", "parametersJsonSchema"),
    *("parameters_json_schema", "args_schema"),
)
_OTHERS = ("name", "description", "type", "strict", "input_examples")
# What a tool says it is that a program runs, and not the provider.
_KINDS = (None, "function", "custom")
# Under which key a list of tools stands, and what holds several tools, or one, in such a list.
_LISTS = ("tools", "functions")
_GROUPS, _WRAPPED = ("functionDeclarations", "function_declarations"), ("function", "toolSpec")


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


def import_list(content: Any, path: Path, collection: Collection) -> None:
    """Add the tools of a list, of a request that has one, or of a server's answer to tools/list."""
    if isinstance(content, dict):
        if "error" in content:
            raise SgdxError(f"{path}: found the server's error {str(content['error'])[:200]}")
        content = content.get("result", content.get("toolConfig", content))
    records = tool_records(content, _LISTS, path)
    collection.add_tools(tools_of(records, str(path), collection))
    if isinstance(content, dict) and content.get("nextCursor") is not None:
        collection.left_out.append("the tools of further pages: the answer has a nextCursor")


def tools_of(
    records: Iterable[Json], place: str, collection: Collection, prefix: str = ""
) -> Iterator[Tool]:
    """The tools of records that a collection takes, under the names that they have there.

    What they say beside is noted in the collection; there, a prefix stands before their names.
    """
    for i, record in enumerate(records, 1):
        where = f"{place}: tool {i}"
        group = next((record[key] for key in _GROUPS if isinstance(record.get(key), list)), None)
        if group is not None:
            yield from tools_of(tool_records(group, (), Path(where)), where, collection, prefix)
            continue
        if record.get("type") != "namespace":
            yield from _tools(record, where, collection, prefix)
            continue
        try:
            space = msgspec.convert(record, _Namespace)
        except msgspec.ValidationError as error:
            raise SgdxError(f"{where}: {error}") from None
        _keep(record, space.__struct_fields__, f"namespace {space.name}", collection)
        for n, inner in enumerate(space.tools, 1):
            place_of = f"{where}: tool {n}"
            yield from _tools(inner, place_of, collection, "", space.name, space.description)


def _tools(
    record: Json,
    where: str,
    collection: Collection,
    prefix: str = "",
    namespace: str = "",
    said: str | None = None,
) -> Iterator[Tool]:
    """The tool of a record, perhaps of a namespace; none where the provider runs it."""
    kind = record.get("type")
    if kind not in _KINDS:
        name = record.get("name", record.get("mcp_server_name", where.rpartition(" ")[2]))
        hint = ": its address imports them" if kind == "mcp_toolset" else ""
        collection.left_out.append(f"tool {name}: it is of type {kind}{hint}")
        return
    for key in _WRAPPED:
        if isinstance(record.get(key), dict):
            record = {k: v for k, v in record.items() if k != key} | record[key]
    schemas = [key for key in _SCHEMAS if record.get(key) is not None]
    if any(record[key] != record[schemas[0]] for key in schemas[1:]):
        raise SgdxError(f"{where}: found {' and '.join(schemas)}, expected one schema")
    known = {key: record[key] for key in _OTHERS if key in record}
    schema = record[schemas[0]] if schemas else None
    if isinstance(schema, dict) and schema.keys() == {"json"}:  # Bedrock's
        schema = schema["json"]
    try:
        tool = msgspec.convert({**known, "schema": schema}, _Tool)
    except msgspec.ValidationError as error:
        fault = str(error).replace("$.schema", f"$.{(*schemas, 'parameters')[0]}")
        raise SgdxError(f"{where}: {fault}") from None
    if not tool.name:
        raise SgdxError(f"{where}: name: found it empty, expected a name")
    name = f"{namespace}__{tool.name}" if namespace else tool.name
    if not collection.takes(prefix + name):
        return
    # A schema under a key of another interface would make another tool, without parameters.
    others = [key for key, v in record.items() if not schemas and _is_schema(v) and key != "output"]
    if others and others[0] not in ("outputSchema", "output_schema", "responseSchema", "response"):
        expected = ", ".join(_SCHEMAS)
        raise SgdxError(f"{where}: found the schema {others[0]}, expected one of {expected}")
    _keep(record, (*_SCHEMAS, *_OTHERS), f"tool {prefix}{name}", collection)
    try:
        parameters = plain_schema(tool.schema or {}, f"tool {name}")
    except SgdxError as error:
        collection.left_out.append(f"{error}: the tool is left out")
        return
    examples = {"examples": tool.input_examples} if tool.input_examples else {}
    description = "\n\n".join(filter(None, (said, tool.description)))
    yield Tool(name, description, {**parameters, **examples}, strict=tool.strict is True)


def _is_schema(value: Any) -> bool:
    """Whether a value may be the schema of arguments."""
    if not isinstance(value, dict):
        return False
    inner = [v for v in value.values() if isinstance(v, dict)]
    return (
        "properties" in value
        or value.get("type") in ("object", "OBJECT")
        or (bool(inner) and all("type" in v or "description" in v for v in inner))
    )


def _keep(record: Json, read: Iterable[str], whose: str, collection: Collection) -> None:
    """Keep what a record has that was not read."""
    if beside := {key: value for key, value in record.items() if key not in read}:
        collection.beside[whose] = beside
