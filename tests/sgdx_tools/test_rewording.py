"""New words: of a pool, of another version, by translation, by a model, and those struck out."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sgdx_metric.result import Result
from sgdx_tools import score
from sgdx_tools.data import Json, Project, Source, Tool, ToolWords, Words
from sgdx_tools.folder import read_project, with_variants
from sgdx_tools.predictions import predictions_from_rows
from sgdx_tools.renaming import WordedTools
from sgdx_tools.review import write_review
from sgdx_tools.rewording import ElementPool, compose_variants
from sgdx_tools.scoring import score_files
from sgdx_tools.tables import print_scores
from sgdx_tools.versions import variant_between

from ..sgdx_llm.server import StandIn, call_completion, failing, serving
from .conftest import (
    CASES,
    RIGHT,
    TOOLS,
    Capture,
    Rows,
    call,
    command,
    objects,
    read_lines,
    write_lines,
)

BY_ID = {tool.id: tool for tool in TOOLS}
_PEOPLE = {"name": ["number_of_guests", "persons"], "description": ["How many people come"]}
POOL: Json = {
    "book": {
        "name": ["make_a_reservation", "book_it"],
        "description": ["Reserve seats", "Book some table"],
        "parameters": {"people": _PEOPLE, "place.city": {"name": ["town"]}},
    }
}


@pytest.fixture
def tools(folder: Path) -> Path:
    """The folder without variants."""
    for path in (folder / "variants").glob("*.json"):
        path.unlink()
    return folder


def reword(tools: Path, *words: object, **keys: object) -> int:
    """Reword a folder, or by the keys of a file's `variants`."""
    file = tools.parent / "sgdx.yaml"
    file.write_text(json.dumps({"tools": str(tools), "variants": keys}))
    return command("reword", file if keys else tools, "--output", tools / "variants", *words)


def compose(tools: Path, pool: Json, count: int, **keys: object) -> int:
    file = tools.parent / "pool.json"
    file.write_text(json.dumps(pool))
    return reword(tools, pool=str(file), count=count, **keys)


def words_of(tools: Path) -> list[ToolWords]:
    """The words of the tool that books under each variant but the original."""
    _, *variants = read_project(tools).variants.values()
    return [variant.tools["book"] for variant in variants]


def predictions(calls: Mapping[str, Mapping[str, Any]]) -> Rows:
    return [
        {"id": case, "variant": variant, "calls": made}
        for variant, of_variant in calls.items()
        for case, made in of_variant.items()
    ]


def test_a_pool_makes_variants_nearest_first_and_replaces_none(tools: Path) -> None:
    assert compose(tools, POOL, 2) == 0
    variants = read_project(tools).variants
    assert list(variants) == ["original", "v1", "v2"]
    assert variants["v1"].made_by == "pool:pool.json"
    near, far = words_of(tools)
    assert (near.name, near.description) == ("book_it", "Book some table")
    assert near.parameters["people"].name == "persons"
    people = Words("number_of_guests", "How many people come")
    parameters = {"people": people, "place.city": Words("town")}
    assert far == ToolWords("make_a_reservation", "Reserve seats", parameters)
    assert compose(tools, POOL, 1, keep_names=True) == 2
    assert words_of(tools) == [near, far]
    for path in (tools / "variants").glob("*.json"):
        path.unlink()
    assert compose(tools, POOL, 1, keep_names=True) == 0
    people = Words(None, "How many people come")
    assert words_of(tools) == [ToolWords(None, "Book some table", {"people": people})]


