"""From somebody's file to scores: programs whose scores are known, on every form that is imported.

A program that replays the expected calls is right under every variant. One that knows the original
names alone falls by the share of cases whose names changed. One changed argument is wrong.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, get_args

import pytest

from sgdx_tools.__main__ import main
from sgdx_tools.asking import ToolPlan
from sgdx_tools.data import Rule, Tool, ToolWords, Variant, Words
from sgdx_tools.folder import read_tool_set, write_variant
from sgdx_tools.options import AskOptions
from sgdx_tools.scoring import score

from .conftest import call, user
from .importing.test_bfcl import OTHER, ROUTE, answer, question
from .importing.test_openapi import LIBRARY
from .importing.test_tool_lists import ANTHROPIC, FLAT, MCP

Json = Any
REPLAY = Path(__file__).with_name("replay.py")
DISH: Json = {"beside": {"beside": {}}}
OPTIONAL = {"any_of": [None, {"absent": True}]}
BOOK = {"any_of": [{"title": "Emma", "sequel": {"title": "Persuasion", "shelf": "A"}}]}
NOTED = {"title": "Emma", "note": None}
TABLE_CALLS = [
    *call("book_table", guests=2, address={"city": "Rome"}),
    *call("book_table", guests={"any_of": [3, 5]}, dishes=[DISH, {}], by=OPTIONAL),
    *call("now"),
]
LIBRARY_CALLS = [
    *call("getBook", bookId=7, filter={"tags": ["a"], "new": True}),
    *call("addBook", body=BOOK),
    *call("patch_books_bookId", bookId=7, body=NOTED),
    *call("health"),
]


def import_form(form: str, tmp_path: Path) -> Path:
    """A folder of tools of one form, with cases and two variants."""
    folder, file = tmp_path / form, tmp_path / f"{form}.json"
    contents: dict[str, tuple[Json, list[Json]]] = {
        "openai": (FLAT, TABLE_CALLS),
        "anthropic": (ANTHROPIC, TABLE_CALLS),
        "mcp": ({"result": {"tools": MCP}}, TABLE_CALLS),
    }
    if form == "sgd":
        arguments = ["--sgd", "original", "v4", "--source", "sample"]
    elif form == "bfcl":
        lines = [question("a", ROUTE), question("irrelevance", OTHER), question("b", ROUTE)]
        file.write_text("\n".join(map(json.dumps, lines)))
        limits: Json = ["", {"hours": [1, 2]}]
        stops = [[{"city": ["Oslo", "Bergen"]}]]
        answers = [
            answer("a", start=[[1.5]], via=["Rome"], limits=limits, stops=stops),
            answer("b", start=[[2.5, 1.5]], via=["", "Oslo"]),
        ]
        (tmp_path / "answers.json").write_text("\n".join(map(json.dumps, answers)))
        arguments = ["--bfcl", str(file), "--answers", str(tmp_path / "answers.json")]
    elif form == "openapi":
        arguments = ["--openapi", str(LIBRARY)]
    else:
        file.write_text(json.dumps(contents[form][0]))
        arguments = [f"--{form}", str(file)]
    assert main(["import", *arguments, "--output", str(folder)]) == 0
    if form not in ("sgd", "bfcl"):
        add_cases(folder, LIBRARY_CALLS if form == "openapi" else contents[form][1])
    tools = read_tool_set(folder).tools
    first = next(iter(tools))
    for name, ids in (("all", list(tools)), ("first", [first])):
        words = {tool: reworded(tools[tool]) for tool in ids}
        write_variant(folder / "variants" / f"{name}.json", Variant(name, words))
    return folder


def add_cases(folder: Path, calls: list[Json]) -> None:
    """A case for each call, one for the first two, and one that calls nothing."""
    expected = [(f"c{i}", [made]) for i, made in enumerate(calls)]
    cases: list[Json] = [
        {"id": name, "messages": [user("Please.")], "expect": expect}
        for name, expect in [*expected, ("both", calls[1::-1]), ("none", None)]
    ]
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)))


def reworded(tool: Tool) -> ToolWords:
    """Other names and descriptions for all that a tool has."""
    parameters = {}
    for i, (path, element) in enumerate(tool.elements.items()):
        if path:
            name = f"q{i}" if element.name else None
            parameters[path] = Words(name, f"Reworded {i}." if element.description else None)
    name = f"do_{tool.id}"[:64].replace("#", "_")
    return ToolWords(name, "Reworded.", parameters)


def scores_of(folder: Path, mode: str, rules: Rule | None = None) -> Json:
    output = folder.parent / f"{folder.name}-{mode}"
    program = f"{sys.executable} {REPLAY} {folder} {mode}"
    if not output.exists():
        assert main(["run", str(folder), "--command", program, "--output", str(output)]) == 0
    return score(folder, output, rules=rules)["calls"]


def changed_share(folder: Path, variant: str) -> float:
    """The share of cases with a call whose right call has other names under a variant."""
    calls = {}
    for name in ("original", variant):
        lines = (folder.parent / f"{folder.name}-oracle" / f"{name}.jsonl").read_text().splitlines()
        rows = map(json.loads, lines[1:])
        calls[name] = {row["id"]: row["calls"] for row in rows}
    cases = [case.id for case in read_tool_set(folder).cases if case.expect]
    changed = [i for i in cases if calls["original"][i] != calls[variant][i]]
    return len(changed) / len(cases)


FORMS = ("openai", "anthropic", "mcp", "openapi", "bfcl", "sgd")


@pytest.mark.parametrize("form", FORMS)
def test_programs_whose_scores_are_known(form: str, tmp_path: Path) -> None:
    folder = import_form(form, tmp_path)
    variants = list(read_tool_set(folder).variants)
    right = dict.fromkeys(variants, 1.0)
    for rules in get_args(Rule):
        calls = scores_of(folder, "oracle", rules)
        for metric in calls.keys() - {"call_argument_accuracy"}:
            assert calls[metric]["by_variant"] == right, (rules, metric)
    assert 0 < changed_share(folder, "first") <= changed_share(folder, "all") == 1
    accuracy = scores_of(folder, "original", "exact")["call_accuracy"]["by_variant"]
    for variant in variants:
        assert accuracy[variant] == pytest.approx(1 - changed_share(folder, variant)), variant
    cases = [case for case in read_tool_set(folder).cases if case.expect]
    without = [c for c in cases if not any(call.arguments for call in c.expect or ())]
    accuracy = scores_of(folder, "mutated", "exact")["call_accuracy"]["by_variant"]
    assert accuracy == dict.fromkeys(variants, pytest.approx(len(without) / len(cases)))


@pytest.mark.slow
def test_bfcl_under_two_variants_takes_seconds(bfcl_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bfcl"
    files = sorted(map(str, bfcl_data.glob("BFCL_*.json")))
    answers = sorted(map(str, (bfcl_data / "possible_answer").glob("*.json")))
    arguments = ["--bfcl", *files, "--answers", *answers, "--output", str(folder)]
    assert main(["import", *arguments]) == 0
    begin = time.process_time()
    tools = read_tool_set(folder).tools
    for name, every in (("all", 1), ("third", 3)):
        words = {tool: reworded(tools[tool]) for tool in list(tools)[::every]}
        write_variant(folder / "variants" / f"{name}.json", Variant(name, words))
    tool_set = read_tool_set(folder)
    with_call = [case for case in tool_set.cases if case.expect is not None]
    assert (len(tool_set.cases), len(with_call)) == (1907 + 884, 1907)
    # Those that no call can satisfy.
    assert [line.split()[1].rstrip(":") for line in tool_set.source.left_out] == [
        "live_multiple_862-181-3",
        "live_multiple_964-207-0",
        "live_simple_106-63-0",
        "live_simple_112-68-0",
    ]
    plan = ToolPlan(tool_set, AskOptions(model="m", base_url="http://localhost"))
    assert sum(1 for _ in plan.requests()) == 3 * len(tool_set.cases) > 8_000
    assert time.process_time() - begin < 5
    right = {"original": 1.0, "all": 1.0, "third": 1.0}
    scores_of(folder, "oracle", "exact")
    begin = time.process_time()
    for rules in get_args(Rule):
        calls = scores_of(folder, "oracle", rules)
        assert calls["call_accuracy"]["by_variant"] == right
        assert calls["no_call_accuracy"]["by_variant"] == right
    assert time.process_time() - begin < 15
    accuracy = scores_of(folder, "original", "exact")["call_accuracy"]["by_variant"]
    for variant, value in accuracy.items():
        assert value == pytest.approx(1 - changed_share(folder, variant))
    assert accuracy["all"] == 0 < accuracy["third"] < 1
