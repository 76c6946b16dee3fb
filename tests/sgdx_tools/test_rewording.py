"""New words: by a model, of a pool, by translation, from a file, and what a person strikes out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sgdx_tools.__main__ import main
from sgdx_tools.data import Json, ToolWords, Words
from sgdx_tools.folder import read_tool_set
from sgdx_tools.model_words import ToolRewording
from sgdx_tools.pool import compose_wordings, distinct_names

from ..baselines.llm.server import StandIn, call_completion, failing, serving
from .conftest import TOOLS

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
    """The folder without wordings."""
    for path in (folder / "wordings").glob("*.json"):
        path.unlink()
    return folder


def reword(tools: Path, *arguments: str) -> int:
    return main(["reword", str(tools), "--output", str(tools / "wordings"), *arguments])


def test_a_pool_makes_wordings_nearest_first(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "pool.json").write_text(json.dumps(POOL))
    assert reword(tools, "--with", f"pool:{tmp_path / 'pool.json'}", "--count", "2") == 0
    wordings = read_tool_set(tools).wordings
    assert list(wordings) == ["original", "v1", "v2"]
    assert wordings["v1"].made_by == "pool:pool.json"
    near, far = wordings["v1"].tools["book"], wordings["v2"].tools["book"]
    assert (near.name, far.name) == ("book_it", "make_a_reservation")
    assert (near.description, far.description) == ("Book some table", "Reserve seats")
    assert near.parameters["people"].name == "persons"
    assert far.parameters["people"] == Words("number_of_guests", "How many people come")
    assert far.parameters["place.city"] == Words("town")


def test_names_that_would_be_one_keep_the_old_one(tools: Path, tmp_path: Path) -> None:
    pool = {"book": {"name": ["visit", "weather"]}, "weather": {"name": ["visit", "forecast"]}}
    (tmp_path / "pool.json").write_text(json.dumps(pool))
    assert reword(tools, "--with", f"pool:{tmp_path / 'pool.json'}", "--count", "2") == 0
    wordings = read_tool_set(tools).wordings
    names = [[w.tools[t].name for t in ("book", "weather")] for w in list(wordings.values())[1:]]
    assert names == [["visit", None], ["weather", "forecast"]]


def test_distinct_names_may_change_places() -> None:
    assert distinct_names({"a": "x", "b": "y"}, {"a": "y", "b": "x"}) == {"a": "y", "b": "x"}
    assert distinct_names({"a": "x", "b": "y"}, {"a": "y", "b": None}) == {"a": None, "b": None}
    assert distinct_names({"a": "x", "b": "y"}, {"a": "z", "b": "z"}) == {"a": "z", "b": None}


def test_what_is_struck_out_is_left_out(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "pool.json").write_text(json.dumps(POOL))
    assert reword(tools, "--with", f"pool:{tmp_path / 'pool.json'}", "--count", "2") == 0
    review = tools / "wordings" / "review.tsv"
    lines = review.read_text().splitlines()
    assert lines[0].split("\t") == ["tool", "path", "kind", "original", "reworded", "by"]
    assert "book\t\tname\tbook\tmake_a_reservation\tpool:pool.json" in lines
    page = (tools / "wordings" / "review.html").read_text()
    assert "<td>make_a_reservation</td>" in page and "8 new names and descriptions" in page
    review.write_text("\n".join(line for line in lines if "make_a_reservation" not in line) + "\n")
    assert reword(tools, "--review", str(review), "--count", "2") == 0
    wordings = read_tool_set(tools).wordings
    assert [wordings[name].tools["book"].name for name in ("v1", "v2")] == ["book_it", "book_it"]
    assert wordings["v2"].made_by == "pool:pool.json"


def test_hostile_words_stay_text_in_the_page(tools: Path, tmp_path: Path) -> None:
    text = '<script>alert("$ROWS")</script>\t"x"'
    (tmp_path / "pool.json").write_text(json.dumps({"book": {"description": [text, "Other"]}}))
    assert reword(tools, "--with", f"pool:{tmp_path / 'pool.json'}", "--count", "2") == 0
    page = (tools / "wordings" / "review.html").read_text()
    assert "<script>alert" not in page and "&lt;script&gt;alert(&quot;$ROWS&quot;)" in page
    assert reword(tools, "--review", str(tools / "wordings" / "review.tsv"), "--count", "2") == 0
    descriptions = [
        w.tools["book"].description for w in list(read_tool_set(tools).wordings.values())[1:]
    ]
    assert text in descriptions


def test_names_can_be_kept(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "pool.json").write_text(json.dumps(POOL))
    pool = f"pool:{tmp_path / 'pool.json'}"
    assert reword(tools, "--with", pool, "--count", "1", "--keep-names") == 0
    words = read_tool_set(tools).wordings["v1"].tools["book"]
    assert words == ToolWords(
        None, "Book some table", {"people": Words(None, "How many people come")}
    )


def test_one_element_at_a_time(tools: Path, tmp_path: Path) -> None:
    mine = {
        "book": {
            "name": "reserve",
            "parameters": {"people": {"name": "guests"}, "place.city": {"description": "Town"}},
        }
    }
    (tmp_path / "mine.json").write_text(json.dumps(mine))
    assert reword(tools, "--with", f"file:{tmp_path / 'mine.json'}", "--one-at-a-time") == 0
    wordings = read_tool_set(tools).wordings
    assert {name: w.tools["book"] for name, w in wordings.items() if name != "original"} == {
        "mine.book": ToolWords("reserve"),
        "mine.book.people": ToolWords(parameters={"people": Words("guests")}),
        "mine.book.place-city": ToolWords(parameters={"place.city": Words(None, "Town")}),
    }


def test_another_version_of_the_tools_is_a_wording(
    tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    version = json.loads((tools / "tools.json").read_text())
    version[0]["name"] = "reserve"
    people = version[0]["parameters"]["properties"].pop("people")
    people["description"] = "Guests"
    properties = {"guests": people, **version[0]["parameters"]["properties"]}
    version[0]["parameters"] |= {"properties": properties, "required": ["guests"]}
    (tmp_path / "next.json").write_text(json.dumps(version))
    assert reword(tools, "--with", f"tools:{tmp_path / 'next.json'}") == 0
    assert read_tool_set(tools).wordings["new"].tools == {
        "book": ToolWords("reserve", None, {"people": Words("guests", "Guests")})
    }
    version[0]["parameters"]["properties"]["guests"]["type"] = "string"
    (tmp_path / "next.json").write_text(json.dumps(version))
    assert reword(tools, "--with", f"tools:{tmp_path / 'next.json'}") == 2
    assert "reserve differs from book in more than its words" in capsys.readouterr().err
    (tmp_path / "next.json").write_text(json.dumps(version[:1]))
    assert reword(tools, "--with", f"tools:{tmp_path / 'next.json'}") == 2
    assert "found no tool book, expected all ids" in capsys.readouterr().err


def test_a_program_translates_and_back(tools: Path, tmp_path: Path) -> None:
    script = tmp_path / "translate.py"
    script.write_text(
        "import sys\nfor line in sys.stdin: print(line.rstrip().replace('ook', 'uch'))\n"
    )
    back = tmp_path / "back.py"
    back.write_text(
        "import sys\nfor line in sys.stdin: print(line.rstrip().replace('Buch', 'Get'))\n"
    )
    forward, backward = (f"command:{sys.executable} {path}" for path in (script, back))
    by = f"backtranslate:{forward},{backward}"
    assert reword(tools, "--with", by, "--count", "2") == 2
    assert reword(tools, "--with", by, "--count", "1") == 0
    words = read_tool_set(tools).wordings["v1"].tools
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


def test_a_model_rewords_and_is_asked_again_for_what_was_refused(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(StandIn(answer=model)) as server:
        arguments = ("--with", "model:m", "--base-url", server.url, "--count", "3")
        assert reword(tools, *arguments) == 0
    assert len(server.bodies) == 3 * 3 + 3  # three tools three times, and one again
    again = server.bodies[-1]
    assert "people: the name is not of 1 to 64 letters" in again["messages"][-1]["content"]
    assert again["temperature"] == 1.0 and again["tools"][0]["function"]["name"] == "reword"
    wordings = read_tool_set(tools).wordings
    assert list(wordings) == ["original", "v1", "v2", "v3"]
    assert wordings["v2"].made_by == "model:m"
    words = wordings["v2"].tools["book"]
    assert (words.name, words.description) == ("book_2", "Book a table, version 2")
    assert words.parameters["people"] == Words("people_2", "How many come, version 2")
    assert words.parameters["place.city"].name == "city_2"
    assert wordings["v2"].tools["ping"].name == "ping_2"
    assert "note" not in capsys.readouterr().err


def test_names_that_other_elements_have_are_refused() -> None:
    """Neither the old name of another element nor the new one of one before."""
    rewording = ToolRewording(TOOLS[0], 1)
    names = {"people": "place", "place": "spot", "place.city": "spot", "": "reserve"}
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

    with serving(StandIn(answer=stubborn)) as server:
        assert reword(tools, "--with", "model:m", "--base-url", server.url, "--count", "1") == 0
    assert "note: tool book path people: no new name" in capsys.readouterr().err
    assert read_tool_set(tools).wordings["v1"].tools["book"].name is None


def test_a_model_that_finds_no_words_at_all_is_told(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wordings in which nothing is reworded would look as if rewording cost nothing."""

    def silent(body: Json) -> Json:
        return call_completion("reword", json.dumps({"elements": []}))

    with serving(StandIn(answer=silent)) as server:
        assert reword(tools, "--with", "model:m", "--base-url", server.url) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "--with model:m: found no new words for any tool, expected some; what the" in error
    assert error.endswith("answers.jsonl")
    assert not list((tools / "wordings").glob("*.json"))