def test_two_variants_with_the_same_words_count_once(tools: Path, capsys: Capture) -> None:
    assert compose(tools, {"book": {"name": ["reserve"]}}, 3) == 0
    assert words_of(tools) == [ToolWords("reserve")]
    assert "v2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pool", "names"),
    [
        # Names that would be one keep the old one, and two may change places.
        (
            {"book": "visit weather", "weather": "visit forecast"},
            {"book": 2 * ["visit"] + 2 * ["weather"], "weather": 2 * [None] + 2 * ["forecast"]},
        ),
        (
            {"weather": "ping", "ping": "weather"},
            {"weather": ["ping"] * 4, "ping": ["weather"] * 4},
        ),
        ({"book": "ping"}, {"book": [None] * 4}),  # the name of a tool that keeps its own
        ({"ping": "pong echo_back"}, {"ping": 2 * ["pong"] + 2 * ["echo_back"]}),
    ],
)
def test_four_variants_of_few_names(pool: dict[str, str], names: Json) -> None:
    elements = {(tool, ""): ElementPool((*new.split(),)) for tool, new in pool.items()}
    variants = compose_variants(BY_ID, elements, 4, "me")
    assert names == {tool: [v.tools.get(tool, ToolWords()).name for v in variants] for tool in pool}


def test_what_is_struck_out_is_left_out(tools: Path) -> None:
    place = tools / "variants"
    place.mkdir(exist_ok=True)
    pool = {("book", ""): ElementPool(tuple(POOL["book"]["name"]), ("Reserve seats", "Book it"))}
    write_review(place, BY_ID, pool, "pool:pool.json")
    review = place / "review.tsv"
    lines = review.read_text().splitlines()
    assert lines[0].split("\t") == ["tool", "path", "kind", "original", "reworded", "by"]
    assert "book\t\tname\tbook\tmake_a_reservation\tpool:pool.json" in lines
    review.write_text("\n".join(line for line in lines if "make_a_reservation" not in line) + "\n")
    assert reword(tools, "--with", f"review:{review}", "--count", "2") == 0
    assert [words.name for words in words_of(tools)] == ["book_it", "book_it"]
    assert read_project(tools).variants["v2"].made_by == "pool:pool.json"
    review.write_text("\n".join(lines).replace("Book a table", "Order a meal"))  # of other tools
    assert reword(tools, "--with", f"review:{review}", "--count", "2") == 2


def test_words_that_a_page_or_a_table_would_obey_stay_text(tools: Path) -> None:
    script = '<script>alert("$ROWS")</script>\t"x"'
    texts = [script, '=HYPERLINK("http://a.example")', "-1", "'+x", "'" * 3]
    (tools / "variants").mkdir(exist_ok=True)
    write_review(tools / "variants", BY_ID, {("book", ""): ElementPool((), tuple(texts))}, "me")
    page = (tools / "variants" / "review.html").read_text()
    assert "<script>alert" not in page and "&lt;script&gt;alert(&quot;$ROWS&quot;)" in page
    review = tools / "variants" / "review.tsv"
    cells = [cell for row in csv.reader(review.open(), "excel-tab") for cell in row]
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@")]
    assert reword(tools, "--with", f"review:{review}") == 0
    assert {words.description for words in words_of(tools)} == {*texts}


def test_one_element_at_a_time(tools: Path, tmp_path: Path) -> None:
    parameters = {"people": {"name": "guests"}, "place.city": {"description": "Town"}}
    mine = {"book": {"name": "reserve", "parameters": parameters}}
    (tmp_path / "mine.json").write_text(json.dumps(mine))
    assert reword(tools, file=str(tmp_path / "mine.json"), one_at_a_time=True) == 0
    variants = read_project(tools).variants
    assert {name: w.tools["book"] for name, w in variants.items() if name != "original"} == {
        "mine.book": ToolWords("reserve"),
        "mine.book.people": ToolWords(parameters={"people": Words("guests")}),
        "mine.book.place-city": ToolWords(parameters={"place.city": Words(None, "Town")}),
    }


def records_of(tools: Iterable[Tool]) -> list[Json]:
    """The tools as a file has them, which may be changed."""
    return [
        {k: deepcopy(getattr(t, k)) for k in ("name", "description", "parameters")} for t in tools
    ]


def tools_of(records: Iterable[Json]) -> dict[str, Tool]:
    return {record["name"]: Tool(**record) for record in records}


