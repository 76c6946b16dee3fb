"""Folders of tools: what is read, and what each fault is called."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_tools.data import Case, ExpectedCall, Json, Source, Tool, ToolWords, Variant, Words
from sgdx_tools.folder import read_project, write_project, write_variant

from .conftest import call, objects, user

PLACE = objects(["city"], city={"type": "string"}, days={"type": "integer"})
TOOLS = [
    Tool("get_weather", "Tells the weather", PLACE),
    Tool("ping"),
    Tool("get_weather", "Tells the weather again", PLACE, id="get_weather#2"),
]
USER = user("Rain in Rome?")
CALL = ExpectedCall("get_weather", {"city": "Rome"})
CASES = [
    Case("c1", (USER,), (CALL,), ("get_weather", "ping"), "d1"),
    Case("c2", (USER,), None, ("ping",)),
]


def line(**changes: Any) -> Json:
    case = {"id": "c1", "messages": [USER], "tools": ["get_weather", "ping"]}
    case |= {"expect": call("get_weather", city="Rome")}
    return {key: value for key, value in (case | changes).items() if value != "none"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_project(tmp_path / "api", TOOLS, CASES, Source("bfcl", {"a.json": "12"}, "fuzzy"))
    return tmp_path / "api"


def test_a_folder_is_read_as_it_was_written(folder: Path) -> None:
    words = {"get_weather": ToolWords("forecast", parameters={"city": Words("town")})}
    variant = Variant("v1", words, "model:m")
    write_variant(folder / "variants" / "v1.json", variant)
    project = read_project(folder)
    assert list(project.tools) == ["get_weather", "ping", "get_weather#2"]
    assert list(project.tools.values()) == TOOLS
    assert list(project.cases) == CASES
    assert project.variants == {"original": Variant("original"), "v1": variant}
    assert project.source == Source("bfcl", {"a.json": "12"}, "fuzzy")


def test_tools_alone_are_enough_and_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "ping"}]')
    project = read_project(tmp_path)
    assert (project.cases, project.source.rules) == ((), "exact")
    with pytest.raises(SgdxError, match="exists already"):
        write_project(tmp_path, TOOLS)


def calls(name: Any, arguments: Any = "{}") -> list[Json]:
    function = {"name": name, "arguments": arguments}
    said = {"role": "assistant", "content": None, "tool_calls": [{"function": function}]}
    return [said, {"role": "tool", "content": "done"}]


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
        (line(forbid=["ping"]), "forbid: "),
        (line(expect=[{"name": "get_weather#2"}]), "#2' is no tool of the case, expected one of "),
        (line(expect=call("ping", x=1)), "ping: there is no argument 'x'"),
        (
            line(expect=call("get_weather", x=1)),
            "get_weather: .*'x', .*city, days",
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
    (folder / "cases.jsonl").write_text(f"{json.dumps(line(id='c0'))}\n\n{json.dumps(case)}")
    with pytest.raises(SgdxError, match=f"cases.jsonl:3: .*{place}"):
        read_project(folder)


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
        read_project(folder)


@pytest.mark.posix
def test_a_variant_that_is_a_pipe_is_not_waited_for(folder: Path) -> None:
    (folder / "variants").mkdir(exist_ok=True)
    os.mkfifo(folder / "variants" / "v3.json")
    with pytest.raises(SgdxError, match=r"v3.json: found something other than a file"):
        read_project(folder)
