"""Operations of an API that OpenAPI 3.0, 3.1 or 3.2 describes, as tools.

An operation is a tool. Its parameters in the path, the query and cookies are arguments under their
names, and the body of its request is the argument ``body``. What is about the transport (headers
unless asked for, servers, security, serialisation, responses, callbacks) is no part of a tool.
A document may refer to other files of its folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from sgdx_dataset import SgdxError
from sgdx_llm.functions import safe_names

from ..data import Json, Tool
from .collection import Collection, parse_document
from .openapi_schema import Document, SchemaConverter

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


class _Operation(NamedTuple):
    """An operation of a document."""

    # As ``GET /pets/{petId}``.
    where: str
    method: str
    path: str
    # The path item, whose parameters all of its operations have, and the operation object.
    item: Json
    content: Json
    # Its ``operationId``; empty where there is none.
    id: str


def import_openapi(path: Path, with_headers: bool = False, only: Sequence[str] = ()) -> Collection:
    """Read the operations of an OpenAPI document in JSON or YAML."""
    collection = Collection("openapi", only=only)
    parsed = parse_document(collection.add_file(path), path, True)
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
        tags = operation.content.get("tags")
        tags = tags if isinstance(tags, list) else []
        if not collection.takes(name, operation.path, *(t for t in tags if isinstance(t, str))):
            continue
        said = [operation.content.get("summary"), operation.content.get("description")]
        texts = [text.strip() for text in said if isinstance(text, str) and text.strip()]
        try:
            schema = _Arguments(document, operation, collection, with_headers).schema()
        except SgdxError as error:
            collection.left_out.append(f"{error}: the tool is left out")
            continue
        tools.append(Tool(name, "\n\n".join(dict.fromkeys(texts)), schema))
        if operation.content.get("deprecated") is True:
            collection.beside[f"tool {name}"] = {"deprecated": True}
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
            where = f"{method.upper()} {path}"
            try:
                content = document.part(part, where) if isinstance(part, dict) else None
            except SgdxError as error:
                collection.left_out.append(f"{error}: the tool is left out")
                continue
            if content is not None:
                found = content.get("operationId")
                name = found if isinstance(found, str) else ""
                yield _Operation(where, method, path, item, content, name)


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
            forms = (made if n == 1 else f"{made}_{n}" for n in count(1))
            name = next(form for form in forms if form not in first)
            first[name] = operation
            if operation.id:
                other = first[operation.id].where
                collection.renamed.append(
                    f"{operation.where}: {other} has its operationId {operation.id}: it is {name}"
                )
        names.append(name)
    return names


class _Arguments:
    """The arguments of an operation while they are read."""

    def __init__(
        self,
        document: Document,
        operation: _Operation,
        collection: Collection,
        with_headers: bool,
    ) -> None:
        self._document, self._operation = document, operation
        self._collection, self._with_headers = collection, with_headers
        self._converter = SchemaConverter(document, operation.where)

    def schema(self) -> Json:
        """The schema of all arguments; empty where there are none."""
        where, converter = self._operation.where, self._converter
        properties: Json = {}
        required: list[str] = []
        parameters = self._parameters()
        for name, parameter in self._named(parameters).items():
            if name != parameter["name"]:
                key = f"{parameter['name']} in {parameter['in']}"
                self._collection.renamed.append(f"{where}: parameter {key} is called {name}")
            properties[name] = self._parameter(parameter)
            if parameter.get("required") is True or parameter["in"] == "path":
                required.append(name)
        if entry := self._operation.content.get("requestBody"):
            body = self._document.part(entry, where)
            if (schema := self._body(body)) is not None:
                properties[BODY] = schema
                required += [BODY] if body.get("required") is True else []
        definitions = converter.definitions()
        if converter.read_only:
            self._note(f"only read, never sent: {', '.join(converter.read_only)}")
        for line in converter.lost:
            self._note(line)
        if not properties:
            return {}
        needed = {"required": required} if required else {}
        return {"type": "object", "properties": properties, **needed, **definitions}

    def _note(self, what: str) -> None:
        self._collection.left_out.append(f"{self._operation.where}: {what}")

    def _parameters(self) -> list[Json]:
        """The operation's parameters, which replace the path's of the same name and location."""
        by_key: dict[tuple[str, str], Json] = {}
        where = self._operation.where
        for owner in (self._operation.item, self._operation.content):
            listed = owner.get("parameters") or []
            if not isinstance(listed, list):
                raise SgdxError(f"{where}: parameters: expected a list")
            for entry in listed:
                parameter = self._document.part(entry, where)
                name, location = parameter.get("name"), parameter.get("in")
                if not isinstance(name, str) or location not in _LOCATIONS:
                    fault = f"found the parameter {str(name)[:60]!r} in {str(location)[:60]!r}"
                    raise SgdxError(f"{where}: {fault}")
                if location == "header" and name.lower() in _IGNORED_HEADERS:
                    self._note(f"header {name}: OpenAPI has it in other places")
                elif location == "header" and not self._with_headers:
                    self._note(f"header {name}: programs send it; --with-headers keeps it")
                else:
                    by_key[name, location] = parameter
        return list(by_key.values())

    def _named(self, parameters: list[Json]) -> dict[str, Json]:
        """Parameters by names that providers take, which are distinct."""
        taken = [BODY] if self._operation.content.get("requestBody") else []
        for parameter in parameters:
            name, location = parameter["name"], parameter["in"]
            plain = _UNSAFE.sub("_", name).strip("_") if _UNSAFE.search(name) else name
            forms = [plain, *(f"{plain}_{location}{number}" for number in ("", *range(2, 100)))]
            taken.append(next(form for form in forms if form not in taken))
        safe = safe_names(taken)
        return {safe[name]: p for name, p in zip(taken[-len(parameters) :], parameters)}

    def _parameter(self, parameter: Json) -> Json:
        schema = parameter.get("schema")
        if schema is None:
            media_type: Any = next(iter((parameter.get("content") or {}).values()), {})
            schema = media_type.get("schema", {}) if isinstance(media_type, dict) else {}
        converted = _as_object(self._converter.convert(schema))
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

    def _body(self, body: Json) -> Json | None:
        content = body.get("content")
        if not isinstance(content, dict) or not content:
            self._note("its body has no form")
            return None
        media_type = next(t for form in _MEDIA_TYPES for t in content if form.match(t))
        others = [t for t in content if t != media_type and content[t] != content[media_type]]
        if others:
            self._note(f"its body as {', '.join(others)}; it is {media_type} here")
        form = content[media_type] if isinstance(content[media_type], dict) else {}
        # A body that is not of JSON or of a form is text or a file.
        default = {} if "json" in media_type or "form" in media_type else {"type": "string"}
        schema = _as_object(self._converter.convert(form.get("schema", default)))
        if isinstance(body.get("description"), str):
            schema["description"] = body["description"]
        return schema


def _as_object(schema: Any) -> Json:
    """A schema to which a description can be added, in place of ``true`` or ``false``."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return dict(schema)
