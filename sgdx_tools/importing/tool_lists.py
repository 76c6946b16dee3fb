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
from typing import Any, TypeVar

import msgspec

from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import parse_json

from ..data import Json, Tool
from .collection import Collection, tool_records

_T = TypeVar("_T", bound=msgspec.Struct)


class _OpenAI(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: Json | None = None
    type: str = "function"
    strict: bool | None = None


class _Anthropic(msgspec.Struct):
    name: str
    parameters: Json = msgspec.field(name="input_schema")
    description: str | None = None
    type: str | None = None
    strict: bool | None = None
    input_examples: list[Json] = []


class _MCP(msgspec.Struct):
    name: str
    parameters: Json = msgspec.field(name="inputSchema")
    description: str | None = None


class _Namespace(msgspec.Struct):
    name: str
    tools: list[Json]
    type: str = "namespace"
    description: str | None = None


_TYPES: dict[str, type[_OpenAI | _Anthropic | _MCP]] = {
    "openai": _OpenAI,
    "anthropic": _Anthropic,
    "mcp": _MCP,
}
# What a tool says it is that a program runs, and not the provider; None where it says nothing.
_KINDS = {"openai": (None, "function"), "anthropic": (None, "custom")}
_NO_NAMESPACE = _Namespace("", [])


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
        if form == "openai" and record.get("type") == "namespace":
            namespace = _converted(record, _Namespace, where)
            _keep(namespace, record, f"namespace {namespace.name}", collection)
            for n, inner in enumerate(namespace.tools, 1):
                yield from _tools(form, inner, f"{where}: tool {n}", collection, namespace)
        else:
            yield from _tools(form, record, where, collection, _NO_NAMESPACE, prefix)


def _tools(
    form: str,
    record: Json,
    where: str,
    collection: Collection,
    namespace: _Namespace,
    prefix: str = "",
) -> Iterator[Tool]:
    """The tool of a record; none where the provider runs it."""
    kind = record.get("type")
    if form in _KINDS and kind not in _KINDS[form]:
        name = record.get("name", record.get("mcp_server_name", where.rpartition(" ")[2]))
        hint = ": import them with --mcp-server" if kind == "mcp_toolset" else ""
        collection.left_out.append(f"tool {name}: it is of type {kind}{hint}")
        return
    inner = record
    if form == "openai" and isinstance(record.get("function"), dict):
        beside = {key: value for key, value in record.items() if key != "function"}
        inner = {**beside, **record["function"]}
    tool = _converted(inner, _TYPES[form], where)
    if not tool.name:
        raise SgdxError(f"{where}: name: found it empty, expected a name")
    name = f"{namespace.name}__{tool.name}" if namespace.name else tool.name
    if not collection.takes(prefix + name):
        return
    _keep(tool, inner, f"tool {prefix}{name}", collection)
    description = "\n\n".join(filter(None, (namespace.description, tool.description)))
    parameters = tool.parameters or {}
    if examples := getattr(tool, "input_examples", []):
        parameters = {**parameters, "examples": examples}
    yield Tool(name, description, parameters, strict=getattr(tool, "strict", None) is True)


def _converted(record: Json, kind: type[_T], where: str) -> _T:
    try:
        return msgspec.convert(record, kind)
    except msgspec.ValidationError as error:
        raise SgdxError(f"{where}: {error}") from None


def _keep(read: msgspec.Struct, record: Json, whose: str, collection: Collection) -> None:
    """Keep what a record has that was not read."""
    beside = {k: v for k, v in record.items() if k not in read.__struct_encode_fields__}
    if beside:
        collection.beside[whose] = beside
