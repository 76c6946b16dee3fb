"""Schemas of OpenAPI documents as JSON Schemas that stand alone.

OpenAPI 3.1 has JSON Schema itself. OpenAPI 3.0 has a dialect: ``nullable``, ``example``, and
``exclusiveMinimum`` as a boolean. In both, schemas refer to parts of the document: those become
``$defs`` of the schema, however they refer to each other.
"""

from __future__ import annotations

import posixpath
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from referencing import Registry, Resource
from referencing.exceptions import Unresolvable

from sgdx_dataset import SgdxError
from sgdx_llm.functions import safe_names

from ..data import Json
from ..json_schema import LISTS, OBJECTS, SINGLE, modern
from .collection import parse_document

# These keywords are about other forms than JSON, or about programs that are made of schemas. What
# is referred to of ``$defs`` becomes a definition of the tool.
_DROPPED = ("xml", "externalDocs", "discriminator", "$defs", "definitions", "$recursiveAnchor")
_ALL, _ONE = "allOf", ("oneOf", "anyOf")
_MOST_IN_A_ROW = 20  # references, each to what is but the next


class Document:
    """An OpenAPI document, and the other files of its folder that it refers to."""

    def __init__(self, content: Json, path: Path, read: Callable[[Path], bytes]) -> None:
        """Take the content of a file; `read` reads another one, and notes it."""
        self.content, self.path, self._read = content, path, read
        self.where = str(path)  # for error messages
        # Whether its schemas are of OpenAPI 3.0's dialect.
        self.is_3_0 = str(content["openapi"]).startswith("3.0.")
        # The other files by their names inside the folder.
        self._others: dict[str, Any] = {}
        self.line = cache(self._line)
        self.bases = cache(self._bases)

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
        content = Resource.opaque(self._other(name, where) if name else self.content)
        try:
            return content.pointer(pointer, Registry[Any]().resolver()).contents
        except (Unresolvable, LookupError, TypeError, ValueError):
            raise SgdxError(f"{where}: $ref {reference[:200]} is not in the file") from None

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
                content = parse_document(self._read(file), Path(name), True)
                self._others[name] = _moved(content, name, posixpath.dirname(name))
        return self._others[name]

    # ---- schemas that inherit from others by ``allOf``, and discriminators that tell them apart

    def described(
        self, schema: Any, keywords: Iterable[str], where: str
    ) -> Iterator[tuple[str, Json]]:
        """A schema and all that it refers to or has under some keywords, with their references."""
        pending, visited = deque([("", schema, 0)]), {""}
        while pending:
            name, part, depth = pending.popleft()
            if depth > _MOST_IN_A_ROW:
                raise SgdxError(f"{where}: found over {_MOST_IN_A_ROW} references in a row")
            if not isinstance(part, dict):
                continue
            yield name, part
            reference = part.get("$ref")
            if isinstance(reference, str) and reference not in visited:
                visited.add(reference)
                pending.append((reference, self.lookup(reference, where), depth + 1))
            for keyword in keywords:
                listed = part.get(keyword)
                for inner in listed if isinstance(listed, list) else ():
                    pending.append(("", inner, depth))

    def _line(self, reference: str) -> frozenset[str]:
        """A reference, and those to all that the schema inherits from."""
        line = {reference}
        with suppress(SgdxError):  # where the schema is used, it is told
            parts = self.described({"$ref": reference}, (_ALL,), self.where)
            line |= {name for name, _ in parts if name}
        return frozenset(line)

    @cached_property
    def _heirs(self) -> dict[str, list[str]]:
        """By a reference, those to the components that inherit from the schema."""
        components = self.content.get("components")
        schemas = components.get("schemas") if isinstance(components, dict) else None
        heirs: dict[str, list[str]] = {}
        for name, schema in schemas.items() if isinstance(schemas, dict) else ():
            parts = schema.get(_ALL) if isinstance(schema, dict) else None
            if not isinstance(parts, list) or (len(parts) == 1 and "properties" not in schema):
                continue  # the same schema with other words
            own = f"#/components/schemas/{name.replace('~', '~0').replace('/', '~1')}"
            for reference in self.line(own) - {own}:
                heirs.setdefault(reference, []).append(own)
        return heirs

    def variants(self, schema: Json, reference: str) -> dict[str, list[str]]:
        """By the reference to each variant that a discriminator tells, the values that tell it.

        The variants are the branches of ``oneOf`` or ``anyOf``, or else all that the discriminator
        lists, and all that inherit from the schema.
        """
        values: dict[str, list[str]] = {}
        mapping = schema["discriminator"].get("mapping")
        for value, target in mapping.items() if isinstance(mapping, dict) else ():
            is_name = isinstance(target, str) and not {"/", "#", "."} & {*target}
            to = f"#/components/schemas/{target}" if is_name else str(target)
            values.setdefault(to, []).append(str(value))
        branches = next((schema[k] for k in _ONE if isinstance(schema.get(k), list)), None)
        told = [*values, *self._heirs.get(reference, ())]
        if branches is not None:
            found = [part.get("$ref") for part in branches if isinstance(part, dict)]
            told = [reference for reference in found if isinstance(reference, str)]
        name = schema["discriminator"].get("propertyName")
        return {to: values.get(to) or self._own_values(to, name) for to in [*told, *values]}

    def _own_values(self, reference: str, name: str) -> list[str]:
        """The values that tell a variant which is not mapped: its name, or what it says itself."""
        own = _unescape(reference.split("/")[-1])
        with suppress(SgdxError):  # which is told where it is converted
            for _, part in self.described({"$ref": reference}, (_ALL,), self.where):
                of = (part.get("properties") or {}).get(name)
                listed = of.get("enum", [of.get("const", own)]) if isinstance(of, dict) else [own]
                texts = [value for value in listed if isinstance(value, str)]
                if texts and own not in texts:  # else no call would fit
                    return texts
        return [own]

    def _bases(self, reference: str) -> dict[str, tuple[str, list[str]]]:
        """What a schema inherits from and is a variant of, with the property and its values."""
        bases = {}
        for base in sorted(self.line(reference) - {reference}):
            schema = self.lookup(base, self.where)
            if not isinstance(schema, dict) or not isinstance(schema.get("discriminator"), dict):
                continue
            values = self.variants(schema, base)
            if reference in values:
                bases[base] = schema["discriminator"].get("propertyName"), values[reference]
        return bases


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
    # What stands for itself alone there, and not for the variants that its discriminator tells.
    bases: frozenset[str] = frozenset()