def test_a_model_that_stops_is_asked_only_the_rest(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(StandIn(answer=model)) as server:
        arguments = ("--with", "model:m", "--base-url", server.url, "--count", "1")
        assert reword(tools, *arguments, "--max-requests", "2") == 1
        assert (
            "1 answers are missing: give the same command again to continue"
            in capsys.readouterr().err
        )
        assert not list((tools / "wordings").glob("*.json"))
        assert reword(tools, *arguments) == 0
    assert len(server.bodies) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--with", "magic:x"], "--with magic:x: expected model:NAME"),
        (["--with", "pool:nowhere.json"], "nowhere.json: No such file"),
        (["--with", "backtranslate:one"], "expected FORWARD,BACKWARD"),
        (["--with", "pool:x", "--count", "12"], "--count 12: expected 1 to 9"),
        (["--review", "nowhere.tsv"], "nowhere.tsv: No such file"),
    ],
)
def test_bad_options_are_one_line(
    tools: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reword(tools, *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("sgdx_tools: error: ") and message in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        ({}, "found no paraphrases"),
        ({"x": {"name": ["y", "z"]}}, "tool x is not in the tools"),
        ({"book": {"parameters": {"x": {"name": ["y"]}}}}, "tool book: path x is not in the tools"),
        ({"book": {"name": ["a b"]}}, "tool book: name is 'a b'"),
        ({"book": {"name": ["a", "a"]}}, "'a' appears twice"),
        ({"book": {"description": [" "]}}, "found an empty paraphrase"),
    ],
)
def test_faults_of_pools(
    tools: Path, tmp_path: Path, pool: Json, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pool.json").write_text(json.dumps(pool))
    assert reword(tools, "--with", f"pool:{tmp_path / 'pool.json'}") == 2
    assert message in capsys.readouterr().err
    assert not (tools / "wordings" / "v1.json").exists()


def test_a_wording_that_is_there_is_not_replaced(
    tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pool.json").write_text(json.dumps(POOL))
    pool = f"pool:{tmp_path / 'pool.json'}"
    assert reword(tools, "--with", pool, "--count", "1") == 0
    assert reword(tools, "--with", pool, "--count", "1") == 2
    assert "v1.json: exists already" in capsys.readouterr().err


def test_a_server_that_refuses_is_told(tools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(StandIn(answer=model, faults=[failing(401)])) as server:
        assert (
            reword(tools, "--with", "model:m", "--base-url", server.url, "--concurrency", "1") == 2
        )
    assert "status 401" in capsys.readouterr().err


def test_wordings_of_few_paraphrases_repeat_them() -> None:
    from sgdx_tools.pool import ToolPool

    wordings = compose_wordings(BY_ID, {"ping": ToolPool(("pong", "echo_back"))}, 4, "me")
    assert [w.tools["ping"].name for w in wordings] == ["pong", "pong", "echo_back", "echo_back"]
