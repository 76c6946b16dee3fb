"""Folders of tools: what is read, and what each fault is called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_tools.data import Case, ExpectedCall, Source, Tool, ToolWords, Variant, Words
from sgdx_tools.folder import read_project, write_project, write_variant

from .conftest import objects, user

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
    with pytest.raises(SgdxError):
        write_project(tmp_path, TOOLS)


@pytest.mark.posix
def test_a_variant_that_is_a_pipe_is_not_waited_for(folder: Path) -> None:
    (folder / "variants").mkdir(exist_ok=True)
    os.mkfifo(folder / "variants" / "v3.json")
    with pytest.raises(SgdxError, match=r"v3.json: found something other than a file"):
        read_project(folder)