def test_another_version_of_the_tools_is_a_variant(tools: Path, capsys: Capture) -> None:
    """Whatever else a pull request does is listed."""
    assert variant_between(BY_ID, BY_ID)[0].version is None  # the same is no other version
    version = records_of(TOOLS)
    book = version[0]
    book["parameters"] = dict(reversed(book["parameters"].items()))
    properties = book["parameters"]["properties"]
    book["parameters"]["properties"] = properties = dict(reversed(properties.items()))
    # The order has no words, and is measured.
    new, notes = variant_between(BY_ID, tools_of(version[::-1]))
    assert (new.tools, len(notes)) == ({}, 1)
    assert WordedTools(BY_ID, new).shown(None) == ["ping", "weather", "book"]
    properties["guests"] = properties.pop("people") | {"description": "Guests"}
    book |= {"name": "reserve"}
    book["parameters"] |= {"required": ["guests"]}
    words = {"book": ToolWords("reserve", None, {"people": Words("guests", "Guests")})}
    new, notes = variant_between(BY_ID, tools_of(version))
    assert (new.tools, len(notes)) == (words, 2)  # both new names
    properties["place"]["properties"]["city"] |= {"enum": ["Rome"]}
    properties["note"] = {"type": "string", "description": "Wishes"}
    version[1:] = [version[1], {"name": "cancel", "description": "Cancel it", "parameters": {}}]
    file = tools.parent / "next.json"
    file.write_text(json.dumps(version))
    assert reword(tools, "--with", f"tools:{file}") == 0
    assert read_project(tools).variants["new"].tools == words
    said = capsys.readouterr().err
    facts = ["place.city differs in enum", "note is added", "ping is removed", "cancel is added"]
    assert all(fact in said for fact in facts) and said.count("note: ") == 6
    properties["guests"]["type"] = "string"  # nothing says that they are one
    new, notes = variant_between(BY_ID, tools_of(version))
    assert new.tools == {"book": ToolWords("reserve")}
    assert "people is removed" in "".join(notes) and "guests is added" in "".join(notes)


def test_a_pull_request_is_measured_as_it_is(capsys: Capture) -> None:
    """Added tools compete; cases whose tool or argument is gone are lost or left out."""
    version = [*records_of(TOOLS), {"name": "seat", "description": "Book a seat"}]
    book, weather, *_ = version
    weather["name"] = "forecast"
    city = weather["parameters"]["properties"]["city"]
    city["enum"] = ["Oslo", "Bergen"]
    book["parameters"]["properties"]["people"]["maximum"] = 8
    book["parameters"]["properties"]["note"] = {"type": "string"}

    def measured(leaves_out: bool = False, **wrong: list[Json]) -> Result:
        """The scores where all calls are right but some under the new words."""
        new, _ = variant_between(BY_ID, tools_of(version))
        assert WordedTools(BY_ID, new).shown(None)[-1] == "seat"
        source = Source(leaves_out=leaves_out)
        project = with_variants(Project("api", BY_ID, CASES, source=source), [new])
        right = RIGHT["original"]
        calls = {"original": right, "new": right | {"c": call("forecast", city="Oslo")} | wrong}
        kept = {case.id for case in project.cases}
        rows = [row for row in predictions(calls) if row["id"] in kept]
        scored = score_files(project, predictions_from_rows(rows, project))
        print_scores(scored, False, Console(width=200))
        return scored.result

    scores = measured(b=call("seat"))
    by_variant = {name: f.value for name, f in scores.by_variant("call").items()}
    assert by_variant == {"original": 1.0, "new": pytest.approx(2 / 3)}
    assert [
        (e["tool"], e["path"], e["lost"], e["reworded"]) for e in scores.counts["elements"]
    ] == [
        ("book", "people", 1, {"change": "differs in maximum"}),
        ("seat", "", 1, {"change": "is added"}),
    ]
    assert "left_out" not in scores.counts
    scores = measured(a=call("book", people=4, place={"city": "Rome"}, note="x"))
    assert [(e["tool"], e["path"]) for e in scores.counts["elements"]] == [("book", "note")]
    city["enum"] = ["Bergen"]
    book["parameters"]["required"] = ["people", "place"]
    assert list(measured().counts["gone"]) == ["b", "c"]
    assert "left_out" not in measured().counts and measured()["call_worst"] == pytest.approx(1 / 3)
    scores = measured(leaves_out=True)
    assert list(scores.counts["left_out"]) == ["b", "c"] and scores.counts["cases"]["all"] == 2
    assert scores["call_worst"] == 1.0
    assert "2 cases that cannot be right are left out: b (" in capsys.readouterr().out
    del version[0]
    assert list(measured(leaves_out=True).counts["left_out"]) == ["a", "b", "c"]


