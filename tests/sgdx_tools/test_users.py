"""Words of users beside words of tools, and names that a model guesses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sgdx_eval.result import read_result
from sgdx_tools.data import Case, ExpectedCall, Json, Tool
from sgdx_tools.folder import write_project
from sgdx_tools.project import load

from ..sgdx_llm.server import StandIn, call_completion, completion, serving
from .conftest import Capture, command, objects, user

TABLE = Tool("book", "Book a table", objects(city={"type": "string", "description": "Town"}))
# Misses each request of two words, and each tool that is no "table": of both, more than of either.
PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    case, (tool,) = asked["case"], asked["case"]["tools"]
    odd, said = int(case["id"]) % 4, case["messages"][-1]["content"]
    is_wrong = ("Reserve" in tool["description"] and odd == 0) or ("kindly" in said and odd == 1)
    (city,) = tool["parameters"]["properties"]
    arguments = {city: "nowhere" if is_wrong else "Rome"}
    calls = [{"name": tool["name"], "arguments": arguments}]
    print(json.dumps({"custom_id": asked["custom_id"], "calls": calls}))
"""


def model(body: Json) -> Json:
    """Other words for tools, and for requests; of the case 3 without the value that it needs."""
    words = []
    for element in json.loads(body["messages"][1]["content"]):
        text = element.get("description", "")
        new = {"path": element["path"], "description": text.replace("Book", "Reserve") + " please"}
        if "name" in element:
            new["name"] = f"{element['name']}_x"
        elif text.startswith("Rome"):
            number = text.split()[-1]
            new["description"] = "Paris" if number == "3" else f"kindly Rome, {number}"
        words.append(new)
    return call_completion("reword", json.dumps({"elements": words}))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    expect = (ExpectedCall("book", {"city": "Rome"}),)
    cases = [Case(f"{n}", (user(f"Rome {n}"),), expect) for n in range(40)]
    write_project(tmp_path / "api", [TABLE], cases)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def test_words_of_tools_of_users_and_both_in_one_table(place: Path, capsys: Capture) -> None:
    """By a model, or as a person has left them; the gate is about the tools' words alone."""

    def write(**words: object) -> None:
        models = [{"command": f"{sys.executable} program.py", "name": "p"}]
        gate = {"max_drop": 60}
        keys = {"tools": "api", "models": models, "variants": words, "gate": gate}
        Path("sgdx.yaml").write_text(json.dumps(keys))

    with serving(StandIn(answer=model)) as server:
        write(model="m", base_url=server.url, users=True, count=1)
        assert command("test") == 0
        assert len(server.bodies) == 1 + 40
    out, err = capsys.readouterr()
    assert "1 new requests" in err and "review.tsv" in err
    drops = {
        name: figure.value
        for name, figure in read_result(Path("sgdx-run/runs/p")).result.named().items()
        if name.startswith("right_drop")
    }
    assert drops["right_drop"] == drops["right_drop_v1"] == -0.25
    assert (drops["right_drop_users1"], drops["right_drop_both1"]) == (-0.25, -0.5)
    assert "p: passed" in out
    assert command("score", "--format", "text") == 0
    head = next(line for line in capsys.readouterr().out.splitlines() if "users" in line)
    assert head.split()[-2:] == ["users", "both"]
    table = next(Path("sgdx-run").rglob("review.tsv"))
    rows = table.read_text().splitlines()
    assert sum(row.startswith("request ") for row in rows) == 40
    kept = [
        row
        for row in rows
        if not row.startswith("request ") or row.split("\t")[0][8:] in ("1", "2")
    ]
    Path("mine.tsv").write_text("\n".join(kept) + "\n")
    write(review="mine.tsv", count=1)
    project = load(Path("sgdx.yaml"))
    assert list(project.variants) == ["original", "v1", "users1", "both1"]
    assert project.variants["both1"].said == {"1": "kindly Rome, 1", "2": "kindly Rome, 2"}
    assert command("reword", "sgdx.yaml", "--output", "api/variants") == 0
    folder = load(Path("api"))
    assert folder.variants["both1"].digest() == project.variants["both1"].digest()


def test_names_are_those_that_a_model_guesses_most(place: Path, capsys: Capture) -> None:
    """It sees no name; of three guesses the frequent one is taken, and proved as words are."""

    def guess(body: Json) -> Json:
        if body["tools"][0]["function"]["name"] == "reword":
            assert "book" not in body["messages"][1]["content"].replace("Book a", "")
            number = body["seed"]
            names = ["reserve_table" if number < 3 else "other", "city" if number < 3 else "a b"]
            words = [{"path": f"{i}", "name": name} for i, name in enumerate(names)]
            return call_completion("reword", json.dumps({"elements": words}))
        (tool,) = (tool["function"]["name"] for tool in body["tools"])
        if tool == "book":
            return completion({"role": "assistant", "content": "I cannot."}, "stop")
        return call_completion(tool, json.dumps({"city": "Rome"}))

    with serving(StandIn(answer=guess)) as server:
        models = [{"model": "m", "base_url": server.url}]
        keys = {"tools": "api", "models": models, "variants": {"guess": "m", "count": 3}}
        Path("sgdx.yaml").write_text(json.dumps(keys))
        assert command("test") == 0
        assert list(load(Path("sgdx.yaml")).variants["v1"].tools) == ["book"]
        assert command("improve", "--output", "better") == 0, capsys.readouterr()
    improved = json.loads(Path("better/improved.json").read_text())
    assert improved == {"$made_by": "guess:m", "book": {"name": "reserve_table"}}
