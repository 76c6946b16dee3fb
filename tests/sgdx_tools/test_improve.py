"""Better words: a program whose weakness is known, a model that proposes, and nothing to gain."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sgdx_tools.data import Case, ExpectedCall, ToolSet
from sgdx_tools.demo import SAMPLE
from sgdx_tools.folder import read_tool_set, write_tool_set
from sgdx_tools.improve import halves
from sgdx_tools.renaming import WordedTools

from ..sgdx_llm.server import Json, StandIn, call_completion, completion, serving
from .conftest import TOOLS, Capture, command, user

READER = f"{shlex.quote(sys.executable)} -m sgdx_tools.sample.reader"


@pytest.fixture
def sample(tmp_path: Path) -> ToolSet:
    shutil.copytree(SAMPLE, tmp_path / "sample")
    return read_tool_set(tmp_path / "sample")


def worded(sample: ToolSet, name: str, folder: Path) -> ToolSet:
    """The sample's tools as if they had always been worded so, with every case twice."""
    under = WordedTools(sample.tools, sample.variants[name])
    tools = [replace(tool, id=tool.name) for tool in (under.tool(i) for i in sample.tools)]
    cases = [
        replace(
            case,
            id=f"{case.id}-{i}",
            dialogue=case.dialogue and f"{case.dialogue}-{i}",
            expect=under.expect(case),
            messages=tuple(under.messages(case)),
        )
        for i in range(2)
        for case in sample.cases
    ]
    write_tool_set(folder, tools, cases, sample.source)
    return read_tool_set(folder)


def write_pool(path: Path, tool_set: ToolSet, better: ToolSet) -> None:
    """For each description the one that the reader knows, and one that it does not."""
    pool: dict[str, Any] = {}
    for (i, tool), old in zip(tool_set.tools.items(), better.tools.values()):
        known = [element.description for element in old.elements.values()]
        words = {
            path: {"description": [f"Something about {number}", text]}
            for number, (path, text) in enumerate(zip(tool.elements, known))
        }
        pool[i] = words.pop("") | {"parameters": words}
    path.write_text(json.dumps(pool))


def run(folder: Path, output: Path, *words: str) -> int:
    return command("improve", folder, *words, "--output", output)


def test_a_weakness_that_is_known_is_mended_and_proved(
    sample: ToolSet, tmp_path: Path, capsys: Capture
) -> None:
    """The reader knows few words of descriptions: under v4 it has none of the 40 cases' values."""
    tool_set = worded(sample, "v4", tmp_path / "api")
    write_pool(tmp_path / "pool.json", tool_set, sample)
    pool = ("--with", f"pool:{tmp_path / 'pool.json'}", "--count", "2", "--command", READER)
    assert run(tmp_path / "api", tmp_path / "out", *pool) == 0
    out = capsys.readouterr().out
    gain = json.loads((tmp_path / "out" / "scores.json").read_text())
    found = gain["calls"]["call_accuracy"]["differences"]["improved"]
    assert found["difference"] > 0.2 and found["low"] > 0 and found["p"] < 0.05
    assert gain["cases"]["all"] == 40
    improved = json.loads((tmp_path / "out" / "improved.json").read_text())
    assert improved["$made_by"] == "pool:pool.json"
    texts = [part["description"] for tool in improved.values() if isinstance(tool, dict)
             for part in tool.get("parameters", {}).values()]  # fmt: skip
    assert texts and not any(text.startswith("Something about") for text in texts)
    assert "tokens" in out and f"proved: {tmp_path / 'out' / 'improved.json'}" in out
    # The words are a variant like any other.
    shutil.copy(tmp_path / "out" / "improved.json", tmp_path / "words.json")
    variants = str(tmp_path / "api" / "variants")
    words = ["--with", f"file:{tmp_path / 'words.json'}", "--output", variants]
    assert command("reword", tmp_path / "api", *words) == 0


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
    write_tool_set(tmp_path / "api", TOOLS, tables())
    return tmp_path / "api"


def improve_by_model(api: Path, server: StandIn) -> int:
    words = ("--with", "model:m", "--model", "m", "--base-url", server.url, "--count", "1")
    return run(api, api.parent / "out", *words)


def test_a_model_proposes_and_only_what_is_new_is_asked_again(api: Path, capsys: Capture) -> None:
    with serving(StandIn(answer=model)) as server:
        assert improve_by_model(api, server) == 0
        asked = len(server.bodies)
        assert improve_by_model(api, server) == 0
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
        assert improve_by_model(api, server) == 1
    out = capsys.readouterr().out
    assert "change 10.00 points of 10 cases" in out and "nothing is proved" in out
    assert not (api.parent / "out" / "improved.json").exists()


def test_halves_have_whole_dialogues_and_half_of_each_tool(sample: ToolSet) -> None:
    first, second = halves(sample.cases)
    assert (len(first), len(second)) == (21, 19)
    assert {c.id for c in first} | {c.id for c in second} == {c.id for c in sample.cases}
    one, other = ([c.expect[0].name for c in half if c.expect] for half in (first, second))
    assert all(abs(one.count(tool) - other.count(tool)) <= 1 for tool in sample.tools)
    talks = [Case(str(i), (), None, dialogue=str(i // 3)) for i in range(12)]
    first, second = halves(talks)
    assert not {c.dialogue for c in first} & {c.dialogue for c in second}


def test_too_few_cases_are_refused(folder: Path, capsys: Capture) -> None:
    assert run(folder, folder.parent / "out", "--with", "model:m", "--command", READER) == 2
    assert "4 cases" in capsys.readouterr().err
