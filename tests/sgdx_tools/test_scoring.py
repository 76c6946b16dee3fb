"""Scores of calls, and the words that they are put down to."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from sgdx_dataset import SgdxError
from sgdx_tools import score
from sgdx_tools.data import Case, ExpectedCall, Json, Project, Tool, ToolWords, Variant, Words
from sgdx_tools.folder import read_project

from .conftest import call, objects, rows, user, write_rows

METRICS = {"right", "call", "tool", "arguments", "no_call", "task"}


def test_right_calls_score_1_under_every_variant_of_files_and_of_rows(
    folder: Path, tmp_path: Path
) -> None:
    scores = score(folder, rows())
    assert score(folder, write_rows(tmp_path / "run", rows())) == scores
    assert {figure.metric for figure in scores.figures} == METRICS
    for name in METRICS:
        assert {f.value for f in scores.by_variant(name).values()} == {1.0}
        assert [scores[f"{name}_{of}"] for of in ("worst", "flips", "drop")] == [1.0, 0.0, 0.0]
    assert scores.counts["elements"] == []
    alone = [row for row in rows([("v1", "b", [])]) if row["variant"] != "original"]
    assert score(folder, alone).counts["elements"] == []  # as nothing is lost from the original
    assert scores.counts["cases"] == {"all": 4, "call": 3, "no_call": 1, "dialogues": 3}
    parts = dict(part.split(":", 1) for part in scores.signature.split("|")[1:])
    assert (parts["reworded-by"], parts["rules"]) == (
        "model:m+unknown",
        "exact-null-and-defaults-absent",
    )
    assert parts["predictions"] == "made-elsewhere"  # as they have no header
    assert parts["cases"].startswith("4@") and parts["variants"].startswith("original+v1@")
    assert (
        "|rules:fuzzy-null-and-defaults-absent|" in score(folder, rows(), rules="fuzzy").signature
    )


def test_a_wrong_argument_is_put_down_to_its_words(folder: Path) -> None:
    wrong = [("v1", "b", call("reserve", guests=3))]
    scores = score(folder, rows(wrong))
    element: Json = {"variant": "v1", "tool": "book", "path": "people"}
    element |= {"original": {"name": "people", "description": "How many come"}}
    element |= {"reworded": {"name": "guests", "description": "How many guests"}}
    (found,) = scores.counts["elements"]
    assert found.pop("chance") > 0.05  # one case of four proves nothing
    assert found == element | {"cases": 2, "lost": 1, "won": 0, "net": 1}
    assert scores.counts["looked_at"] == 4
    difference = scores.by_variant("call", "drop")["v1"]
    assert difference.value == pytest.approx(-1 / 3)
    assert difference.interval == pytest.approx([-0.907, 0.633], abs=0.03)


@pytest.mark.parametrize(
    ("calls", "paths"),
    [
        (call("weather"), [""]),
        ([], [""]),
        (call("reserve", guests=4, place={"town": "Oslo"}), ["place.city"]),
        (call("reserve", place={"city": "Rome"}), ["people", "place.city"]),
        (2 * call("reserve", guests=4), ["", "place.city"]),
        # What is wrong was not reworded: the nearest words around it may have to do with it.
        (call("reserve", guests=4, place={"town": "Rome"}, x=1), [""]),
        (call("reserve", guests=4, place={"town": "Rome", "x": 1}), [""]),
        (call("reserve", guests=4), ["place.city"]),
    ],
)
def test_what_a_lost_case_is_put_down_to(folder: Path, calls: Any, paths: list[str]) -> None:
    elements = score(folder, rows([("v1", "a", calls)])).counts["elements"]
    assert sorted(element["path"] for element in elements) == paths
    assert {element["tool"] for element in elements} == {"book"}


def test_a_difference_inside_a_list_is_put_down_to_the_words_there() -> None:
    """What may be left out is no difference; the schema refers to itself."""
    tree = objects(label={}, size={}, parts={"type": "array", "items": {"$ref": "#"}})
    listed = [{"label": "b", "parts": [{"label": "c"}]}]
    optional = {"size": {"any_of": [1, {"absent": True}]}}
    expected = {"label": "a", "parts": [{**listed[0], **optional}]}
    case = Case("c", (user("Hi"),), (ExpectedCall("tree", expected),))
    words = {name: Words(f"new_{name}") for name in ("label", "size", "parts")}
    v1 = Variant("v1", {"tree": ToolWords(parameters=words)})
    variants = {"original": Variant("original"), "v1": v1}
    project = Project("x", {"tree": Tool("tree", "", tree)}, (case,), variants)
    deep = [{"new_label": "b", "new_parts": [{"new_label": "x"}]}]
    for parts, paths in (({"new_parts": deep}, {"label"}), ({}, {*words})):
        right = {"label": "a", "parts": listed}
        calls = {"original": call("tree", **right), "v1": call("tree", new_label="a", **parts)}
        rows = [{"id": "c", "variant": name, "calls": made} for name, made in calls.items()]
        assert {element["path"] for element in score(project, rows).counts["elements"]} == paths


def test_a_case_that_only_the_new_words_make_right_is_won(folder: Path) -> None:
    wrong = ("original", "c", call("weather", city="Rome"))
    elements = score(folder, rows([wrong])).counts["elements"]
    assert [(e["variant"], e["path"], e["lost"], e["won"], e["net"]) for e in elements] == [
        ("v2", "city", 0, 1, -1)
    ]


def test_what_was_not_answered_is_wrong_also_where_no_call_is_right(folder: Path) -> None:
    unread = [row | {"calls": [], "unread": True} for row in rows()]
    scores = score(folder, unread)
    assert (scores["call_orig"], scores["no_call_orig"]) == (0, 0)


def test_repeats_give_the_noise_and_means(folder: Path) -> None:
    first, again = rows(), rows([("original", "b", [])])
    runs = (first, again, again)
    repeated = [{**row, "repeat": i} for i, run in enumerate(runs, 1) for row in run]
    scores = score(folder, repeated)
    assert scores["call_orig"] == pytest.approx(7 / 9)
    assert scores["call_flips"] == 0.0  # of the first run
    assert scores.counts["noise"]["original"] == {
        "repeats": 3,
        "pass^k": 0.75,
        "flaky": 0.25,
        "broken": 0.0,
        "sensitivity": pytest.approx(math.sqrt(3) / 4),
    }


@pytest.mark.parametrize(
    "change", [{"variant": "v2"}, {"data": "x"}, {"system": {"model": "b"}}, {"system": 1}]
)
def test_a_header_of_other_words_or_another_system_is_refused(
    folder: Path, tmp_path: Path, change: Json
) -> None:
    run, project = write_rows(tmp_path / "run", rows()), read_project(folder)
    for name in ("original", "v1"):
        header = {"system": {"model": "a"}, "data": project.digest(name)}
        stated = {"metadata": header | (change if name == "v1" else {})}
        path = run / f"{name}.jsonl"
        path.write_text(json.dumps(stated) + "\n" + path.read_text())
    with pytest.raises(SgdxError, match="v1"):
        score(folder, run)
    (run / "v1.jsonl").unlink()
    of_original = {"system": {"model": "a"}, "data": project.digest("original")}
    assert score(folder, run).systems == {"original": of_original, "v2": {}}


@pytest.mark.parametrize(
    ("file", "old", "new", "same"),
    [
        ("cases.jsonl", "Four in Rome", "Four in Oslo", False),
        ("tools.json", "Book a table", "Book a seat", False),
        ("variants/v1.json", "Reserve a table", "Keep a table", False),
        ("variants/v2.json", "town", "place", True),
        ("cases.jsonl", '"people":4', '"people":5', True),  # what is right is not shown
    ],
)
def test_a_digest_is_of_what_a_model_is_shown(
    folder: Path, file: str, old: str, new: str, same: bool
) -> None:
    before = read_project(folder).digest("v1")
    text = (folder / file).read_text()
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))
    assert (read_project(folder).digest("v1") == before) == same


def test_a_fault_of_rows_names_the_row(folder: Path) -> None:
    predictions = rows()
    predictions[4] |= {"id": "x"}
    with pytest.raises(SgdxError, match="predictions.*row 5: .*'x'"):
        score(folder, predictions)


def test_wrong_tools_are_counted_by_variant(folder: Path) -> None:
    wrong = [
        ("original", "c", call("ping")),
        ("v1", "a", call("weather")),
        ("v1", "c", call("ping")),
        ("v1", "d", call("reserve") + call("what?")),
        ("v2", "c", []),
    ]
    assert score(folder, rows(wrong)).counts["confusion"] == [
        {"expected": "weather", "called": "ping", "cases": {"original": 1, "v1": 1, "v2": 0}},
        {"expected": None, "called": "book", "cases": {"original": 0, "v1": 1, "v2": 0}},
        {"expected": None, "called": "what?", "cases": {"original": 0, "v1": 1, "v2": 0}},
        {"expected": "book", "called": "weather", "cases": {"original": 0, "v1": 1, "v2": 0}},
        {"expected": "weather", "called": None, "cases": {"original": 0, "v1": 0, "v2": 1}},
    ]


def test_only_forbidden_tools_are_wrong_where_some_are(folder: Path) -> None:
    file = folder / "cases.jsonl"
    file.write_text(file.read_text().replace('"expect":null', '"expect":null,"forbid":["book"]'))
    made = [("original", "d", call("ping")), ("v1", "d", call("reserve", guests=1))]
    scores = score(folder, rows([*made, ("v2", "d", call("weather", town="x"))]))
    assert [f.value for f in scores.by_variant("no_call").values()] == [1.0, 0.0, 1.0]
    assert [(e["tool"], e["path"]) for e in scores.counts["elements"]] == [("book", "")]
    assert [(pair["called"], pair["cases"]["v1"]) for pair in scores.counts["confusion"]] == [
        ("book", 1)
    ]


def test_calls_that_no_schema_allows_are_counted(folder: Path) -> None:
    """Of three calls under v1, one has a text for a number, and one is of no tool."""
    changes = [
        ("v1", "a", call("reserve", guests="four")),
        ("v1", "b", call("book", people=2)),
        *(("v2", case, []) for case in "abc"),
    ]
    valid = score(read_project(folder), rows(changes)).counts["valid"]
    assert valid == {"original": 1.0, "v1": pytest.approx(1 / 3), "v2": None}
