"""Whether an expected value is one that a JSON Schema allows, so that a valid call can be right."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sgdx_metric.call_rules import alternatives, is_absent

from .data import ABSENT, ANY_OF, Json
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


def as_expected(made: Any) -> Any:
    """A value that was made as a case expects it: `any_of` and `absent` are names of arguments.

    >>> as_expected({"filter": {"any_of": ["red", "blue"]}})
    {'filter': {'any_of': {'any_of': [['red', 'blue']]}}}
    """
    if isinstance(made, list):
        return [as_expected(item) for item in made]
    if not isinstance(made, dict):
        return made
    inner = {key: as_expected(value) for key, value in made.items()}
    if alternatives(made) != [made] or is_absent(made):
        return {key: {ANY_OF: [value]} for key, value in inner.items()}
    return inner


def with_plain_alternatives(expected: Any, is_value: bool = True) -> Any:
    """Expected arguments in which an alternative that is itself ``{"any_of": [...]}`` is a value.

    So are the whole arguments, if `any_of` or `absent` is the only one.

    >>> with_plain_alternatives({"filter": {"any_of": [{"any_of": ["red", "blue"]}]}})
    {'filter': {'any_of': [{'any_of': {'any_of': [['red', 'blue']]}}]}}
    """
    if isinstance(expected, list):
        return [with_plain_alternatives(item, False) for item in expected]
    if not isinstance(expected, dict):
        return expected
    accepted = alternatives(expected)
    if accepted != [expected] and not is_value:
        return {ANY_OF: [v if is_absent(v) else with_plain_alternatives(v) for v in accepted]}
    inner = {key: with_plain_alternatives(value, False) for key, value in expected.items()}
    if accepted != [expected] or (is_value and is_absent(expected)):
        return {key: {ANY_OF: [value]} for key, value in inner.items()}
    return inner


def _faults(
    expected: Any, nodes: Sequence[Node], layout: Layout, place: str, with_values: bool
) -> Iterator[str]:
    """The faults of a value that all of some nodes describe."""
    accepted = alternatives(expected)
    if why := _two_meanings(expected, nodes, layout):
        yield f"{place or 'the whole'} {why}"
        return
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


def _two_meanings(expected: Any, nodes: Sequence[Node], layout: Layout) -> str:
    """Why a value may be alternatives, or an object of the tool's own; empty where it is clear."""
    key = ABSENT if is_absent(expected) else ANY_OF
    if alternatives(expected) == [expected] and key == ANY_OF:
        return ""
    own = [*nodes]
    for node in _all_of(nodes, layout):
        own += [branch for of in ("anyOf", "oneOf") for branch in _inside(node, layout, of)]
    known = {child.name for node in _all_of(own, layout) for child in layout.children(node)}
    named = [v for v in alternatives(expected) if isinstance(v, dict) and v.keys() == {ANY_OF}]
    if key not in known or (key == ANY_OF and named):
        return ""
    value = json.dumps(expected[key], ensure_ascii=False)[:60]
    meaning = {ABSENT: "says that it is left out", ANY_OF: "lists right values"}[key]
    written = {
        ABSENT: '{"absent": {"any_of": [true]}}',
        ANY_OF: '{"any_of": [{"any_of": [...]}]}',
    }[key]
    return (
        f'is {{"{key}": {value}}}, which {meaning}, and the tool has an argument {key} there: '
        f"expected {written} for that argument"
    )


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