# The names of rivals, and which tools' descriptions and parameters they have.
RIVALS = {
    "near": [("book_test", "book", "book"), ("weather_test", "weather", "weather")],
    "assertive": [("book_pro", "book", "book"), ("weather_pro", "weather", "weather")],
    "misleading": [("weather_2", "book", "weather"), ("ping_2", "weather", "ping")],
    "same-name": [("Book", "weather", "weather"), ("Weather", "ping", "ping")],
}


def test_controls_edit_descriptions_alone(tools: Path) -> None:
    assert reword(tools, "--with", "control") == 0
    project = read_project(tools)
    assert [*project.variants] == ["original", *(f"control{i}" for i in range(1, 6))]
    worded = {n: WordedTools(project.tools, v) for n, v in project.variants.items()}
    shown = {name: of.tool("book") for name, of in worded.items()}
    people = [tool.parameters["properties"]["people"]["description"] for tool in shown.values()]
    assert people == ["How many come", "How many come.", "how many come", "The How many come",
                      "How many come (value)", "How  many  come"]  # fmt: skip
    assert {tool.name for tool in shown.values()} == {"book"}


def test_rivals_compete_with_the_tools_that_cases_expect(tools: Path, tmp_path: Path) -> None:
    """The tool `ping` is expected nowhere."""
    first, *others = read_lines(tools / "cases.jsonl")
    write_lines(tools / "cases.jsonl", [first | {"tools": ["ping", "book"]}, *others])
    for kind, of_kind in RIVALS.items():
        assert reword(tools, "--with", f"rivals:{kind}") == 0
        version = read_project(tools).variants[f"rivals-{kind}"].version or {}
        rivals = [tool for tool in version.values() if tool.rival_of]
        assert [tool.rival_of for tool in rivals] == ["book", "weather"]
        for tool, (name, described, formed) in zip(rivals, of_kind, strict=True):
            assert (tool.name, tool.parameters) == (name, BY_ID[formed].parameters)
            text = BY_ID[described].description
            assert text in tool.description
            assert (tool.description == text) == (kind in ("misleading", "same-name"))
    project = read_project(tools)
    near = WordedTools(project.tools, project.variants["rivals-near"])
    assert near.shown(project.cases[0].tools) == ["ping", "book", "book#near"]
    assert near.shown(None) == ["book", "book#near", "weather", "weather#near", "ping"]
    calls = {name: dict(RIGHT["original"]) for name in project.variants}
    calls["rivals-assertive"]["c"] = call("weather_pro", city="Oslo")
    content = score(tools, predictions(calls))
    by_variant = dict.fromkeys(calls, 1.0) | {"rivals-assertive": pytest.approx(2 / 3)}
    assert {n: f.value for n, f in content.by_variant("call").items()} == by_variant
    assert [e["reworded"] for e in content.counts["elements"]] == [
        {"change": "is a rival of weather"}
    ]
    confused = [(pair["expected"], pair["called"]) for pair in content.counts["confusion"]]
    assert confused == [("weather", "weather#assertive")]
    # One tool alone is not mixed with another.
    (tmp_path / "tools.json").write_text('[{"name": "get_it"}]')
    assert reword(tmp_path, "--with", "rivals:near") == 0


