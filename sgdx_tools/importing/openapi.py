"""Operations of an API that OpenAPI 3.0, 3.1 or 3.2 describes, as tools.

An operation is a tool. Its parameters in the path, the query and cookies are arguments under their
names, and the body of its request is the argument ``body``. What is about the transport (headers
unless asked for, servers, security, serialisation, responses, callbacks) is no part of a tool.
A document may refer to other files of its folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from sgdx_dataset import SgdxError
from sgdx_llm.functions import safe_names

from ..data import Json, Tool
from .collection import Collection
from .openapi_schema import Document, SchemaConverter, read_document

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_VERSION = re.compile(r"3\.[012]\.\d+")
_LOCATIONS = ("path", "query", "querystring", "header", "cookie")
# OpenAPI says that parameters of these names are to be ignored: other parts describe them.
_IGNORED_HEADERS = ("accept", "content-type", "authorization")
# Which form of a body is taken where there are several, the best one first.
_MEDIA_TYPES = (
    re.compile(r"application/json\b"),
    re.compile(r"application/.*\+json\b"),
    re.compile(r"application/x-www-form-urlencoded\b"),
    re.compile(r"multipart/form-data\b"),
    re.compile(""),
)
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
BODY = "body"


def import_openapi(path: Path, with_headers: bool = False, only: Sequence[str] = ()) -> Collection:
    """Read the operations of an OpenAPI document in JSON or YAML."""
    collection = Collection("openapi", only=only)
    parsed = read_document(collection.add_file(path), path)
    expected = "expected openapi: 3.0.x, 3.1.x or 3.2.x"
    if not isinstance(parsed, dict):
        raise SgdxError(f"{path}: found {type(parsed).__name__}, {expected}")
    version = parsed.get("openapi")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        facts = [f"{key}: {parsed[key]}"[:100] for key in ("openapi", "swagger") if key in parsed]
        raise SgdxError(f"{path}: found {(*facts, 'no openapi')[0]}, {expected}")
    document = Document(parsed, path, collection.add_file)
    tools = []
    operations = list(_operations(document, collection))
    for operation, name in zip(operations, _names(operations, collection)):
        operation.with_headers = with_headers
        if not collection.takes(name, operation.path, *operation.tags):
            continue
        try:
            tools.append(Tool(name, operation.description, operation.schema()))
        except SgdxError as error:
            collection.left_out.append(f"{error}: the tool is left out")
    webhooks = parsed.get("webhooks")
    for name in webhooks if isinstance(webhooks, dict) else ():
        collection.left_out.append(f"webhook {name}: the API calls it, and not the model")
    collection.add_tools(tools)
    properties = {i: tool.parameters.get("properties", {}) for i, tool in collection.tools.items()}
    if with_body := [i for i, of_tool in properties.items() if BODY in of_tool]:
        text = f"the argument {BODY} of {len(with_body)} tools, such as {with_body[0]},"
        collection.remarks.append(f"{text} is what a request sends beside its parameters")
    return collection


def _operations(document: Document, collection: Collection) -> Iterator[_Operation]:
    """The operations in the order of the document."""
    paths = document.content.get("paths") or {}
    if not isinstance(paths, dict):
        raise SgdxError(f"{document.where}: paths: expected an object")
    for path, entry in paths.items():
        try:
            item = document.part(entry, path)
        except SgdxError as error:
            collection.left_out.append(f"{error}: its tools are left out")
            continue
        of_path = {method: item.get(method) for method in _METHODS}
        others = item.get("additionalOperations")
        for method, part in {**of_path, **(others if isinstance(others, dict) else {})}.items():
            if isinstance(part, dict):
                try:
                    operation = document.part(part, f"{method.upper()} {path}")
                except SgdxError as error:
                    collection.left_out.append(f"{error}: the tool is left out")
                    continue
                yield _Operation(document, collection, method, path, item, operation)


def _names(operations: list[_Operation], collection: Collection) -> list[str]:
    """A name for each operation: its id, or one made of its method and path, made distinct."""
    first: dict[str, _Operation] = {}
    for operation in operations:
        if operation.id:
            first.setdefault(operation.id, operation)
    names = []
    for operation in operations:
        name = operation.id
        if first.get(name) is not operation:
            made = _UNSAFE.sub("_", f"{operation.method} {operation.path}").strip("_")
            name = next(
                form for n in count(1) if (form := made if n == 1 else f"{made}_{n}") not in first
            )
            first[name] = operation
            if operation.id:
                other = first[operation.id].where
                collection.renamed.append(
                    f"{operation.where}: {other} has its operationId {operation.id}: it is {name}"
                )
        names.append(name)
    return names


@dataclass
class _Operation:
    """An operation of the document, whose arguments are being read."""

    document: Document
    collection: Collection
    # In lower case.
    method: str
    # As ``/pets/{petId}``.
    path: str
    # The path item, whose parameters all of its operations have, and the operation object.
    item: Json
    content: Json
    # The schemas of arguments by name.
    properties: Json = field(default_factory=dict)
    # Whether headers are arguments too.
    with_headers: bool = False
    required: list[str] = field(default_factory=list)

    @property
    def where(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def id(self) -> str:
        """Empty where there is none."""
        found = self.content.get("operationId")
        return found if isinstance(found, str) else ""

    @property
    def tags(self) -> list[str]:
        """The names under which the document groups it."""
        tags = self.content.get("tags")
        return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []

    @property
    def description(self) -> str:
        """The summary and the description, where they differ."""
        parts = [self.content.get("summary"), self.content.get("description")]
        texts = [part.strip() for part in parts if isinstance(part, str) and part.strip()]
        return "\n\n".join(dict.fromkeys(texts))

    def schema(self) -> Json:
        """The schema of all arguments; empty where there are none."""
        converter = SchemaConverter(self.document, self.where)
        parameters = self._parameters()
        keys = [f"{parameter['name']} in {parameter['in']}" for parameter in parameters]
        names = self._names(parameters)
        for key, parameter in zip(keys, parameters):
            name = names[key]
            if name != parameter["name"]:
                self.collection.renamed.append(f"{self.where}: parameter {key} is called {name}")
            self.properties[name] = self._parameter(converter, parameter)
            if parameter.get("required") is True or parameter["in"] == "path":
                self.required.append(name)
        self._add_body(converter)
        definitions = converter.definitions()
        if converter.read_only:
            self._note(f"only read, never sent: {', '.join(converter.read_only)}")
        for line in converter.lost:
            self._note(line)
        if not self.properties:
            return {}
        schema: Json = {"type": "object", "properties": self.properties}
        if self.required:
            schema["required"] = self.required
        return {**schema, **definitions}

    def _note(self, what: str) -> None:
        self.collection.left_out.append(f"{self.where}: {what}")

    def _parameters(self) -> list[Json]:
        """The operation's parameters, which replace the path's of the same name and location."""
        by_key: dict[tuple[str, str], Json] = {}
        for owner in (self.item, self.content):
            listed = owner.get("parameters") or []
            if not isinstance(listed, list):
                raise SgdxError(f"{self.where}: parameters: expected a list")
            for entry in listed:
                parameter = self.document.part(entry, self.where)
                name, location = parameter.get("name"), parameter.get("in")
                if not isinstance(name, str) or location not in _LOCATIONS:
                    fault = f"found the parameter {str(name)[:60]!r} in {str(location)[:60]!r}"
                    raise SgdxError(f"{self.where}: {fault}")
                if location == "header" and name.lower() in _IGNORED_HEADERS:
                    self._note(f"header {name}: OpenAPI has it in other places")
                    continue
                if location == "header" and not self.with_headers:
                    self._note(f"header {name}: programs send it; --with-headers keeps it")
                    continue
                by_key[name, location] = parameter
        return list(by_key.values())

    def _names(self, parameters: list[Json]) -> dict[str, str]:
        """Names of arguments that providers take, distinct, by ``NAME in PLACE``."""
        has_body = bool(self.content.get("requestBody"))
        taken = {BODY} if has_body else set[str]()
        plain_names = {}
        for parameter in parameters:
            name, location = parameter["name"], parameter["in"]
            plain = _UNSAFE.sub("_", name).strip("_") if _UNSAFE.search(name) else name
            forms = [plain, *(f"{plain}_{location}{number}" for number in ("", *range(2, 100)))]
            plain = next(form for form in forms if form not in taken)
            taken.add(plain)
            plain_names[f"{name} in {location}"] = plain
        safe = safe_names([*([BODY] if has_body else []), *plain_names.values()])
        return {key: safe[name] for key, name in plain_names.items()}

    def _parameter(self, converter: SchemaConverter, parameter: Json) -> Json:
        schema = parameter.get("schema")
        if schema is None:
            media_type: Any = next(iter((parameter.get("content") or {}).values()), {})
            schema = media_type.get("schema", {}) if isinstance(media_type, dict) else {}
        converted = _as_object(converter.convert(schema))
        if isinstance(parameter.get("description"), str):
            converted["description"] = parameter["description"]
        examples = parameter.get("examples")
        if "example" in parameter:
            converted["examples"] = [parameter["example"]]
        elif isinstance(examples, dict):
            values = [e["value"] for e in examples.values() if isinstance(e, dict) and "value" in e]
            converted |= {"examples": values} if values else {}
        if parameter.get("deprecated") is True:
            converted["deprecated"] = True
        return converted

    def _add_body(self, converter: SchemaConverter) -> None:
        entry = self.content.get("requestBody")
        if not entry:
            return
        body = self.document.part(entry, self.where)
        content = body.get("content")
        if not isinstance(content, dict) or not content:
            self._note("its body has no form")
            return
        media_type = next(t for form in _MEDIA_TYPES for t in content if form.match(t))
        others = [t for t in content if t != media_type and content[t] != content[media_type]]
        if others:
            self._note(f"its body as {', '.join(others)}; it is {media_type} here")
        form = content[media_type] if isinstance(content[media_type], dict) else {}
        # A body that is not of JSON or of a form is text or a file.
        default = {} if "json" in media_type or "form" in media_type else {"type": "string"}
        schema = _as_object(converter.convert(form.get("schema", default)))
        if isinstance(body.get("description"), str):
            schema["description"] = body["description"]
        self.properties[BODY] = schema
        if body.get("required") is True:
            self.required.append(BODY)


def _as_object(schema: Any) -> Json:
    """A schema to which a description can be added, in place of ``true`` or ``false``."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return dict(schema)