class SchemaConverter:
    """Converts the schemas of one tool, and collects what they refer to."""

    def __init__(self, document: Document, where: str) -> None:
        """Take the document, and the tool for error messages, such as ``GET /pets``."""
        self.document, self.where = document, where
        # Names of the properties that were left out, as they are only in responses.
        self.read_only: dict[str, None] = {}
        # What else was lost, a line for each.
        self.lost: dict[str, None] = {}
        self._names: dict[_Use, str] = {}  # of definitions
        self._pending: list[_Use] = []
        self._within = ""  # the reference to the definition that is being converted

    def definitions(self) -> Json:
        """``$defs`` with all that the converted schemas refer to, where they refer to anything."""
        schemas: Json = {}
        while self._pending:
            use = self._pending.pop(0)
            self._within = use.reference
            schema = self.document.lookup(use.reference, self.where)
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
        schema = self._with_references(schema)
        if "$ref" in schema:
            return self._reference(schema, hidden)
        hidden |= self._read_only(schema)
        of_use = self.document.bases(use.reference) if use else {}
        bases = use.bases if use and use.bases else frozenset(of_use)
        is_base = use is not None and use.reference in use.bases
        converted = {
            keyword: self._keyword(keyword, value, hidden, bases)
            for keyword, value in schema.items()
            if keyword not in _DROPPED and not (is_base and keyword in _ONE)
        }
        for keyword in ("required", "dependentRequired"):
            if converted.get(keyword) in ([], {}):
                del converted[keyword]
        if isinstance(schema.get("discriminator"), dict) and not is_base:
            self._add_variants(converted, schema, hidden, use.reference if use else "")
        for base, (name, values) in of_use.items():
            if use and base not in use.bases and name not in hidden:
                converted[_ALL] = [*converted.get(_ALL, ()), _told(name, values)]
        return (
            _modern(converted, self.where)
            if self.document.is_3_0
            else modern(converted, self.where)
        )

    def _with_references(self, schema: Json) -> Json:
        """A schema in which a reference to the definition around it is one like any other."""
        part = self.document.lookup(self._within, self.where) if self._within else {}
        anchor = part.get("$dynamicAnchor") if isinstance(part, dict) else None
        for keyword, own in (("$recursiveRef", "#"), ("$dynamicRef", f"#{anchor}")):
            if keyword not in schema or (schema[keyword] != own and keyword == "$dynamicRef"):
                continue
            schema = {key: value for key, value in schema.items() if key != keyword}
            if self._within:
                schema["$ref"] = self._within
            else:
                self.lost[f"{keyword} outside of a definition"] = None
        return schema

    def _keyword(
        self, keyword: str, value: Any, hidden: frozenset[str], bases: frozenset[str]
    ) -> Any:
        if keyword == "required" and isinstance(value, list):
            return [name for name in value if name not in hidden]
        if keyword == "dependentRequired" and isinstance(value, dict):
            return {
                name: self._keyword("required", names, hidden, bases)
                for name, names in value.items()
                if name not in hidden
            }
        if keyword == "properties" and isinstance(value, dict):
            self.read_only |= dict.fromkeys(name for name in value if name in hidden)
            return {n: self.convert(child) for n, child in value.items() if n not in hidden}
        if keyword == _ALL and isinstance(value, list):
            return [
                self._reference(child, hidden, bases)
                if isinstance(child, dict) and "$ref" in child
                else self.convert(child, hidden)
                for child in value
            ]
        if keyword in LISTS and isinstance(value, list):
            return [self.convert(child, _of(hidden, LISTS[keyword])) for child in value]
        if keyword in OBJECTS and isinstance(value, dict):
            passed = _of(hidden, OBJECTS[keyword])
            return {
                key: self._keyword("required", child, hidden, bases)
                if isinstance(child, list)
                else self.convert(child, passed)
                for key, child in value.items()
                if key not in passed
            }
        return self.convert(value) if keyword in SINGLE else value

    def _reference(
        self, schema: Json, hidden: frozenset[str], bases: frozenset[str] = frozenset()
    ) -> Json:
        reference = schema["$ref"]
        part = self.document.lookup(reference, self.where)
        names: set[str] = set()
        for _, described in self.document.described(part, (_ALL, *_ONE), self.where):
            for keyword in ("properties", "required"):
                if isinstance(found := described.get(keyword), dict | list):
                    names |= {name for name in found if isinstance(name, str)}
        # Only what the part would show without being told.
        shown = frozenset(names) - self._read_only(part)
        use = _Use(reference, hidden & shown, bases & self.document.line(reference))
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
        self, converted: Json, schema: Json, hidden: frozenset[str], own: str
    ) -> None:
        """Put what a discriminator says into JSON Schema: which variant has which value.

        In each, the property has to have the variant's value. What inherits from the schema says so
        itself.
        """
        name, variants = schema["discriminator"].get("propertyName"), dict[str, Json]()
        keyword = next((k for k in _ONE if isinstance(schema.get(k), list)), "")
        if keyword:
            for part, branch in zip(schema[keyword], converted[keyword]):
                if isinstance(part, dict) and isinstance(part.get("$ref"), str):
                    variants[part["$ref"]] = branch
        told = self.document.variants(schema, own)
        inherits = {reference: own in self.document.line(reference) for reference in told}
        for reference, values in told.items():
            with suppress(SgdxError):  # which is told below
                if not keyword:
                    bases = frozenset({own} if reference == own else ())
                    variants[reference] = self._reference({"$ref": reference}, hidden, bases)
            if reference not in variants:
                lost = ", ".join(values)
                self.lost[f"the variant by {name}: {lost}: there is no {reference[:200]}"] = None
            elif name not in hidden and (reference == own or not inherits[reference]):
                variants[reference] |= _told(name, values)
        if variants and not keyword:
            if all(inherits[reference] for reference in variants):  # and have all that it has
                words = {k: v for k, v in converted.items() if k in ("title", "description")}
                converted.clear()
                converted.update(words)
            converted["anyOf"] = [*variants.values()]

    def _read_only(self, schema: Any) -> frozenset[str]:
        """Names of an object's read-only properties, its parts' too."""
        names = set()
        for _, part in self.document.described(schema, (_ALL,), self.where):
            properties = part.get("properties")
            for name, child in properties.items() if isinstance(properties, dict) else ():
                if isinstance(child, dict) and isinstance(child.get("$ref"), str):
                    child = self.document.lookup(child["$ref"], self.where)
                if isinstance(child, dict) and child.get("readOnly") is True:
                    names.add(name)
        return frozenset(names)


def _of(hidden: frozenset[str], step: str) -> frozenset[str]:
    """The properties that are hidden in a part, which describes the same value without a step."""
    return frozenset() if step else hidden


def _told(name: str, values: list[str]) -> Json:
    """What has to be in a variant, for a discriminator to tell it."""
    return {"properties": {name: {"type": "string", "enum": values}}, "required": [name]}


def _modern(schema: Json, where: str) -> Json:
    """A schema of OpenAPI 3.0, whose parts are converted, as a JSON Schema."""
    examples = {"examples": [schema["example"]]} if "example" in schema else {}
    plain = {key: value for key, value in schema.items() if key != "example"}
    return modern({**plain, **examples}, where)


def _unescape(token: str) -> str:
    """A token of a JSON pointer in a URI as a key (RFC 6901)."""
    return unquote(token).replace("~1", "/").replace("~0", "~")
