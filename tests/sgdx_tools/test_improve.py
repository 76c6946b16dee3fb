"""Better words: a model whose weakness is known, proposals that are chosen, and what is proved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgdx_eval.result import read_result
from sgdx_tools.data import Case, ExpectedCall
from sgdx_tools.demo import SAMPLE
from sgdx_tools.folder import read_project, write_project
from sgdx_tools.improve import halves

from ..sgdx_llm.server import Json, StandIn, call_completion, completion, serving
from .conftest import TOOLS, Capture, command, user
from .test_report import data_of


def model(body: Json) -> Json:
    """Fills `people` where the description says that it is a number, and proposes to say so."""
    if body["tools"][0]["function"]["name"] == "reword":
        assert "improve" in body["messages"][0]["content"]
        elements = json.loads(body["messages"][1]["content"])
        words = [
            {"path": e["path"], "description": "The number of guests"}
            for e in elements
            if e["path"] == "people"
        ]
        return call_completion("reword", json.dumps({"elements": words}))
    book = next(t["function"] for t in body["tools"] if t["function"]["name"] == "book")
    text = body["messages"][-1]["content"]
    if "Table" not in text:
        return completion({"role": "assistant", "content": "Bye."}, "stop")
    says_number = "number" in book["parameters"]["properties"]["people"]["description"]
    arguments = {"people": int(text.split()[-1])} if says_number else {}
    return call_completion("book", json.dumps(arguments))


def tables() -> list[Case]:
    """Twenty cases that ask for a table for 2, 3, and so on."""
    return [
        Case(f"c{n}", (user(f"Table for {n}"),), (ExpectedCall("book", {"people": n}),))
        for n in range(2, 22)
    ]


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    write_project(tmp_path / "api", TOOLS, tables())
    return tmp_path / "api"


def improve(api: Path, server: StandIn, **words: object) -> int:
    models = [{"model": "m", "base_url": server.url}]
    file = api.parent / "sgdx.yaml"
    file.write_text(json.dumps({"tools": "api", "models": models, "variants": words}))
    return command("improve", file, "--output", api.parent / "out")


def test_the_better_of_two_proposals_is_proved_and_is_a_variant(api: Path, capsys: Capture) -> None:
    texts = ["Something else", "The number of guests"]
    pool = api.parent / "pool.json"
    # Words that have nothing to do with what is wrong are not taken.
    others = {"description": ["Take a table", "Keep a table"]}
    words_of = {"book": others | {"parameters": {"people": {"description": texts}}}}
    pool.write_text(json.dumps(words_of))
    with serving(StandIn(answer=model)) as server:
        assert improve(api, server, pool="pool.json", count=2) == 0
    out, improved = capsys.readouterr().out, api.parent / "out" / "improved.json"
    assert "tokens" in out and f"proved: {improved}" in out
    assert "  book people: 'The number of guests'" in out
    assert json.loads(improved.read_text()) == {
        "$made_by": "pool:pool.json",
        "book": {"parameters": {"people": {"description": "The number of guests"}}},
    }
    gain = read_result(api.parent / "out").result
    found = gain.by_variant("call", "drop")["improved"]
    assert found.value == 1 and found.low is not None and found.low > 0
    assert gain.counts["cases"]["all"] == 10
    words = ("--with", f"file:{improved}", "--output", api / "variants")
    assert command("reword", api, *words) == 0


def test_words_that_are_no_better_are_not_measured_on_the_other_half(api: Path) -> None:
    pool = api.parent / "pool.json"
    parts = {"people": {"description": ["Something else"]}}
    pool.write_text(json.dumps({"book": {"parameters": parts}}))
    with serving(StandIn(answer=model)) as server:
        assert improve(api, server, pool="pool.json", count=1) == 1
        assert len(server.bodies) == 10 + 20


def test_a_model_proposes_and_only_what_is_new_is_asked_again(api: Path, capsys: Capture) -> None:
    with serving(StandIn(answer=model)) as server:
        assert improve(api, server, model="m", count=1) == 0
        asked = len(server.bodies)
        assert improve(api, server, model="m", count=1) == 0
        calls = [b for b in server.bodies if b["tools"][0]["function"]["name"] != "reword"]
    assert len([b for b in server.bodies[:asked] if b in calls]) == len(calls) == 10 + 20 + 20
    assert "book people: 10 cases" in capsys.readouterr().out


def test_a_gain_that_chance_explains_is_not_proved(api: Path, capsys: Capture) -> None:
    """One case of each half is wrong, and right with the new words."""
    hard = {half[0].messages[0]["content"] for half in halves(tables())}

    def answer(body: Json) -> Json:
        text = body["messages"][-1]["content"]
        if body["tools"][0]["function"]["name"] == "reword" or text in hard:
            return model(body)
        return call_completion("book", json.dumps({"people": int(text.split()[-1])}))

    with serving(StandIn(answer=answer)) as server:
        assert improve(api, server, model="m", count=1) == 1
    out = capsys.readouterr().out
    assert "change 10.00 points of 10 cases" in out and "nothing is proved" in out
    assert not (api.parent / "out" / "improved.json").exists()
    assert "book people: 'The number of guests'" in out  # also where it is not proved
    (cells, *_) = (case["cells"] for case in data_of(api.parent / "out" / "report.html")["cases"])
    assert [*cells["improved"]] == ["original", "improved"]


def test_halves_have_whole_dialogues_and_half_of_each_tool() -> None:
    sample = read_project(SAMPLE)
    first, second = halves(sample.cases)
    assert (len(first), len(second)) == (21, 19)
    assert {c.id for c in first} | {c.id for c in second} == {c.id for c in sample.cases}
    one, other = ([c.expect[0].name for c in half if c.expect] for half in (first, second))
    assert all(abs(one.count(tool) - other.count(tool)) <= 1 for tool in sample.tools)
    talks = [Case(str(i), (), None, dialogue=str(i // 3)) for i in range(12)]
    first, second = halves(talks)
    assert not {c.dialogue for c in first} & {c.dialogue for c in second}
