"""Schemas of OpenAPI documents as JSON Schemas that stand alone.

OpenAPI 3.1 has JSON Schema itself. OpenAPI 3.0 has a dialect: ``nullable``, ``example``, and
``exclusiveMinimum`` as a boolean. In both, schemas refer to parts of the document: those become
``$defs`` of the schema, however they refer to each other.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from sgdx_dataset import SgdxError
from sgdx_dataset.io.json import check_value, parse_json
from sgdx_dataset.io.yaml import parse_yaml_document
from sgdx_llm.functions import safe_names

from ..data import Json

_SCHEMAS = (
    *("not", "if", "then", "else", "contains", "items", "propertyNames", "additionalItems"),
    *("additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_OBJECTS = ("patternProperties", "dependentSchemas", "dependencies")
# These keywords are about other forms than JSON, or about programs that are made of schemas. What
# is referred to of ``$defs`` becomes a definition of the tool.
_DROPPED = ("xml", "externalDocs", "discriminator", "$defs", "definitions")


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

    @cached_property
    def heirs(self) -> dict[str, list[str]]:
        """By a reference, those to the schemas that have it in their ``allOf``."""
        components = self.content.get("components")
        schemas = components.get("schemas") if isinstance(components, dict) else None
        heirs: dict[str, list[str]] = {}
        for name, schema in schemas.items() if isinstance(schemas, dict) else ():
            parts = schema.get("allOf") if isinstance(schema, dict) else None
            if isinstance(parts, list) and len(parts) == 1 and "properties" not in schema:
                continue  # the same schema with other words
            for part in parts if isinstance(parts, list) else ():
                if isinstance(part, dict) and isinstance(part.get("$ref"), str):
                    pointer = name.replace("~", "~0").replace("/", "~1")
                    heirs.setdefault(part["$ref"], []).append(f"#/components/schemas/{pointer}")
        return heirs

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


class _Use(NamedTuple):
    """A part of the document as one place refers to it: each use has a definition of its own."""

    reference: str
    # Properties that the place hides, since it says that they are only read.
    hidden: frozenset[str] = frozenset()
    # Whether it stands for itself alone, and not for the variants that its discriminator tells.
    is_base: bool = False


@dataclass
class SchemaConverter:
    """Converts the schemas of one tool, and collects what they refer to."""

    document: Document
    # Such as ``GET /pets``, for error messages.
    where: str
    # Names of the properties that were left out, as they are only in responses.
    read_only: dict[str, None] = field(default_factory=dict)
    # What else was lost, a line for each.
    lost: dict[str, None] = field(default_factory=dict)
    _names: dict[_Use, str] = field(default_factory=dict)  # of definitions
    _pending: list[_Use] = field(default_factory=list)

    def definitions(self) -> Json:
        """``$defs`` with all that the converted schemas refer to, where they refer to anything."""
        schemas: Json = {}
        while self._pending:
            use = self._pending.pop(0)
            schema = self.document.lookup(use.reference, self.where)
            if use.is_base:  # its variants refer to it, and not it to them
                schema = {k: v for k, v in schema.items() if k not in ("oneOf", "anyOf")}
            schemas[self._names[use]] = self.convert(schema, use.hidden, use)
        return {"$defs": schemas} if schemas else {}

    def convert(
        self, schema: Any, hidden: frozenset[str] = frozenset(), use: _Use | None = None
    ) -> Any:
        """A schema as a JSON Schema, without properties that are read only and thus hidden.

        A definition's is told of whose use it is.
        """
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise SgdxError(f"{self.where}: found {str(schema)[:100]!r}, expected a schema")
        if "$ref" in schema:
            return self._reference(schema, hidden)
        hidden |= frozenset(self._read_only(schema, set()))
        converted = {
            keyword: self._keyword(keyword, value, hidden, use)
            for keyword, value in schema.items()
            if keyword not in _DROPPED
        }
        for keyword in ("required", "dependentRequired"):
            if converted.get(keyword) in ([], {}):
                del converted[keyword]
        if isinstance(schema.get("discriminator"), dict) and not (use and use.is_base):
            self._add_variants(converted, schema, hidden, use)
        return _modern(converted) if self.document.is_3_0 else converted

    def _keyword(
        self, keyword: str, value: Any, hidden: frozenset[str], use: _Use | None = None
    ) -> Any:
        if keyword == "properties" and isinstance(value, dict):
            self.read_only |= dict.fromkeys(name for name in value if name in hidden)
            return {n: self.convert(child) for n, child in value.items() if n not in hidden}
        if keyword == "required" and isinstance(value, list):
            return [name for name in value if name not in hidden]
        if keyword == "dependentRequired" and isinstance(value, dict):
            return {
                n: self._keyword("required", v, hidden) for n, v in value.items() if n not in hidden
            }
        if keyword == "allOf" and isinstance(value, list) and use:
            return [
                self._reference(child, hidden, is_base=True)
                if self._is_variant(use.reference, child)
                else self.convert(child, hidden)
                for child in value
            ]
        if keyword in _LISTS and isinstance(value, list):
            passed = hidden if keyword != "prefixItems" else frozenset[str]()
            return [self.convert(child, passed) for child in value]
        if keyword in _OBJECTS and isinstance(value, dict):
            of_names = keyword != "patternProperties"
            return {
                key: self._keyword("required", child, hidden)
                if isinstance(child, list)
                else self.convert(child, hidden if of_names else frozenset())
                for key, child in value.items()
                if not (of_names and key in hidden)
            }
        if keyword in _SCHEMAS and not (keyword == "items" and isinstance(value, list)):
            return self.convert(value)
        return value

    def _reference(
        self, schema: Json, hidden: frozenset[str] = frozenset(), is_base: bool = False
    ) -> Json:
        reference = schema["$ref"]
        part = self.document.lookup(reference, self.where)
        # Only what the part would show without being told.
        shown = frozenset(self._properties(part, set())) - {*self._read_only(part, set())}
        use = _Use(reference, hidden & shown, is_base)
        if use not in self._names:
            self._pending.append(use)
            self._names[use] = self._definition_name(reference)
        # In 3.0 all but descriptions beside a reference is to be ignored.
        beside = {
            keyword: value
            for keyword, value in schema.items()
            if keyword != "$ref" and (keyword == "description" or not self.document.is_3_0)
        }
        return {"$ref": f"#/$defs/{self._names[use]}"} | (
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

    def _add_variants(
        self, converted: Json, schema: Json, hidden: frozenset[str], use: _Use | None
    ) -> None:
        """Put what a discriminator says into JSON Schema: which variant has which value.

        The variants are the branches of ``oneOf`` or ``anyOf``, or else all that have the schema in
        their ``allOf``. In each, the property has to have the variant's value.
        """
        name, own = schema["discriminator"].get("propertyName"), use.reference if use else ""
        values: dict[str, list[str]] = {}  # by the reference to the variant
        for value, target in _mapping(schema):
            values.setdefault(target, []).append(value)
        keyword = next((k for k in ("oneOf", "anyOf") if isinstance(schema.get(k), list)), "")
        variants: dict[str, Json] = {}
        if keyword:
            for part, branch in zip(schema[keyword], converted[keyword]):
                if isinstance(part, dict) and isinstance(part.get("$ref"), str):
                    variants[part["$ref"]] = branch
        else:
            heirs = self.document.heirs.get(own, [])
            for reference in dict.fromkeys([*values, *heirs]):
                with suppress(SgdxError):  # which is told below
                    use_itself = reference == own
                    variants[reference] = self._reference({"$ref": reference}, hidden, use_itself)
            if variants and {*variants} <= {*heirs, own}:  # which have all that it has
                words = {k: v for k, v in converted.items() if k in ("title", "description")}
                converted.clear()
                converted.update(words)
            converted |= {"anyOf": [*variants.values()]} if variants else {}
        for reference, branch in variants.items():
            told = values.get(reference) or [_unescape(reference.split("/")[-1])]
            if name not in hidden:
                branch["properties"] = {name: {"type": "string", "enum": told}}
                branch["required"] = [name]
        for reference in values.keys() - variants.keys():
            lost = ", ".join(values[reference])
            self.lost[f"the variant by {name}: {lost}: there is no {reference[:200]}"] = None

    def _is_variant(self, reference: str, parent: Any) -> bool:
        """Whether the discriminator of a part of ``allOf`` tells the schema at a reference."""
        if not isinstance(parent, dict) or not isinstance(parent.get("$ref"), str):
            return False
        found = self.document.lookup(parent["$ref"], self.where)
        if not isinstance(found, dict) or not isinstance(found.get("discriminator"), dict):
            return False
        branches = [*(found.get("oneOf") or ()), *(found.get("anyOf") or ())]
        told = [target for _, target in _mapping(found)]
        return reference in (*self.document.heirs.get(parent["$ref"], ()), *told) or any(
            isinstance(branch, dict) and branch.get("$ref") == reference for branch in branches
        )

    def _properties(self, schema: Any, visited: set[str]) -> Iterator[str]:
        """Names of an object's properties, or that it requires, through its parts."""
        if not isinstance(schema, dict):
            return
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in visited:
            visited.add(reference)
            yield from self._properties(self.document.lookup(reference, self.where), visited)
        for keyword in ("properties", "required"):
            if isinstance(names := schema.get(keyword), dict | list):
                yield from (name for name in names if isinstance(name, str))
        for keyword in ("allOf", "anyOf", "oneOf"):
            branches = schema.get(keyword)
            for branch in branches if isinstance(branches, list) else ():
                yield from self._properties(branch, visited)

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
            if isinstance(child, dict) and isinstance(child.get("$ref"), str):
                child = self.document.lookup(child["$ref"], self.where)
            if isinstance(child, dict) and child.get("readOnly") is True:
                yield name
        branches = schema.get("allOf")
        for branch in branches if isinstance(branches, list) else ():
            yield from self._read_only(branch, visited)


def _mapping(schema: Json) -> Iterator[tuple[str, str]]:
    """The values that a discriminator lists, and the reference that each stands for."""
    mapping = schema["discriminator"].get("mapping")
    for value, target in mapping.items() if isinstance(mapping, dict) else ():
        is_name = isinstance(target, str) and not {"/", "#", "."} & {*target}
        yield str(value), f"#/components/schemas/{target}" if is_name else str(target)


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
