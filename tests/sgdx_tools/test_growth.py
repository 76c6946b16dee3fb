"""What is ten times larger takes twelve times as many calls at most, or is refused with a number.

Calls of functions are counted, as clocks are of no use.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from sgdx_dataset import SgdxError
from sgdx_metric.matchers import why_no_matcher
from sgdx_tools.check import find
from sgdx_tools.data import Json, Project, Tool
from sgdx_tools.folder import read_project, write_project
from sgdx_tools.importing import import_source
from sgdx_tools.json_schema import Layout
from sgdx_tools.keys import Tools
from sgdx_tools.traces import add_traces
from sgdx_tools.values import fault

from .conftest import CASES, TOOLS, objects

TEXT = {"type": "string"}
ANY = Tool("t", "d", objects(a={}))


class Name(str):
    """A name that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def calls_of(work: Callable[[], object]) -> tuple[int, str]:
    """How many functions are called, and names compared, and what is refused."""
    count, refused = 0, ""

    def see(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    Name.compared = 0
    sys.setprofile(see)
    try:
        refused = str(work() or "")
    except SgdxError as error:
        refused = str(error)
    finally:
        sys.setprofile(None)
    return count + Name.compared, refused


def chain(count: int, place: str, part: Callable[[Json, int], Json]) -> Json:
    """So many definitions, each with a reference to the next."""
    names = [f"D{i}" for i in range(count)]
    parts = {n: part({"$ref": f"#{place}/{m}"}, i) for i, (n, m) in enumerate(pairwise(names))}
    return {**parts, names[-1]: TEXT}


def nested(count: int) -> Json:
    schema: Json = TEXT
    for i in range(count):
        schema = {"anyOf": [schema, {"const": f"v{i}"}]}
    return schema


def layout(schema: Json) -> None:
    Layout(schema, "tool t")


def matcher(schema: Json) -> str:
    return why_no_matcher(schema) or fault({"a": {"matches": schema}}, ANY)


def document(schemas: Json, folder: Path) -> None:
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/D0"}}}}
    paths = {"/a": {"post": {"operationId": "a", "requestBody": body, "responses": {}}}}
    file = folder / "api.json"
    content = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}
    file.write_text(json.dumps(content | {"components": {"schemas": schemas}}))
    import_source(Tools(str(file)))


def log(count: int, folder: Path) -> None:
    api = folder / f"api{count}"
    write_project(api, TOOLS, CASES)
    answer = {"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}
    lines = (
        {
            "custom_id": "same",
            "request": {"messages": [{"role": "user", "content": f"{i}"}]},
            "response": answer,
        }
        for i in range(count)
    )
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    add_traces(read_project(api), [folder / "log.jsonl"])


IN_DOCUMENT = "/components/schemas"
GROWING: dict[str, tuple[int, Callable[[int, Path], object]]] = {
    "references in objects": (10, lambda n, _: layout(
        objects(a={"$ref": "#/$defs/D0"})
        | {"$defs": chain(n, "/$defs", lambda to, _: objects(x=to))})),
    "a wide schema": (100, lambda n, _: layout(
        objects(**{f"p{i}": {"description": f"d{i}"} for i in range(n)}))),
    "one property in many branches": (100, lambda n, _: layout(
        {"anyOf": [objects(a={"description": f"d{i}"}) for i in range(n)]})),
    "words of many parameters": (100, lambda n, _: str(len(find(Project("x", {"t": Tool(
        "t", "d", objects(**{f"p{i}": {"description": f"Text number {i}"} for i in range(n)}))
    })))) and ""),
    "a document's heirs": (10, lambda n, f: document(
        chain(n, IN_DOCUMENT, lambda to, i: {"allOf": [to, objects(**{f"p{i}": TEXT})]}), f)),
    "matchers in each other": (2, lambda n, _: matcher(nested(n))),
    "values of a matcher": (30, lambda n, _: matcher({"enum": [Name(f"v{i}") for i in range(n)]})),
    "like ids in a log": (30, log),
}  # fmt: skip


@pytest.mark.parametrize("name", GROWING)
def test_time_grows_with_the_input(name: str, tmp_path: Path) -> None:
    small, work = GROWING[name]
    work(1, tmp_path)  # what is imported and made once
    before, refused = calls_of(lambda: work(small, tmp_path))
    assert not refused
    for count in (10 * small, 100 * small):
        calls, refused = calls_of(lambda count=count: work(count, tmp_path))  # type: ignore[misc]
        if refused:
            assert re.search(r"\d", refused) and calls < 150 * max(before, 1000), refused
            return
        assert calls <= 12 * before, (calls, before)
        before = calls
