"""New words: by a model, of a pool, by translation, from a file, and what a person strikes out."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdx_tools import score
from sgdx_tools.__main__ import main
from sgdx_tools.data import Json, Tool, ToolWords, Words
from sgdx_tools.folder import read_tool_set
from sgdx_tools.model_words import ToolRewording
from sgdx_tools.pool import ElementPool, compose_variants, distinct_names
from sgdx_tools.renaming import WordedTools
from sgdx_tools.versions import variant_between

from ..sgdx_llm.server import StandIn, call_completion, completion, failing, serving
from .conftest import CASES, RIGHT, TOOLS, call, objects

BY_ID = {tool.id: tool for tool in TOOLS}
POOL: Json = {
    "book": {
        "name": ["make_a_reservation", "book_it"],
        "description": ["Reserve seats", "Book some table"],
        "parameters": {
            "people": {
                "name": ["number_of_guests", "persons"],
                "description": ["How many people come"],
            },
            "place.city": {"name": ["town"]},
        },
    }
}


@pytest.fixture
def tools(folder: Path) -> Path:
    """The folder without variants."""
    for path in (folder / "variants").glob("*.json"):
        path.unlink()
    return folder


def reword(tools: Path, *arguments: str) -> int:
    return main(["reword", str(tools), "--output", str(tools / "variants"), *arguments])


def compose(tools: Path, pool: Json, count: int, *arguments: str) -> int:
    file = tools.parent / "pool.json"
    file.write_text(json.dumps(pool))
    return reword(tools, "--with", f"pool:{file}", "--count", str(count), *arguments)


def words_of(tools: Path, tool: str = "book") -> list[ToolWords]:
    """The words of a tool under each variant but the original."""
    _, *variants = read_tool_set(tools).variants.values()
    return [variant.tools[tool] for variant in variants]


def test_a_pool_makes_variants_nearest_first(tools: Path) -> None:
    assert compose(tools, POOL, 2) == 0
    variants = read_tool_set(tools).variants
    assert list(variants) == ["original", "v1", "v2"]
    assert variants["v1"].made_by == "pool:pool.json"
    near, far = words_of(tools)
    assert (near.name, far.name) == ("book_it", "make_a_reservation")
    assert (near.description, far.description) == ("Book some table", "Reserve seats")
    assert near.parameters["people"].name == "persons"
    assert far.parameters["people"] == Words("number_of_guests", "How many people come")
    assert far.parameters["place.city"] == Words("town")


def test_names_that_would_be_one_keep_the_old_one(tools: Path) -> None:
    pool = {"book": {"name": ["visit", "weather"]}, "weather": {"name": ["visit", "forecast"]}}
    assert compose(tools, pool, 2) == 0
    assert [words.name for words in words_of(tools)] == ["visit", "weather"]
    assert [words.name for words in words_of(tools, "weather")] == [None, "forecast"]


def test_distinct_names_may_change_places() -> None:
    assert distinct_names({"a": "x", "b": "y"}, {"a": "y", "b": "x"}) == {"a": "y", "b": "x"}
    assert distinct_names({"a": "x", "b": "y"}, {"a": "z", "b": "z"}) == {"a": "z", "b": None}


def test_what_is_struck_out_is_left_out(tools: Path) -> None:
    assert compose(tools, POOL, 2) == 0
    review = tools / "variants" / "review.tsv"
    lines = review.read_text().splitlines()
    assert lines[0].split("\t") == ["tool", "path", "kind", "original", "reworded", "by"]
    assert "book\t\tname\tbook\tmake_a_reservation\tpool:pool.json" in lines
    review.write_text("\n".join(line for line in lines if "make_a_reservation" not in line) + "\n")
    assert reword(tools, "--review", str(review), "--count", "2") == 0
    assert [words.name for words in words_of(tools)] == ["book_it", "book_it"]
    assert read_tool_set(tools).variants["v2"].made_by == "pool:pool.json"
    review.write_text("\n".join(lines).replace("Book a table", "Order a meal"))  # of other tools
    assert reword(tools, "--review", str(review), "--count", "2") == 2


def test_words_that_a_page_or_a_table_would_obey_stay_text(tools: Path) -> None:
    script = '<script>alert("$ROWS")</script>\t"x"'
    texts = [script, '=HYPERLINK("http://a.example")', "-1", "'+x", "'" * 3]
    assert compose(tools, {"book": {"description": texts}}, 5) == 0
    page = (tools / "variants" / "review.html").read_text()
    assert "<script>alert" not in page and "&lt;script&gt;alert(&quot;$ROWS&quot;)" in page
    review = tools / "variants" / "review.tsv"
    cells = [cell for row in csv.reader(review.open(), "excel-tab") for cell in row]
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@")]
    assert reword(tools, "--review", str(review)) == 0
    assert {words.description for words in words_of(tools)} == {*texts}


def test_names_can_be_kept(tools: Path) -> None:
    assert compose(tools, POOL, 1, "--keep-names") == 0
    people = {"people": Words(None, "How many people come")}
    assert words_of(tools) == [ToolWords(None, "Book some table", people)]


def test_one_element_at_a_time(tools: Path, tmp_path: Path) -> None:
    mine = {
        "book": {
            "name": "reserve",
            "parameters": {"people": {"name": "guests"}, "place.city": {"description": "Town"}},
        }
    }
    (tmp_path / "mine.json").write_text(json.dumps(mine))
    assert reword(tools, "--with", f"file:{tmp_path / 'mine.json'}", "--one-at-a-time") == 0
    variants = read_tool_set(tools).variants
    assert {name: w.tools["book"] for name, w in variants.items() if name != "original"} == {
        "mine.book": ToolWords("reserve"),
        "mine.book.people": ToolWords(parameters={"people": Words("guests")}),
        "mine.book.place-city": ToolWords(parameters={"place.city": Words(None, "Town")}),
    }


def test_another_version_of_the_tools_is_a_variant(
    tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever else a pull request does is listed."""

    def reword_to(version: Json) -> Mapping[str, ToolWords]:
        (tmp_path / "next.json").write_text(json.dumps(version))
        (tools / "variants" / "new.json").unlink(missing_ok=True)
        capsys.readouterr()
        assert reword(tools, "--with", f"tools:{tmp_path / 'next.json'}") == 0
        return read_tool_set(tools).variants["new"].tools

    version = json.loads((tools / "tools.json").read_text())
    book = version[0]
    book["parameters"] = dict(reversed(book["parameters"].items()))
    book["parameters"]["properties"] = dict(reversed(book["parameters"]["properties"].items()))
    assert reword_to(version[::-1]) == {}  # the order has no words, and is measured
    assert read_tool_set(tools).variants["new"].version is not None
    assert "order" in capsys.readouterr().err
    people = book["parameters"]["properties"].pop("people")
    book |= {"name": "reserve"}
    book["parameters"] |= {"required": ["guests"]}
    book["parameters"]["properties"]["guests"] = people | {"description": "Guests"}
    words = {"book": ToolWords("reserve", None, {"people": Words("guests", "Guests")})}
    assert reword_to(version) == words
    assert capsys.readouterr().err.count("note: ") == 2  # both new names
    book["parameters"]["properties"]["place"]["properties"]["city"] |= {"enum": ["Rome"]}
    book["parameters"]["properties"]["note"] = {"type": "string", "description": "Wishes"}
    version[1:] = [version[1], {"name": "cancel", "description": "Cancel it"}]
    assert reword_to(version) == words
    notes = capsys.readouterr().err
    facts = ["place.city differs in enum", "note is added", "ping is removed", "cancel is added"]
    assert all(fact in notes for fact in facts) and notes.count("note: ") == 6
    book["parameters"]["properties"]["guests"]["type"] = "string"
    assert reword_to(version) == {"book": ToolWords("reserve")}  # nothing says that they are one
    notes = capsys.readouterr().err
    assert "people is removed" in notes and "guests is added" in notes


