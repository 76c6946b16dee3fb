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

from sgdx_tools.__main__ import main
from sgdx_tools.data import Case, ToolSet
from sgdx_tools.demo import SAMPLE
from sgdx_tools.folder import read_tool_set, write_tool_set
from sgdx_tools.improve import halves
from sgdx_tools.renaming import WordedTools

from ..sgdx_llm.server import Json, StandIn, call_completion, completion, serving
from .conftest import CASES, TOOLS, user

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
    return main(["improve", str(folder), *words, "--output", str(output)])


def test_a_weakness_that_is_known_is_mended_and_proved(
    sample: ToolSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
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
    assert main(["reword", str(tmp_path / "api"), *words]) == 0


def test_where_words_are_not_the_cause_nothing_is_proved(
    sample: ToolSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "sample"
    pool: dict[str, Any] = {}
    for i, tool in sample.tools.items():
        elements = tool.elements
        words = {path: {"description": [f"{e.description}!"]} for path, e in elements.items()}
        pool[i] = words.pop("") | {"parameters": words}
    (tmp_path / "pool.json").write_text(json.dumps(pool))
    words_of = ("--with", f"pool:{tmp_path / 'pool.json'}", "--count", "1")
    assert run(folder, tmp_path / "out", *words_of, "--command", READER) == 1
    assert "nothing is proved" in capsys.readouterr().out
    assert not (tmp_path / "out" / "improved.json").exists()


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
    (case, *_) = (c for c in CASES if c.id == "b")
    return [
        replace(case, id=f"c{n}", messages=(user(f"Table for {n}"),),
                expect=(replace(case.expect[0], arguments={"people": n}),))  # type: ignore[index]
        for n in range(2, 22)
    ]  # fmt: skip


def test_a_model_proposes_and_only_what_is_new_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    cases = tables()
    write_tool_set(tmp_path / "api", TOOLS, cases)
    with serving(StandIn(answer=model)) as server:
        words = ("--with", "model:m", "--model", "m", "--base-url", server.url, "--count", "1")
        assert run(tmp_path / "api", tmp_path / "out", *words) == 0
        asked = len(server.bodies)
        assert run(tmp_path / "api", tmp_path / "out", *words) == 0
        calls = [b for b in server.bodies if b["tools"][0]["function"]["name"] != "reword"]
    assert len([b for b in server.bodies[:asked] if b in calls]) == 10 + 20 + 20
    assert len(calls) == 50
    assert "book people: 10 cases" in capsys.readouterr().out


def test_halves_have_whole_dialogues_and_half_of_each_tool(sample: ToolSet) -> None:
    first, second = halves(sample.cases)
    assert (len(first), len(second)) == (21, 19)
    assert {c.id for c in first} | {c.id for c in second} == {c.id for c in sample.cases}
    counts = [
        sorted(case.expect[0].name for case in half if case.expect) for half in (first, second)
    ]
    for tool in sample.tools:
        assert abs(counts[0].count(tool) - counts[1].count(tool)) <= 1
    talks = [Case(str(i), (), None, dialogue=str(i // 3)) for i in range(12)]
    one, other = halves(talks)
    assert not {c.dialogue for c in one} & {c.dialogue for c in other}


def test_a_gain_that_chance_explains_is_not_proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One case of each half is wrong, and right with the new words."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    cases = tables()
    write_tool_set(tmp_path / "api", TOOLS, cases)
    hard = {half[0].messages[0]["content"] for half in halves(cases)}

    def answer(body: Json) -> Json:
        text = body["messages"][-1]["content"]
        if body["tools"][0]["function"]["name"] == "reword" or text in hard:
            return model(body)
        return call_completion("book", json.dumps({"people": int(text.split()[-1])}))

    with serving(StandIn(answer=answer)) as server:
        words = ("--with", "model:m", "--model", "m", "--base-url", server.url, "--count", "1")
        assert run(tmp_path / "api", tmp_path / "out", *words) == 1
    assert "change 10.00 points of 10 cases" in capsys.readouterr().out
    assert not (tmp_path / "out" / "improved.json").exists()


def test_too_few_cases_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, folder.parent / "out", "--with", "model:m", "--command", READER) == 2
    assert "4 cases" in capsys.readouterr().err
