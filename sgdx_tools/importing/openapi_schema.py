"""Schemas of OpenAPI documents as JSON Schemas that stand alone.

OpenAPI 3.1 has JSON Schema itself. OpenAPI 3.0 has a dialect: ``nullable``, ``example``, and
``exclusiveMinimum`` as a boolean. In both, schemas refer to parts of the document: those become
``$defs`` of the schema, however they refer to each other.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import check_value, parse_json
from sgdx_dataset.io.yaml import parse_yaml_document
from sgdx_llm.functions import safe_names

from ..data import Json

_SCHEMAS = (
    *("not", "if", "then", "else", "contains", "items", "propertyNames", "additionalItems"),
    *("additionalProperties", "unevaluatedItems", "unevaluatedProperties"),
)
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_OBJECTS = ("patternProperties", "dependentSchemas")
# These keywords are about other forms than JSON, or about programs that are made of schemas.
_DROPPED = ("xml", "externalDocs", "discriminator")


def read_document(data: bytes, path: Path) -> Any:
    """What a file in JSON or YAML has."""
    parsed: Any = (
        parse_json(data, dict[str, Any], str(path), "an OpenAPI document")
        if data.lstrip()[:1] == b"{"
        else parse_yaml_document(data, str(path))
    )
    try:
        check_value(parsed)
    except SgdxError as error:
        raise SgdxError(f"{path}: {error}") from None
    return parsed


@dataclass
class Document:
    """An OpenAPI document, and the other files of its folder that it refers to."""

    content: Json
    # Whether its schemas are of OpenAPI 3.0's dialect.
    is_3_0: bool
    path: Path
    # Reads a file, and notes it.
    read: Callable[[Path], bytes]
    # The other files by their names inside the folder.
    _others: dict[str, Any] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The file, for error messages."""
        return str(self.path)

    def part(self, entry: Any, where: str) -> Json:
        """An object of the document, or what its ``$ref`` leads to."""
        visited = set[str]()
        while isinstance(entry, dict) and "$ref" in entry:
            reference = entry["$ref"]
            if reference in visited:
                raise SgdxError(f"{where}: $ref {reference} refers to itself")
            entry = self.lookup(reference, where)
            visited.add(reference)
        if not isinstance(entry, dict):
            raise SgdxError(f"{where}: found {type(entry).__name__}, expected an object")
        return entry

    def lookup(self, reference: Any, where: str) -> Any:
        """What a ``$ref`` points to."""
        name, _, pointer = str(reference).partition("#")
        if not isinstance(reference, str) or (pointer and pointer[:1] != "/"):
            expected = "expected one such as #/components/schemas/Pet"
            raise SgdxError(f"{where}: found $ref {str(reference)[:200]}, {expected}")
        part: Any = self._other(name, where) if name else self.content
        for token in pointer.split("/")[1:]:
            key = _unescape(token)
            if isinstance(part, dict) and key in part:
                part = part[key]
            elif isinstance(part, list) and key.isdecimal() and int(key) < len(part):
                part = part[int(key)]
            else:
                raise SgdxError(f"{where}: $ref {reference[:200]} is not in the file")
        return part

    def _other(self, name: str, where: str) -> Any:
        """Another file of the folder, whose references are as if they stood in the first one."""
        if name not in self._others:
            folder, file = self.path.parent.resolve(), (self.path.parent / unquote(name)).resolve()
            if ":" in name or not file.is_relative_to(folder):
                expected = "expected a file inside the document's folder"
                raise SgdxError(f"{where}: found $ref {name[:200]}, {expected}")
            if file == self.path.resolve():
                self._others[name] = self.content
            elif not file.is_file():
                raise SgdxError(f"{where}: found $ref {name[:200]}, which is no file")
            else:
                content = read_document(self.read(file), Path(name))
                self._others[name] = _moved(content, name, posixpath.dirname(name))
        return self._others[name]


def _moved(content: Any, name: str, folder: str) -> Any:
    """What a file has, with references as they are from the first file's folder."""
    if isinstance(content, list):
        return [_moved(item, name, folder) for item in content]
    if not isinstance(content, dict):
        return content
    moved = {key: _moved(value, name, folder) for key, value in content.items()}
    if isinstance(reference := content.get("$ref"), str):
        file, mark, pointer = reference.partition("#")
        moved["$ref"] = (posixpath.normpath(posixpath.join(folder, file)) if file else name) + (
            mark + pointer
        )
    return moved