def test_which_of_two_is_which_is_not_guessed() -> None:
    def version(*names: str) -> dict[str, Tool]:
        return {"t": Tool("t", "Do", objects(**{name: {"type": "string"} for name in names}))}

    variant, notes = variant_between(version("city", "day", "to"), version("to", "date", "town"))
    assert variant.tools == {}
    assert [note.split()[2:5:2] for note in notes] == [
        ["city", "removed"], ["day", "removed"], ["date", "added"], ["town", "added"],
    ]  # fmt: skip
    variant, _ = variant_between(version("city", "to"), version("to", "town"))
    assert variant.tools["t"].parameters == {"city": Words("town")}


def model(body: Json) -> Json:
    """A model that rewords by adding letters, and makes mistakes when it is asked first."""
    elements, seed = json.loads(body["messages"][1]["content"]), body["seed"]
    # Two words, the old name of another element, the new one of one before, and another tool's.
    wrong = {"people": "two words", "place": "city", "place.city": "book_1"}
    words = []
    for element in elements:
        new = {key: f"{element[key]}, version {seed % 1000}" for key in element.keys() - {"path"}}
        if "name" in new:
            new["name"] = f"{element['name']}_{seed % 1000}"
            new["name"] = wrong.get(element["path"], new["name"]) if seed == 1 else new["name"]
        if (element.get("name"), seed) == ("ping", 1):
            new["name"] = "weather"
        words.append({"path": element["path"], **new})
    return call_completion("reword", json.dumps({"elements": words}))


def test_a_model_rewords_and_is_asked_again_for_what_was_refused_or_is_missing(
    tools: Path, capsys: Capture
) -> None:
    with serving(StandIn(answer=model, faults=[failing(401)])) as server:
        words: Json = {"model": "m", "base_url": server.url, "count": 2}
        assert reword(tools, **words, concurrency=1) == 2
        assert "status 401" in capsys.readouterr().err
        assert reword(tools, **words, max_requests=2) == 1
        assert not list((tools / "variants").glob("*.json"))
        assert reword(tools, **words) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if line[:5] == "note:"]
    assert all("for review: " in note for note in notes)
    *first, again, of_ping = server.bodies
    assert len(first) == 1 + 3 * 2  # three tools twice
    said = [line for line in again["messages"][-1]["content"].splitlines() if line[:2] == "- "]
    assert [line.split(":")[0] for line in said] == ["- people", "- place", "- place.city"]
    assert "weather" in of_ping["messages"][-1]["content"]
    assert again["temperature"] == 1.0 and again["tools"][0]["function"]["name"] == "reword"
    variants = read_project(tools).variants
    assert list(variants) == ["original", "v1", "v2"]
    assert variants["v2"].made_by == "model:m"
    for number, new in enumerate(words_of(tools), 1):
        assert (new.name, new.description) == (f"book_{number}", f"Book a table, version {number}")
        assert new.parameters["people"] == Words(
            f"people_{number}", f"How many come, version {number}"
        )
        assert new.parameters["place.city"].name == f"city_{number}"
        assert variants[f"v{number}"].tools["ping"].name == f"ping_{number}"


@pytest.mark.parametrize("finds", [True, False])
def test_words_that_a_model_never_finds_stay(finds: bool, tools: Path, capsys: Capture) -> None:
    """Variants in which nothing is reworded would look as if rewording cost nothing."""

    def stubborn(body: Json) -> Json:
        elements = json.loads(body["messages"][1]["content"]) if finds else []
        words = [{**e, "description": "Something else"} for e in elements]
        return call_completion("reword", json.dumps({"elements": words}))

    with serving(StandIn(answer=stubborn)) as server:
        words: Json = {"model": "m", "base_url": server.url, "count": 1}
        assert reword(tools, **words) == (0 if finds else 2)
        error = capsys.readouterr().err
        if finds:
            assert "note: tool book path people" in error and words_of(tools)[0].name is None
            return
        assert "answers.jsonl" in error.splitlines()[-1]
        assert not list((tools / "variants").glob("*.json"))
        server.answer = model
        assert reword(tools, **words) == 0  # it is asked again
    assert words_of(tools)[0].name == "book_1"
