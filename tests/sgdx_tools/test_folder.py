"""Folders of tools: what is read, and what each fault is called."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_tools.data import Case, ExpectedCall, Json, Source, Tool, ToolWords, Variant, Words
from sgdx_tools.folder import read_tool_set, write_tool_set, write_variant

PLACE: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOLS = [
    Tool("get_weather", "Tells the weather", PLACE),
    Tool("ping"),
    Tool("get_weather", "Tells the weather again", PLACE, id="get_weather#2"),
]
USER = {"role": "user", "content": "Rain in Rome?"}
CALL = ExpectedCall("get_weather", {"city": "Rome"})
CASES = [
    Case("c1", (USER,), (CALL,), ("get_weather", "ping"), "d1"),
    Case("c2", (USER,), None, ("ping",)),
]


def line(**changes: Any) -> Json:
    case: Json = {
        "id": "c1",
        "messages": [USER],
        "tools": ["get_weather", "ping"],
        "expect": [{"name": "get_weather", "arguments": {"city": "Rome"}}],
    }
    return {key: value for key, value in (case | changes).items() if value != "none"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tool_set(tmp_path / "api", TOOLS, CASES, Source("bfcl", {"a.json": "12"}, "bfcl"))
    return tmp_path / "api"


def test_a_folder_is_read_as_it_was_written(folder: Path) -> None:
    words = {"get_weather": ToolWords("forecast", parameters={"city": Words("town")})}
    variant = Variant("v1", words, "model:m")
    write_variant(folder / "variants" / "v1.json", variant)
    tool_set = read_tool_set(folder)
    assert list(tool_set.tools) == ["get_weather", "ping", "get_weather#2"]
    assert list(tool_set.tools.values()) == TOOLS
    assert list(tool_set.cases) == CASES
    assert tool_set.variants == {"original": Variant("original"), "v1": variant}
    assert tool_set.source == Source("bfcl", {"a.json": "12"}, "bfcl")


def test_tools_alone_are_enough_and_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "ping"}]')
    tool_set = read_tool_set(tmp_path)
    assert (tool_set.cases, tool_set.source.rules) == ((), "exact")
    with pytest.raises(SgdxError, match="exists already"):
        write_tool_set(tmp_path, TOOLS)


def calls(name: Any, arguments: Any = "{}") -> list[Json]:
    function = {"name": name, "arguments": arguments}
    return [{"role": "assistant", "content": None, "tool_calls": [{"function": function}]}]


@pytest.mark.parametrize(
    ("case", "place"),
    [
        (line(others=1), "unknown field `others`"),
        (line(expect="none"), "missing required field `expect`"),
        (line(id="c0"), "case c0: expected an id"),
        (line(tools=["x"]), "case c1: tools: found 'x'"),
        (line(tools=["ping", "ping"]), "case c1: tools: found a tool twice"),
        (line(tools=["get_weather", "get_weather#2"]), "case c1: .* both called 'get_weather'"),
        (line(tools="none"), "case c1: .* both called 'get_weather'"),
        (line(expect=[]), "expect: found no calls"),
        (line(expect=[{"name": "get_weather#2"}]), "#2' is no tool of the case, expected one of "),
        (line(expect=[{"name": "ping", "arguments": {"x": 1}}]), "ping: there is no argument 'x'"),
        (
            line(expect=[{"name": "get_weather", "arguments": {"x": 1}}]),
            "get_weather: there is no argument 'x', expected one of city, days",
        ),
        (line(expect=[{"name": "get_weather"}]), "get_weather: .*city"),
        (line(messages=[{"role": "robot"}]), "messages\\[0\\]: role is 'robot'"),
        (line(messages=[{"role": "user", "content": 1}]), "messages\\[0\\]: .*content"),
        (line(messages=calls("x")), "messages\\[0\\]: tool_calls: 'x' is no tool"),
        (line(messages=calls("ping", 5)), "messages\\[0\\]: .*arguments"),
        (line(messages=calls("ping", "[1]")), "messages\\[0\\]: .*arguments"),
    ],
)
def test_faults_of_cases_have_file_and_line(folder: Path, case: Json, place: str) -> None:
    lines = [json.dumps(line(id="c0")), "", json.dumps(case)]
    (folder / "cases.jsonl").write_text("\n".join(lines))
    with pytest.raises(SgdxError, match=f"cases.jsonl:3: .*{place}"):
        read_tool_set(folder)


STAY: Json = {
    "type": "object",
    "properties": {
        "nights": {"type": "integer", "minimum": 1, "maximum": 30},
        "code": {"type": "string", "pattern": "^(b+)+$!"},
        "labels": {"patternProperties": {"^x-": {}}, "additionalProperties": False},
        "beds": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
        "room": {"enum": ["single", "double"]},
        "guests": {"type": "array", "items": {"$ref": "#/$defs/Guest"}},
        "when": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["nights"],
    "$defs": {
        "Guest": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "of": {"$ref": "#/$defs/Guest"}},
            "required": ["name"],
            "additionalProperties": False,
        }
    },
}


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"nights": 2, "room": "double", "when": None}, None),
        ({"nights": 2.0, "guests": [{"name": "Ann", "of": {"name": "Bob"}}]}, None),
        (
            {"nights": {"any_of": ["two", 2]}, "room": {"any_of": ["single", {"absent": True}]}},
            None,
        ),
        ({"nights": "3"}, "nights: '3' .*integer"),
        ({"nights": True}, "nights: True"),
        ({"nights": {"any_of": ["2", "two"]}}, "nights: '2'"),
        ({"nights": {"any_of": [{"absent": True}]}}, "nights"),
        ({"room": "single"}, "nights"),
        ({"nights": 2, "room": "suite"}, "room: 'suite' .*'single', 'double'"),
        ({"nights": 2, "when": 3}, "when: 3"),
        ({"nights": 2, "guests": [{"name": "Ann"}, {}]}, r"guests\[1\]: .*name"),
        ({"nights": 2, "guests": [{"name": "A", "of": {"name": 1}}]}, r"guests\[0\].of.name: 1"),
        ({"nights": 2, "guests": [{"name": "A", "age": 3}]}, r"guests\[0\]: .*'age'"),
        ({"nights": {"any_of": [0, 40]}}, "nights: 0 .*minimum"),
        (
            {"nights": 2, "code": "b" * 40},
            "code: .*match",
        ),  # and a pattern that is hostile has an end
        ({"nights": 2, "labels": {"x-a": 1, "b": 2}}, None),
        ({"nights": 2, "labels": {"c": {"any_of": ["x", "y"]}}}, None),
        ({"nights": 2, "beds": [2, "sofa"]}, None),
        ({"nights": 2, "beds": [2, 3]}, r"beds\[1\]: 3"),
        ({"nights": 2, "beds": {"any_of": [["sofa"], [2, {"any_of": [3, "sofa"]}]]}}, None),
    ],
)
def test_what_no_valid_call_can_match_is_refused(
    tmp_path: Path, arguments: Json, place: str | None
) -> None:
    case = Case("c", (USER,), (ExpectedCall("stay", arguments),))
    write_tool_set(tmp_path / "api", [Tool("stay", "", STAY)], [case])
    if place is None:
        assert read_tool_set(tmp_path / "api").cases
        return
    with pytest.raises(SgdxError, match=f"cases.jsonl:1: case c: expect: stay: .*{place}"):
        read_tool_set(tmp_path / "api")


@pytest.mark.parametrize("odd", [{"type": "date"}, {"pattern": "("}, {"minimum": "1"}])
def test_what_only_other_languages_have_refuses_no_case(tmp_path: Path, odd: Json) -> None:
    schema = {"type": "object", "properties": {"day": odd}}
    case = Case("c", (USER,), (ExpectedCall("f", {"day": "now" if "minimum" not in odd else 1}),))
    write_tool_set(tmp_path / "api", [Tool("f", "", schema)], [case])
    assert read_tool_set(tmp_path / "api").cases


DEEP = '[{"name": "a", "parameters": ' + '{"not":' * 5000 + "{}" + "}" * 5001 + "]"


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("tools.json", [], ""),
        ("tools.json", "{", ""),
        ("tools.json", [{"name": "a"}, {"name": "b", "unknown": True}], "tool 2: .*unknown"),
        ("tools.json", '[{"name": "a", "name": "b"}]', ".*'name' twice"),
        ("tools.json", [{"name": "a b"}], "tool a b: .*'a b'"),
        ("tools.json", [{"name": "a"}, {"name": "a"}], "tool a: "),
        ("tools.json", [{"name": "a", "parameters": {"type": "array"}}], "tool a: .*'array'"),
        ("tools.json", DEEP, ""),
        ("cases.jsonl", '{"id": "\udcff"}', ""),
        ("cases.jsonl", [{"id": 1}], ""),
        ("source.json", {"rules": "none"}, ""),
        ("variants/v1.json", {"x": {"name": "y"}}, "tool x .*tools.json"),
        ("variants/v1.json", {"ping": {"title": "y"}}, "tool ping: .*`title`"),
        ("variants/v1.json", {"ping": {"name": "a b"}}, "tool ping: .*'a b'"),
        ("variants/v1.json", {"ping": {"parameters": {"a": {}}}}, "tool ping: path a "),
        ("variants/v1.json", {"ping": {"name": "get_weather"}}, "tools get_weather and ping "),
        ("variants/original.json", {}, ".*'original'"),
        ("variants/v 1.json", {}, ".*'v 1'"),
    ],
)
def test_faults_of_other_files(folder: Path, name: str, content: Json, place: str) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "variants").mkdir()
    (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SgdxError, match=f"{name}(:1)?: {place}"):
        read_tool_set(folder)


@pytest.mark.posix
def test_a_variant_that_is_a_pipe_is_not_waited_for(folder: Path) -> None:
    (folder / "variants").mkdir(exist_ok=True)
    os.mkfifo(folder / "variants" / "v3.json")
    with pytest.raises(SgdxError, match=r"v3.json: found something other than a file"):
        read_tool_set(folder)
