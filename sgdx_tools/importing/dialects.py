"""Schemas as JSON Schema of today, of those that are nearly that.

Gemini writes types in capitals, Python's programs by Python's names, OpenAPI 3.0 and Gemini say
``nullable``, and draft 4 has ``exclusiveMaximum: true`` beside ``maximum``.
"""

from __future__ import annotations

from typing import Any

from sgdx_dataset import SgdxError

from ..data import Json
from ..json_schema import LISTS, OBJECTS, SINGLE

# JSON Schema's types by what others call them; None stands for any.
TYPES: dict[str, str | None] = {
    **{
        kind: kind for kind in ("object", "array", "string", "integer", "number", "boolean", "null")
    },
    **{"dict": "object", "list": "array", "tuple": "array", "set": "array", "str": "string"},
    **{"int": "integer", "float": "number", "double": "number", "bool": "boolean", "none": "null"},
    **{"any": None, "type_unspecified": None},
}


def plain_schema(schema: Any, where: str) -> Any:
    """A schema and all inside it as JSON Schema; ``SgdxError`` about a type that is not known."""
    if not isinstance(schema, dict):
        return schema
    plain: Json = {}
    for keyword, value in schema.items():
        if keyword in OBJECTS and isinstance(value, dict):
            places = {key: f"{where}: {key}" for key in value}
            plain[keyword] = {key: plain_schema(value[key], place) for key, place in places.items()}
        elif keyword in LISTS and isinstance(value, list):
            plain[keyword] = [plain_schema(child, where) for child in value]
        elif keyword in SINGLE:
            plain[keyword] = plain_schema(value, where)
        else:
            plain[keyword] = value
    if plain.get("$recursiveRef") == "#" and "$ref" not in plain:  # of 2019-09, to the whole
        plain["$ref"] = plain.pop("$recursiveRef")
    plain.pop("$recursiveAnchor", None)
    return modern(plain, where)


def modern(schema: Json, where: str) -> Json:
    """One schema, whose parts are JSON Schemas already, as a JSON Schema."""
    plain = dict(schema)
    for limit in ("minimum", "maximum"):
        exclusive = f"exclusive{limit.capitalize()}"
        if plain.get(exclusive) is True and limit in plain:
            plain[exclusive] = plain.pop(limit)
        elif isinstance(plain.get(exclusive), bool):
            del plain[exclusive]
    if "type" in plain:
        plain = _with_types(plain, where)
    if (
        not isinstance(plain.get("nullable", False), bool)
        or plain.pop("nullable", False) is not True
    ):
        return plain
    if isinstance(plain.get("type"), str):
        plain["type"] = [plain["type"], "null"]
        if isinstance(plain.get("enum"), list) and None not in plain["enum"]:
            plain["enum"] = [*plain["enum"], None]
        return plain
    words: Json = {key: plain.pop(key) for key in ("title", "description") if key in plain}
    return {**words, "anyOf": [plain, {"type": "null"}]} if plain else words


def _with_types(schema: Json, where: str) -> Json:
    """A schema whose types are JSON Schema's; those of Gemini and Python are put into its words."""
    written = schema["type"]
    listed = written if isinstance(written, list) else [written]
    kinds = []
    for kind in listed:
        if not isinstance(kind, str) or kind.lower() not in TYPES:
            expected = f"expected one of {', '.join(filter(None, dict.fromkeys(TYPES.values())))}"
            raise SgdxError(f"{where}: found the type {kind!r:.60}, {expected}")
        kinds.append(TYPES[kind.lower()])
    if None in kinds:
        return {key: value for key, value in schema.items() if key != "type"}
    return schema | {"type": kinds if isinstance(written, list) else kinds[0]}
