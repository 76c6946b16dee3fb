"""BFCL's files as cases, on lines of this project's own, and lines that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sgdx_metric.call_rules import score_case
from sgdx_tools.data import Case, ExpectedCall, Tool
from sgdx_tools.folder import read_project
from sgdx_tools.importing.bfcl import import_bfcl
from sgdx_tools.importing.collection import Collection

Json = Any
ABSENT = {"absent": True}
ROUTE = {
    "name": "maps.route",
    "description": "Finds a route.",
    "parameters": {
        "type": "dict",
        "required": ["start", "via"],
        "properties": {
            "start": {"type": "tuple", "items": {"type": "float"}, "description": "Where."},
            "via": {"type": "string"},
            "limits": {"type": "dict", "properties": {"hours": {"type": "float"}}},
            "stops": {"type": "array", "items": {"type": "dict"}},
            "note": {"type": "any", "default": None},
            "type": {"type": "string", "enum": ["any", "float"]},
        },
    },
}
ROUTE_PARAMETERS = {
    "type": "object",
    "required": ["start", "via"],
    "properties": {
        "start": {"type": "array", "items": {"type": "number"}, "description": "Where."},
        "via": {"type": "string"},
        "limits": {"type": "object", "properties": {"hours": {"type": "number"}}},
        "stops": {"type": "array", "items": {"type": "object"}},
        "note": {"default": None},
        "type": {"type": "string", "enum": ["any", "float"]},
    },
}
OTHER = {"name": "maps_route", "description": "Another one.", "parameters": {"type": "dict"}}
USER = [{"role": "user", "content": "From here to there."}]


def question(case_id: str, *functions: Json) -> Json:
    return {"id": case_id, "question": [USER], "function": list(functions)}


def answer(case_id: str, **arguments: Json) -> Json:
    return {"id": case_id, "ground_truth": [{"maps.route": arguments}]}


def import_lines(tmp_path: Path, questions: list[Json], answers: list[Json]) -> Collection:
    files = []
    for name, records in (("cases.json", questions), ("answers.json", answers)):
        path = tmp_path / name
        path.write_text("\n".join(json.dumps(record) for record in records) + "\n")
        files.append(path)
    return import_bfcl(files[:1], files[1:])


def test_types_names_and_alternatives(tmp_path: Path) -> None:
    right = answer(
        "a",
        start=[[1.5, 2.0]],
        via=["", "Rome"],
        limits=["", {"hours": [1, ""]}],
        stops=[[{"city": ["Oslo", "Bergen"]}]],
        note=["x"],
    )
    cases = [question("a", ROUTE), question("irrelevance_1", OTHER), question("irrelevance_2")]
    collection = import_lines(tmp_path, cases, [right])
    assert collection.tools == {
        "maps_route": Tool("maps_route", "Finds a route.", ROUTE_PARAMETERS),
        "maps_route#2": Tool("maps_route", "Another one.", {"type": "object"}, "maps_route#2"),
    }
    expected = {
        "start": [1.5, 2.0],
        "via": {"any_of": ["Rome", ""]},  # it is required, so that an empty text is a value
        "limits": {"any_of": [{"hours": {"any_of": [1, ABSENT]}}, ABSENT]},
        "stops": [{"city": {"any_of": ["Oslo", "Bergen"]}}],
        "note": "x",
    }
    assert collection.cases == [
        Case("a", tuple(USER), (ExpectedCall("maps_route", expected),), ("maps_route",)),
        Case("irrelevance_1", tuple(USER), None, ("maps_route#2",)),
        Case("irrelevance_2", tuple(USER), None, ()),
    ]
    assert collection.rules == "exact" and collection.left_out == []
    made = {"start": [1.5, 2.0], "via": "rome", "stops": [{"city": "bergen"}], "note": "X"}
    calls = [{"name": "maps_route", "arguments": made}]
    schemas = {"maps_route": ROUTE_PARAMETERS}
    expectation = [{"name": "maps_route", "arguments": expected}]
    assert score_case(expectation, calls, schemas, "exact").call == 0
    folder = tmp_path / "api"
    collection.write(folder)
    project = read_project(folder)
    assert project.cases == tuple(collection.cases) and project.source.rules == "exact"


def test_cases_that_no_call_can_satisfy_are_left_out(tmp_path: Path) -> None:
    cases = [question(case_id, ROUTE) for case_id in "abcdh"]
    cases.append(question("e", ROUTE, OTHER))
    cases.append({**question("f", ROUTE), "question": [USER, USER]})
    right = {"start": [[1.5]], "via": ["Rome"]}
    answers = [answer("a", **right), answer("b", **right, stop=["x"]), answer("c", start=[])]
    answers += [{"id": "d", "ground_truth": [{"drive": {}}]}, answer("e", **right), answer("f")]
    # The tool lacks the argument, and the answer may do without it.
    answers += [answer("g"), answer("h", **right, stop=["x", ""])]
    collection = import_lines(tmp_path, cases, answers)
    assert [case.id for case in collection.cases] == ["a", "h"]
    facts = ["case b: stop", "case c: start", "case d: drive", "case e: maps_route", "case f: 2"]
    for line, fact in zip(collection.left_out, [*facts, "1 answers, such as g: "], strict=True):
        place, named = fact.split(": ")
        assert line.startswith(f"{place}: ") and named in line