@dataclass
class SchemaConverter:
    """Converts the schemas of one tool, and collects what they refer to."""

    document: Document
    # Such as ``GET /pets``, for error messages.
    where: str
    # Names of the properties that were left out, as they are only in responses.
    read_only: dict[str, None] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)  # of definitions, by reference
    _pending: list[str] = field(default_factory=list)

    def definitions(self) -> Json:
        """``$defs`` with all that the converted schemas refer to, where they refer to anything."""
        schemas: Json = {}
        while self._pending:
            reference = self._pending.pop(0)
            schema = self.document.lookup(reference, self.where)
            schemas[self._names[reference]] = self.convert(schema)
        return {"$defs": schemas} if schemas else {}

    def convert(self, schema: Any, hidden: frozenset[str] = frozenset()) -> Any:
        """A schema as a JSON Schema, without properties that are read only and thus hidden."""
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise SgdxError(f"{self.where}: found {str(schema)[:100]!r}, expected a schema")
        if "$ref" in schema:
            return self._reference(schema, hidden)
        hidden |= frozenset(self._read_only(schema, set()))
        converted = {
            keyword: self._keyword(keyword, value, hidden)
            for keyword, value in schema.items()
            if keyword not in _DROPPED
        }
        if converted.get("required") == []:
            del converted["required"]
        return _modern(converted) if self.document.is_3_0 else converted

    def _keyword(self, keyword: str, value: Any, hidden: frozenset[str]) -> Any:
        if keyword == "properties" and isinstance(value, dict):
            self.read_only |= dict.fromkeys(name for name in value if name in hidden)
            return {n: self.convert(child) for n, child in value.items() if n not in hidden}
        if keyword == "required" and isinstance(value, list):
            return [name for name in value if name not in hidden]
        if keyword in _LISTS and isinstance(value, list):
            passed = hidden if keyword != "prefixItems" else frozenset[str]()
            return [self.convert(child, passed) for child in value]
        if keyword in _OBJECTS and isinstance(value, dict):
            return {key: self.convert(child) for key, child in value.items()}
        if keyword in _SCHEMAS and not (keyword == "items" and isinstance(value, list)):
            return self.convert(value)
        return value

    def _reference(self, schema: Json, hidden: frozenset[str]) -> Json:
        reference = schema["$ref"]
        self.document.lookup(reference, self.where)
        if reference not in self._names:
            self._pending.append(reference)
            self._names[reference] = self._definition_name(reference)
        # In 3.0 all but descriptions beside a reference is to be ignored.
        beside = {
            keyword: value
            for keyword, value in schema.items()
            if keyword != "$ref" and (keyword == "description" or not self.document.is_3_0)
        }
        return {"$ref": f"#/$defs/{self._names[reference]}"} | (
            self.convert(beside, hidden) if beside else {}
        )

    def _definition_name(self, reference: str) -> str:
        """A name for what a reference leads to: the last part of it, made distinct."""
        last = _unescape(reference.split("/")[-1]).removesuffix("#")
        name, number = re.sub(r"\.(ya?ml|json)$", "", last) or "root", 1
        name = base = safe_names([name])[name]
        while name in self._names.values():
            number += 1
            name = f"{base}_{number}"
        return name

    def _read_only(self, schema: Any, visited: set[str]) -> Iterator[str]:
        """Names of an object's read-only properties, through ``allOf`` and ``$ref``."""
        if not isinstance(schema, dict):
            return
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in visited:
            visited.add(reference)
            yield from self._read_only(self.document.lookup(reference, self.where), visited)
        properties = schema.get("properties")
        for name, child in properties.items() if isinstance(properties, dict) else ():
            if isinstance(child, dict) and child.get("readOnly") is True:
                yield name
        branches = schema.get("allOf")
        for branch in branches if isinstance(branches, list) else ():
            yield from self._read_only(branch, visited)


def _modern(schema: Json) -> Json:
    """A schema of OpenAPI 3.0, whose parts are converted, as a JSON Schema."""
    modern = dict(schema)
    for limit in ("minimum", "maximum"):
        exclusive = f"exclusive{limit.capitalize()}"
        if modern.get(exclusive) is True and limit in modern:
            modern[exclusive] = modern.pop(limit)
        elif isinstance(modern.get(exclusive), bool):
            del modern[exclusive]
    if "example" in modern:
        modern["examples"] = [modern.pop("example")]
    if modern.pop("nullable", False) is not True:
        return modern
    if isinstance(modern.get("type"), str):
        modern["type"] = [modern["type"], "null"]
        if isinstance(modern.get("enum"), list) and None not in modern["enum"]:
            modern["enum"] = [*modern["enum"], None]
        return modern
    words: Json = {key: modern.pop(key) for key in ("title", "description") if key in modern}
    return {**words, "anyOf": [modern, {"type": "null"}]} if modern else words


def _unescape(token: str) -> str:
    """A token of a JSON pointer in a URI as a key (RFC 6901)."""
    return unquote(token).replace("~1", "/").replace("~0", "~")
