"""From a file of every form that is imported to scores: calls whose scores are known.

The expected calls are right under every variant. Those of the original names fall by the share of
cases whose names changed. One changed argument is wrong.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, get_args

import pytest

from sgdx_tools.asking import ToolPlan
from sgdx_tools.data import Project, Rule, Tool, ToolWords, Variant, Words
from sgdx_tools.folder import read_project, write_variant
from sgdx_tools.options import AskOptions
from sgdx_tools.renaming import WordedTools
from sgdx_tools.scoring import score

from ..conftest import ROOT
from .conftest import Rows, call, command, user, write_lines
from .importing.test_imports import ROWS
from .importing.test_openapi import LIBRARY

Json = Any
FILES = {row["of"]: row["files"] for row in ROWS}
LISTED = FILES["the same tools come of all forms"]["tools.json"]
BFCL = [
    json.loads(line) for line in FILES["types names and alternatives"]["cases.json"].splitlines()
]
BOOK = {"any_of": [{"title": "Emma", "sequel": {"title": "Persuasion", "shelf": "A"}}]}
DISH: Json = {"beside": {"beside": {}}}
TABLE_CALLS = [
    *call("book_table", guests=2, address={"city": "Rome"}),
    *call("book_table", guests={"any_of": [3, 5]}, dishes=[DISH, {}], by={"absent": True}),
    *call("now"),
]
LIBRARY_CALLS = [
    *call("getBook", bookId=7, filter={"tags": ["a"], "new": True}),
    *call("addBook", body=BOOK),
    *call("patch_books_bookId", bookId=7, body={"title": "Emma", "note": None}),
    *call("health"),
]
FORMS: dict[str, tuple[Json, list[Json]]] = {
    "list": (LISTED, TABLE_CALLS),
    "openapi": (None, LIBRARY_CALLS),
    "bfcl": (None, []),
    "sgd": (None, []),
}


def import_form(form: str, tmp_path: Path) -> Project:
    """Tools of one form, with cases and two variants."""
    folder, file = tmp_path / form, tmp_path / f"{form}.json"
    content, calls = FORMS[form]
    words: list[object] = [LIBRARY if form == "openapi" else file]
    if form == "sgd":
        words = ["--sgd", "original", "v4", "--source", "sample"]
    elif form == "bfcl":
        cases = [BFCL[0], BFCL[1], BFCL[0] | {"id": "b"}]
        limits, stops = ["", {"hours": [1, 2]}], [[{"city": ["Oslo", "Bergen"]}]]
        first = {"start": [[1.5]], "via": ["Rome"], "limits": limits, "stops": stops}
        made = {"a": first, "b": {"start": [[2.5, 1.5]], "via": ["", "Oslo"]}}
        answers = [{"id": i, "ground_truth": [{"maps.route": of}]} for i, of in made.items()]
        write_lines(file, cases)
        words += ["--answers", write_lines(tmp_path / "answers.json", answers)]
    elif content:
        file.write_text(json.dumps(content))
    assert command("import", *words, "--output", folder) == 0
    if calls:
        expected = [*([made] for made in calls), calls[1::-1], None]
        messages = [user("Please.")]
        lines = [{"id": f"c{i}", "messages": messages, "expect": e} for i, e in enumerate(expected)]
        write_lines(folder / "cases.jsonl", lines)
    return with_variants(folder)


def with_variants(folder: Path, every: int = 1000) -> Project:
    """Other words for all tools, and for the first or some of them."""
    tools = read_project(folder).tools
    for name, ids in (("all", [*tools]), ("some", [*tools][::every])):
        words = {tool: reworded(tools[tool]) for tool in ids}
        write_variant(folder / "variants" / f"{name}.json", Variant(name, words))
    return read_project(folder)


def reworded(tool: Tool) -> ToolWords:
    """Other names and descriptions for all that a tool has."""
    parameters = {
        path: Words(f"q{i}" if element.name else None, "Reworded." if element.description else None)
        for i, (path, element) in enumerate(tool.elements.items())
        if path
    }
    return ToolWords(f"do_{tool.id}"[:64].replace("#", "_"), "Reworded.", parameters)


def first_value(expected: Json) -> Json:
    """The first value that is accepted; () where none is to be given."""
    if isinstance(expected, dict) and list(expected) == ["any_of"]:
        values = [item for item in expected["any_of"] if item != {"absent": True}]
        return first_value(values[0]) if values else ()
    if expected == {"absent": True}:
        return ()
    if isinstance(expected, dict):
        parts = {key: first_value(item) for key, item in expected.items()}
        return {key: value for key, value in parts.items() if value != ()}
    return [*map(first_value, expected)] if isinstance(expected, list) else expected


def expected_calls(project: Project, variant: str) -> dict[str, list[Json]]:
    worded = WordedTools(project.tools, project.variants[variant])
    return {
        case.id: [
            {"name": made.name, "arguments": first_value(made.arguments)}
            for made in worded.expect(case) or ()
        ]
        for case in project.cases
    }


def rows_of(calls: dict[str, dict[str, list[Json]]]) -> Rows:
    return [
        {"id": case, "variant": variant, "calls": made}
        for variant, of_variant in calls.items()
        for case, made in of_variant.items()
    ]


def check_scores(project: Project) -> dict[str, float]:
    """Check all scores that are known; the accuracy of the original names by variant."""
    calls = {name: expected_calls(project, name) for name in project.variants}
    rows = rows_of(calls)
    for rules in get_args(Rule):
        scores = score(project, rows, rules=rules)
        for metric in {f.metric for f in scores.figures} - {"call_fuzzy"}:
            found = {f.value for f in scores.by_variant(metric).values()}
            assert found == {1.0}, (rules, metric)
    old = dict.fromkeys(calls, calls["original"])
    result = score(project, rows_of(old), rules="exact")
    accuracy = {name: f.value or 0.0 for name, f in result.by_variant("call").items()}
    cases = [case.id for case in project.cases if case.expect]
    for variant, value in accuracy.items():
        changed = [i for i in cases if calls["original"][i] != calls[variant][i]]
        assert value == pytest.approx(1 - len(changed) / len(cases)), variant
    return accuracy


@pytest.mark.parametrize("form", FORMS)
def test_calls_whose_scores_are_known(form: str, tmp_path: Path) -> None:
    project = import_form(form, tmp_path)
    accuracy = check_scores(project)
    assert accuracy["original"] == 1 and accuracy["all"] == 0 and accuracy["some"] < 1
    wrong = expected_calls(project, "original")
    for made in (made for calls in wrong.values() for made in calls if made["arguments"]):
        name = min(made["arguments"])
        made["arguments"][name] = [made["arguments"][name]]
    rows = rows_of({"original": wrong})
    found = score(project, rows, rules="exact")["call_orig"]
    cases = [case.expect for case in project.cases if case.expect]
    without = [calls for calls in cases if not any(made.arguments for made in calls)]
    assert found == pytest.approx(len(without) / len(cases))


@pytest.mark.slow
def test_bfcl_under_two_variants_takes_seconds(tmp_path: Path) -> None:
    data = ROOT.parent / "shared" / "data" / "bfcl"
    if not data.is_dir():
        pytest.skip(f"BFCL's cases are not at {data}")
    files, answers = data.glob("BFCL_*.json"), (data / "possible_answer").glob("*.json")
    words = [*sorted(files), "--answers", *sorted(answers)]
    assert command("import", *words, "--output", tmp_path / "bfcl") == 0
    begin = time.process_time()
    project = with_variants(tmp_path / "bfcl", every=3)
    with_call = [case for case in project.cases if case.expect is not None]
    assert (len(project.cases), len(with_call)) == (1893 + 884, 1893)
    # Those that no call can satisfy, as their answers fit no schema of theirs.
    left_out = [line.split()[1].rstrip(":") for line in project.source.left_out]
    assert len(left_out) == 18 and "live_multiple_862-181-3" in left_out
    plan = ToolPlan(project, AskOptions(model="m", base_url="http://localhost"))
    assert sum(1 for _ in plan.requests()) == 3 * len(project.cases)
    accuracy = check_scores(project)
    assert accuracy["all"] == 0 < accuracy["some"] < 1
    assert time.process_time() - begin < 25