def test_a_pull_request_is_measured_as_it_is(
    tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Added tools compete, and cases whose tool or argument is gone or narrowed are left out."""
    version = json.loads((tools / "tools.json").read_text())
    book, weather, _ = version
    weather["name"] = "forecast"
    city = weather["parameters"]["properties"]["city"]
    city["enum"] = ["Oslo", "Bergen"]
    book["parameters"]["properties"]["people"]["maximum"] = 8
    book["parameters"]["properties"]["note"] = {"type": "string"}
    rival = {"name": "seat", "description": "Book a seat", "parameters": {}}
    file, output = tmp_path / "next.json", tmp_path / "run"
    output.mkdir()

    def measured(**wrong: list[Json]) -> Json:
        """The scores where all calls are right but some under the new words."""
        file.write_text(json.dumps([*version, rival]))
        (tools / "variants" / "new.json").unlink(missing_ok=True)
        assert reword(tools, "--with", f"tools:{file}") == 0
        tool_set = read_tool_set(tools)
        shown = WordedTools(tool_set.tools, tool_set.variants["new"]).shown(None)
        assert shown[-1] == "seat" and len(shown) == len(version) + 1
        right = RIGHT["original"]
        calls = {"original": right, "new": right | {"c": call("forecast", city="Oslo")} | wrong}
        for name, of_name in calls.items():
            lines = [{"id": c.id, "variant": name, "calls": of_name[c.id]} for c in tool_set.cases]
            (output / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
        return score(tools, output)

    scores = measured(b=call("seat"))
    by_variant = scores["calls"]["call_accuracy"]["by_variant"]
    assert by_variant == {"original": 1.0, "new": pytest.approx(2 / 3)}
    assert [(e["tool"], e["path"], e["lost"], e["reworded"]) for e in scores["elements"]] == [
        ("book", "people", 1, {"change": "differs in maximum"}),
        ("seat", "", 1, {"change": "is added"}),
    ]
    assert "left_out" not in scores
    scores = measured(a=call("book", people=4, place={"city": "Rome"}, note="x"))
    assert [(e["tool"], e["path"]) for e in scores["elements"]] == [("book", "note")]
    capsys.readouterr()
    assert main(["explain", str(tools), "--predictions", str(output), "a"]) == 0
    assert "  extra: note\n  words of book note: is added\n" in capsys.readouterr().out
    city["enum"] = ["Bergen"]
    book["parameters"]["required"] = ["people", "place"]
    scores = measured()
    assert list(scores["left_out"]) == ["b", "c"] and scores["cases"]["all"] == 2
    assert scores["calls"]["call_accuracy"]["worst"] == 1.0
    del version[0]
    assert list(measured()["left_out"]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (
            "misleading",
            [("weather_2", "Book a table", "weather"), ("ping_2", "Tell the weather", "ping")],
        ),
        ("same-name", [("Book", "Tell the weather", "weather"), ("Weather", "", "ping")]),
    ],
)
def test_a_rival_has_the_words_of_one_tool_and_is_another(
    kind: str, shown: list[tuple[str, str, str]], tools: Path
) -> None:
    assert reword(tools, "--with", f"rivals:{kind}") == 0
    tool_set = read_tool_set(tools)
    version = tool_set.variants[f"rivals-{kind}"].version
    assert version is not None
    found = [tool for tool in version.values() if tool.rival_of]
    assert [tool.rival_of for tool in found] == ["book", "weather"]
    expected = [(name, text, tool_set.tools[of].parameters) for name, text, of in shown]
    assert [(tool.name, tool.description, tool.parameters) for tool in found] == expected


def test_one_tool_alone_is_not_mixed_with_another(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "get_it"}]')
    (tmp_path / "cases.jsonl").write_text("")
    assert reword(tmp_path, "--with", "rivals:same-name") == 2
    assert reword(tmp_path, "--with", "rivals:near") == 0


def test_rivals_compete_with_the_tools_that_cases_expect(tools: Path, tmp_path: Path) -> None:
    """A call of what praises itself most is wrong; ping is expected nowhere."""
    lines = [json.loads(line) for line in (tools / "cases.jsonl").read_text().splitlines()]
    lines[0]["tools"] = ["ping", "book"]
    (tools / "cases.jsonl").write_text("\n".join(map(json.dumps, lines)))
    for kind in ("near", "assertive"):
        assert reword(tools, "--with", f"rivals:{kind}") == 0
    assert reword(tools, "--with", "rivals:far") == 2
    tool_set = read_tool_set(tools)
    near = WordedTools(tool_set.tools, tool_set.variants["rivals-near"])
    assert near.shown(tool_set.cases[0].tools) == ["ping", "book", "book#near"]
    assert near.tool("book#near").name == "book_test"
    assert near.shown(None) == ["book", "book#near", "weather", "weather#near", "ping"]
    variants = ("original", "rivals-assertive", "rivals-near")
    calls = {name: dict(RIGHT["original"]) for name in variants}
    calls["rivals-assertive"]["c"] = call("weather_pro", city="Oslo")
    made = [
        {"id": case, "variant": name, "calls": of_case}
        for name, of_name in calls.items()
        for case, of_case in of_name.items()
    ]
    content = score(tools, made)
    assert content["calls"]["call_accuracy"]["by_variant"] == {
        "original": 1.0,
        "rivals-assertive": pytest.approx(2 / 3),
        "rivals-near": 1.0,
    }
    assert [e["reworded"] for e in content["elements"]] == [{"change": "is a rival of weather"}]
    confused = [(pair["expected"], pair["called"]) for pair in content["confusion"]]
    assert confused == [("weather", "weather#assertive")]


def test_the_same_tools_cost_nothing(tools: Path, tmp_path: Path) -> None:
    """No request more than those under the original is sent, and the verdict is passed."""
    assert reword(tools, "--with", f"tools:{tools / 'tools.json'}") == 0
    with serving(StandIn(answer=lambda _: completion({"content": "No."}, "stop"))) as server:
        run = ["--model", "m", "--base-url", server.url, "--output", str(tmp_path / "run")]
        assert main(["run", str(tools), *run]) == 0
        assert len(server.bodies) == len(CASES)
    gate = ["--predictions", str(tmp_path / "run"), "--max-drop", "0"]
    assert main(["score", str(tools), *gate]) == 0


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_another_order_of_tools_and_keys_is_another_version_without_words(
    data: st.DataObject,
) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            keys = data.draw(st.permutations(list(value)))
            return {key: shuffled(value[key]) for key in keys}
        return value

    changed = [msgspec.structs.replace(t, parameters=shuffled(t.parameters)) for t in TOOLS]
    others = {tool.id: tool for tool in data.draw(st.permutations(changed))}
    same = [(t, json.dumps(t.parameters)) for t in TOOLS] == [
        (t, json.dumps(t.parameters)) for t in others.values()
    ]
    variant, notes = variant_between(BY_ID, others)
    assert variant.tools == {} and len(notes) == (not same)
    assert variant.version == (None if same else others)
    assert WordedTools(BY_ID, variant).shown(None) == list(others)


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


def test_a_program_translates_and_back(tools: Path, tmp_path: Path) -> None:
    programs = []
    for name, old, new in (("forward", "ook", "uch"), ("backward", "Buch", "Get")):
        replaced = f"line.rstrip().replace({old!r}, {new!r})"
        script = tmp_path / f"{name}.py"
        script.write_text(f"import sys\nfor line in sys.stdin: print({replaced})\n")
        programs.append(f"command:{sys.executable} {script}")
    by = f"backtranslate:{','.join(programs)}"
    assert reword(tools, "--with", by, "--count", "2") == 2
    assert reword(tools, "--with", by, "--count", "1") == 0
    words = read_tool_set(tools).variants["v1"].tools
    assert words == {"book": ToolWords("buch", "Get a table")}


def model(body: Json) -> Json:
    """A model that rewords by adding letters, and makes a mistake when it is asked first."""
    elements = json.loads(body["messages"][1]["content"])
    seed = body["seed"]
    words = []
    for element in elements:
        new = {"path": element["path"]}
        if "name" in element:
            is_first = seed < 1000 and element["path"] == "people"
            new["name"] = "two words" if is_first else f"{element['name']}_{seed % 1000}"
        if "description" in element:
            new["description"] = f"{element['description']}, version {seed % 1000}"
        words.append(new)
    return call_completion("reword", json.dumps({"elements": words}))


def reword_by(answer: Callable[[Json], Json], tools: Path, *arguments: str) -> tuple[int, StandIn]:
    """Reword by a model; the exit status, and what it was asked."""
    with serving(StandIn(answer=answer)) as server:
        status = reword(tools, "--with", "model:m", "--base-url", server.url, *arguments)
    return status, server


def test_a_model_rewords_and_is_asked_again_for_what_was_refused(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, server = reword_by(model, tools, "--count", "3")
    assert status == 0
    assert len(server.bodies) == 3 * 3 + 3  # three tools three times, and one again
    again = server.bodies[-1]
    assert "people: the name" in again["messages"][-1]["content"]
    assert again["temperature"] == 1.0 and again["tools"][0]["function"]["name"] == "reword"
    variants = read_tool_set(tools).variants
    assert list(variants) == ["original", "v1", "v2", "v3"]
    assert variants["v2"].made_by == "model:m"
    words = variants["v2"].tools["book"]
    assert (words.name, words.description) == ("book_2", "Book a table, version 2")
    assert words.parameters["people"] == Words("people_2", "How many come, version 2")
    assert words.parameters["place.city"].name == "city_2"
    assert variants["v2"].tools["ping"].name == "ping_2"
    assert "note" not in capsys.readouterr().err


def test_names_that_other_elements_have_are_refused() -> None:
    """Neither the old name of another element nor the new one of one before."""
    rewording = ToolRewording(TOOLS[0], 1, ["weather"])
    names = {"people": "place", "place": "spot", "place.city": "spot", "": "reserve"}
    old = {"elements": [{"path": "", "name": "weather"}]}  # another tool's
    rewording.accept({"calls": [{"name": "reword", "arguments": old}]})
    assert not rewording.words
    elements = [{"path": path, "name": name} for path, name in names.items()]
    rewording.accept({"calls": [{"name": "reword", "arguments": {"elements": elements}}]})
    assert rewording.words == {("place", "name"): "spot", ("", "name"): "reserve"}
    assert len(rewording.refusals) == 2


def test_words_that_a_model_never_finds_stay(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stubborn(body: Json) -> Json:
        elements = json.loads(body["messages"][1]["content"])
        words = [{**e, "description": "Something else"} for e in elements]
        return call_completion("reword", json.dumps({"elements": words}))

    assert reword_by(stubborn, tools, "--count", "1")[0] == 0
    assert "note: tool book path people" in capsys.readouterr().err
    assert words_of(tools)[0].name is None


def test_a_model_that_finds_no_words_at_all_is_told(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Variants in which nothing is reworded would look as if rewording cost nothing."""
    answer = call_completion("reword", json.dumps({"elements": []}))
    assert reword_by(lambda body: answer, tools)[0] == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "--with model:m" in error and "answers.jsonl" in error
    assert not list((tools / "variants").glob("*.json"))
    assert reword_by(model, tools, "--count", "1")[0] == 0  # it is asked again
    assert words_of(tools)[0].name == "book_1"


def test_a_model_that_stops_or_refuses_is_asked_only_the_rest(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(StandIn(answer=model, faults=[failing(401)])) as server:
        arguments = ("--with", "model:m", "--base-url", server.url, "--count", "1")
        assert reword(tools, *arguments, "--concurrency", "1") == 2
        assert "status 401" in capsys.readouterr().err
        assert reword(tools, *arguments, "--max-requests", "2") == 1
        assert not list((tools / "variants").glob("*.json"))
        assert reword(tools, *arguments) == 0
    assert len(server.bodies) == 1 + 4


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (["--with", "magic:x"], ["--with magic:x"]),
        (["--with", "backtranslate:one"], ["backtranslate:one"]),
        (["--with", "pool:x", "--count", "12"], ["--count 12"]),
        (["--review", "nowhere.tsv"], ["nowhere.tsv"]),
        ({}, ["pool.json"]),
        ({"x": {"name": ["y", "z"]}}, ["tool x"]),
        ({"book": {"parameters": {"x": {"name": ["y"]}}}}, ["tool book", "path x"]),
        ({"book": {"name": ["a", "a"]}}, ["tool book", "'a'"]),
        ({"book": {"description": [" "]}}, ["tool book"]),
    ],
)
def test_faults_of_options_and_pools(
    tools: Path, arguments: Json, facts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    is_pool = isinstance(arguments, dict)
    assert (compose(tools, arguments, 2) if is_pool else reword(tools, *arguments)) == 2
    error = capsys.readouterr().err
    assert error.startswith("sgdx: error: ") and error.count("\n") == 1
    assert all(fact in error for fact in facts), error
    assert not (tools / "variants" / "v1.json").exists()


def test_a_variant_that_is_there_is_not_replaced(tools: Path) -> None:
    assert [compose(tools, POOL, 1), compose(tools, {"ping": {"name": ["x"]}}, 1)] == [0, 2]
    assert words_of(tools)[0].name == "book_it"


def test_variants_of_few_paraphrases_repeat_them() -> None:
    variants = compose_variants(BY_ID, {("ping", ""): ElementPool(("pong", "echo_back"))}, 4, "me")
    assert [w.tools["ping"].name for w in variants] == ["pong", "pong", "echo_back", "echo_back"]
