"""Properties over generated schemas: what an import keeps, and where new names arrive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from sgdx_dataset import SgdxError
from sgdx_tools.data import Case, Json, Tool, ToolWords, Variant, Words
from sgdx_tools.folder import check_variant, read_project, write_project
from sgdx_tools.json_schema import INNER, Layout
from sgdx_tools.renaming import Renaming, WordedTools
from sgdx_tools.rewording import distinct

from .conftest import Capture, command, user

# Awkward in pointers, patterns and paths. ``a.b`` may be two parts of one path.
NAMES = ("amount", "a/b", "~x-y", "a.b", "%25")
PARTS = ("Base", "Card")  # of $defs
VALUES = st.recursive(
    st.integers(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=6,
)


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
    named = [path for path, element in tool.elements.items() if path and element.name]
    words = {path: Words(f"new_{i}") for i, path in enumerate(named)}
    new = distinct({"t": tool}, Variant("v", {"t": ToolWords(parameters=words)}))
    check_variant(new, {"t": tool}, (), "v")
    return Renaming(tool.layout, new.tools["t"].parameters)


def undone(renaming: Renaming) -> Renaming:
    """The old names in place of the new ones."""
    layout = Layout(renaming.schema(), "t")
    pairs = zip(renaming.layout.nodes.values(), layout.nodes.values(), strict=True)
    return Renaming(layout, {node.path: Words(old.name) for old, node in pairs if old.name})


@settings(max_examples=120, deadline=None)
@given(schemas(), st.data())
def test_no_old_name_stays_and_what_is_valid_stays_so(schema: Json, data: st.DataObject) -> None:
    try:
        Layout(schema, "t")
    except SgdxError as error:
        assert "of two parts" in str(error)
        return
    renaming = renamed(schema)
    new, back = renaming.schema(), undone(renaming)
    for old_node, node in zip(renaming.layout.nodes.values(), back.layout.nodes.values()):
        had = renaming.names(old_node.path).keys()
        assert not had & set(_names(node.schema)), node
    assert _untitled(back.schema()) == _untitled(schema)
    value = data.draw(st.dictionaries(st.sampled_from(NAMES), VALUES))
    assert back.value(renaming.value(value)) == value
    is_valid = Draft202012Validator(schema).is_valid(value)
    assert Draft202012Validator(new).is_valid(renaming.value(value)) == is_valid


CARD: Json = {"properties": {"to": {"properties": {"to": {"type": "string"}}}}}
TO: Json = {"type": "object", "required": ["to"]}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        # What stands under "to" is the inner object of a card, and a card.
        (
            {"$ref": "#/$defs/Card", "properties": {"to": {"$ref": "#/$defs/Card"}},
             "$defs": {"Card": CARD}},
            {"to": {"to": {"to": "me"}}},
        ),
        # What describes all others, or all items, speaks of names that one of them has.
        (CARD | {"patternProperties": {"^.": TO}}, {"to": {"to": "me"}}),
        (CARD | {"allOf": [{"additionalProperties": TO}]}, {"to": {"to": "me"}}),
        ({"properties": {"all": {"prefixItems": [CARD], "contains": {"required": ["to"]}}}},
         {"all": [{"to": {"to": "me"}}]}),
    ],
)  # fmt: skip
def test_what_two_parts_describe_gets_one_name(schema: Json, value: Json) -> None:
    renaming = renamed(schema)
    new = renaming.value(value)
    assert "to" not in json.dumps([new, renaming.schema().get("allOf")]).replace("me", "")
    assert undone(renaming).value(new) == value
    is_valid = Draft202012Validator(schema).is_valid(value)
    assert Draft202012Validator(renaming.schema()).is_valid(new) == is_valid


def _untitled(schema: Json) -> Json:
    """A schema without the titles, which are made of the names."""
    if isinstance(schema, list):
        return [_untitled(part) for part in schema]
    if isinstance(schema, dict):
        return {key: _untitled(part) for key, part in schema.items() if key != "title"}
    return schema


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


# Tools whose texts speak of each other, and new words for all of them.
_WORDED = json.loads(Path(__file__).with_name("ferries.json").read_text())
FERRIES = {record["name"]: Tool(**record) for record in _WORDED["tools"]}
NEW_FERRIES = Variant("new", msgspec.convert(_WORDED["words"], dict[str, ToolWords]))


def test_names_are_changed_where_texts_speak_of_them(tmp_path: Path, capsys: Capture) -> None:
    """A word is a name by how it is written; a name that two tools give otherwise stays."""
    said = (
        "Always use find_harbour before ferry_times; find_harbours and a search stay, 'name' too."
    )
    asked = user("I search a name."), user("Thanks.")
    case = Case("c", ({"role": "system", "content": said}, *asked), None)
    worded = WordedTools(FERRIES, NEW_FERRIES)
    texts = [worded.tool(i).description for i in FERRIES]
    assert texts == [
        "List departures. Call look_up_port first to get port_code, not `look`.",
        "Find the port_code of a harbour",
        "Look it up; departures has departures",
    ]
    parameters = worded.tool("ferry_times").parameters["properties"]
    assert parameters["port_code"]["description"] == "From look_up_port"
    new = "Always use look_up_port before departures; find_harbours and a search stay, 'name' too."
    assert [m["content"] for m in worded.messages(case)] == [new, "I search a name.", "Thanks."]
    assert worded.count_mentions([case]) == (4, 1)
    swapped = {"ferry_times": ToolWords("find_harbour"), "find_harbour": ToolWords("ferry_times")}
    worded = WordedTools(FERRIES, Variant("swap", swapped))
    assert worded.messages(case)[0]["content"].startswith("Always use ferry_times before find_har")
    # Switched off, by the option and in the file.
    write_project(tmp_path / "api", FERRIES.values(), [case], variants=[NEW_FERRIES])
    variants = tmp_path / "api" / "variants"
    words = {"file": "api/variants/new.json", "mentions": False}
    (tmp_path / "sgdx.yaml").write_text(json.dumps({"tools": "api", "variants": words}))
    assert command("reword", tmp_path / "sgdx.yaml", "--output", tmp_path / "kept") == 0
    kept = json.loads((tmp_path / "kept" / "new.json").read_text())
    assert kept["$mentions"] is False
    assert command("run", tmp_path / "api", "--model", "m", "--estimate") == 0
    assert "new: 4 descriptions and 1 messages" in capsys.readouterr().err
    (variants / "new.json").write_text(json.dumps(kept))
    project = read_project(tmp_path / "api")
    worded = WordedTools(project.tools, project.variants["new"])
    assert worded.tool("find_harbour").description == "Find the harbour_id of a harbour"
    assert worded.messages(case)[0]["content"] == said
    assert worded.tool("ferry_times").name == "departures"
