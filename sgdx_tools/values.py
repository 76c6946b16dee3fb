"""Whether an expected value is one that a JSON Schema allows, so that a valid call can be right."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sgdx_metric.call_rules import alternatives, is_absent

from .data import Json
from .json_schema import Layout, Node, step

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def fault(expected: Json, layout: Layout, with_values: bool = True) -> str:
    """Why no valid call has the expected arguments; empty where one can.

    Without `with_values` only names are looked at, and no types and enums of values.
    """
    names = layout.properties()
    unknown = [name for name in expected if name not in names]
    if unknown and not layout.is_open():
        known = f"expected one of {', '.join(names)}" if names else "the tool has no parameters"
        return f"there is no argument {unknown[0]!r}, {known}"
    return next(_faults(expected, [layout.nodes["#"]], layout, "", with_values), "")


def _faults(
    expected: Any, nodes: Sequence[Node], layout: Layout, place: str, with_values: bool
) -> Iterator[str]:
    """The faults of a value that all of some nodes describe."""
    accepted = alternatives(expected)
    if any(map(is_absent, accepted)):
        return  # it may be left out, whatever else is right
    if accepted != [expected]:
        found = [next(_faults(v, nodes, layout, place, with_values), "") for v in accepted]
        yield from found[:1] if all(found) else ()
        return
    for node in _all_of(nodes, layout):
        schema = node.schema
        if with_values:
            yield from _faults_of_value(expected, schema, place)
        for keyword in ("anyOf", "oneOf"):
            if branches := _inside(node, layout, keyword):
                found = [
                    next(_faults(expected, [branch], layout, place, with_values), "")
                    for branch in branches
                ]
                yield from found[:1] if all(found) else ()
        if isinstance(expected, dict):
            required = schema.get("required")
            names = required if isinstance(required, list) else []
            for name in (name for name in names if isinstance(name, str)):
                if all(map(is_absent, alternatives(expected.get(name, {"absent": True})))):
                    yield f"the required {step(place, name)} is missing"
            is_closed = schema.get("additionalProperties") is False and "properties" in schema
            properties = {child.name: child for child in layout.children(node) if child.name}
            for name, value in expected.items():
                where = step(place, name)
                if name in properties:
                    yield from _faults(value, [properties[name]], layout, where, with_values)
                elif is_closed and "patternProperties" not in schema:
                    yield f"there is no {where}, expected one of {', '.join(properties)}"
        if isinstance(expected, list):
            items = [n for n in _inside(node, layout, "items") if "prefixItems" not in schema]
            for i, item in enumerate(expected if len(items) == 1 else ()):
                yield from _faults(item, items, layout, f"{place}[{i}]", with_values)


def _all_of(nodes: Sequence[Node], layout: Layout) -> list[Node]:
    """Nodes, and those that they refer to or that are parts of them."""
    found = {node.pointer: node for node in nodes}
    pending = list(nodes)
    while pending:
        node = pending.pop()
        others = _inside(node, layout, "allOf")
        if "$ref" in node.schema:
            others.append(layout.referred(node, node.schema["$ref"]))
        pending += [other for other in others if other.pointer not in found]
        found |= {other.pointer: other for other in others}
    return list(found.values())


def _inside(node: Node, layout: Layout, keyword: str) -> list[Node]:
    """The nodes under a keyword of a node."""
    beginning = f"{node.pointer}/{keyword}"
    children = layout.children(node)
    return [n for n in children if f"{n.pointer}/".startswith(f"{beginning}/")]


def _faults_of_value(value: Any, schema: Any, place: str) -> Iterator[str]:
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    known = [kind for kind in _TYPES if kind in kinds]
    where = place or "the whole"
    if known and not any(_is_of(value, kind) for kind in known):
        yield f"{where} is {_short(value)}, expected type {' or '.join(known)}"
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(listed, list) and not any(_short(value) == _short(item) for item in listed):
        expected = ", ".join(map(_short, listed))
        yield f"{where} is {_short(value)}, expected one of {expected:.300}"


def _is_of(value: Any, kind: str) -> bool:
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    is_flag = isinstance(value, bool) and kind in ("integer", "number")
    return isinstance(value, _TYPES[kind]) and not is_flag


def _short(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
