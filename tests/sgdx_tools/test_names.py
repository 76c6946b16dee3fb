"""A property over generated schemas: new names reach every place where an old one stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from sgdx_dataset import SgdxError
from sgdx_tools.data import Json, Tool, ToolWords, Variant, Words
from sgdx_tools.json_schema import INNER, Layout, Renaming, elements_of
from sgdx_tools.pool import distinct

# Awkward in pointers, patterns and paths. ``a.b`` may be two parts of one path.
NAMES = ("amount", "a/b", "~x-y", "a.b", "%25")
PARTS = ("Base", "Card")  # of $defs


def _object(draw: st.DrawFn, depth: int, refers: bool = False) -> Json:
    """A schema of an object, with keywords that mention its properties."""

    def some(of: list[str]) -> list[str]:
        return [name for name in of if draw(st.booleans())]

    own = some([*NAMES])
    schema: Json = {"type": "object", "properties": {n: _value(draw, depth - 1) for n in own}}
    mention: dict[str, Callable[[list[str]], Any]] = {
        "required": some,
        "dependentRequired": lambda of: dict.fromkeys(some(of), some(of)),
        "dependencies": lambda of: dict.fromkeys(some(of), some(of)),
        "dependentSchemas": lambda of: {n: {"required": some(of)} for n in some(of)},
        "propertyOrdering": some,
        "ui:order": lambda of: [*some(of), "*"],
        "errorMessage": lambda of: {"required": dict.fromkeys(some(of), "is missing")},
        "propertyNames": lambda of: {"anyOf": [{"enum": [*of, "new"]}, {"pattern": "^[b-z]+$"}]},
        "patternProperties": lambda of: {"^(amount|z)$": {"type": "integer"}},
        "examples": lambda of: [dict.fromkeys(of, 1)],
        "discriminator": lambda of: {"propertyName": of[0]} if of else {},
    }
    for keyword in draw(st.lists(st.sampled_from([*mention]), max_size=3, unique=True)):
        schema[keyword] = mention[keyword](own)
    if refers:  # of which each may mention what the other has
        schema["allOf"] = [{"$ref": f"#/$defs/{draw(st.sampled_from(PARTS))}"}]
        schema["anyOf"] = [_object(draw, depth - 1), {"required": some(own)}]
    return schema


def _value(draw: st.DrawFn, depth: int) -> Json:
    plain: list[Json] = [{"type": "integer", "title": "Amount"}, {"x-depends-on": "amount"}]
    plain += [{"$ref": f"#/$defs/{part}"} for part in PARTS]
    if depth <= 0 or draw(st.booleans()):
        return draw(st.sampled_from(plain))
    inner = _object(draw, depth)
    return draw(st.sampled_from([inner, {"type": "array", "items": inner}]))


@st.composite
def schemas(draw: st.DrawFn) -> Json:
    parts = {part: _object(draw, 1) for part in PARTS}
    for part in parts.values():
        if draw(st.booleans()):
            part["required"] = [draw(st.sampled_from(NAMES))]
    return {**_object(draw, 2, refers=True), "$defs": parts}


def renamed(schema: Json) -> Renaming:
    """Every property under a new name, ``new_0`` and so on."""
    tool = Tool("t", "", schema)
    named = [path for path, element in elements_of(tool).items() if path and element.name]
    words = {path: Words(f"new_{i}") for i, path in enumerate(named)}
    new = distinct({"t": tool}, Variant("v", {"t": ToolWords(parameters=words)})).tools["t"]
    layout = Layout(schema, "t")
    layout.check_words(new.parameters, "v")
    return Renaming(layout, new.parameters)


@settings(max_examples=200, deadline=None)
@given(schemas(), st.data())
def test_no_old_name_stays_and_what_is_valid_stays_so(schema: Json, data: st.DataObject) -> None:
    try:
        Layout(schema, "t").check()
    except SgdxError as error:
        assert "of two parts" in str(error)
        return
    renaming = renamed(schema)
    new = renaming.schema()
    layout = Layout(new, "t")
    layout.check()  # every reference leads to a part
    assert len(layout.nodes) == len(renaming.layout.nodes)
    for old_node, node in zip(renaming.layout.nodes.values(), layout.nodes.values()):
        had = renaming.names.get(old_node.path, {}).keys()
        assert not had & set(_names(node.schema)), node
    names = st.sampled_from(NAMES)
    value = data.draw(st.dictionaries(names, st.integers()))
    is_valid = Draft202012Validator(schema).is_valid(value)
    assert Draft202012Validator(new).is_valid(renaming.value(value)) == is_valid


def _names(schema: Json) -> Iterator[str]:
    """What stands in a schema, but for the schemas inside it, where names of properties may."""
    yield from (
        n for keyword in ("properties", "dependentSchemas") for n in schema.get(keyword, {})
    )
    pending: list[Any] = [part for keyword, part in schema.items() if keyword not in INNER]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            yield from part
            pending += part.values()
        elif isinstance(part, list):
            pending += part
