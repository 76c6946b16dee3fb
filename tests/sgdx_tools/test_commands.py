"""The commands: asking a program, scoring, explaining, the demo."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sgdx_tools.__main__ import main
from sgdx_tools.asking import ToolPlan
from sgdx_tools.data import Json
from sgdx_tools.folder import read_tool_set
from sgdx_tools.options import AskOptions

from .conftest import CASES, RIGHT, Rows, rows

# Answers the first cases with the calls that are right under the variant, backwards and with noise.
REPLAY = """
import json, sys
right = json.load(open({right!r}))
for line in reversed(sys.stdin.readlines()[:{first}]):
    request = json.loads(line)
    variant, case, repeat = request["custom_id"].split("|")
    assert request["case"]["id"] == case and request["body"]["messages"]
    print(json.dumps({{"custom_id": request["custom_id"], "calls": right[variant][case]}}))
print("bye")
"""
Asks = Callable[..., list[str]]


@pytest.fixture
def run_of(folder: Path, tmp_path: Path) -> Asks:
    """Gives the arguments of a run in which a program answers so many requests at most."""
    (tmp_path / "right.json").write_text(json.dumps(RIGHT))

    def arguments(first: int = 1000) -> list[str]:
        script = tmp_path / "replay.py"
        script.write_text(REPLAY.format(right=str(tmp_path / "right.json"), first=first))
        program = f"{sys.executable} {script}"
        return ["run", str(folder), "--command", program, "--output", str(tmp_path / "run")]

    return arguments


def test_a_program_may_answer_by_the_case_and_a_model_cannot(folder: Path) -> None:
    """Two cases with one conversation are two requests to a program, and one to a model."""
    alike = tuple(msgspec.structs.replace(CASES[1], id=case_id) for case_id in "bx")
    tool_set = msgspec.structs.replace(read_tool_set(folder), cases=alike)
    model = AskOptions(model="m", base_url="http://localhost", variant=["original"])
    for asked, count in ((AskOptions(command="x", variant=["original"]), 2), (model, 1)):
        plan = ToolPlan(tool_set, asked)
        assert len({request.key for request in plan.requests()}) == count


def test_what_is_read_is_not_written_over(folder: Path, write_rows: Callable[[Rows], Path]) -> None:
    run = write_rows(rows())
    for name in ("tools.json", "cases.jsonl", "variants/v1.json", "../run/v1.jsonl"):
        before = (folder / name).read_bytes()
        output = ["--predictions", str(run), "--output", str(folder / name)]
        for command in ("score", "report"):
            assert main([command, str(folder), *output]) == 2
        assert (folder / name).read_bytes() == before


def test_run_and_score_a_program(
    folder: Path, tmp_path: Path, run_of: Asks, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "run"
    assert main([*run_of(), "--repeats", "2"]) == 0
    out, err = capsys.readouterr()
    assert out.split() == [str(output / f"{name}.jsonl") for name in ("original", "v1", "v2")]
    assert "requests 24, answered 24, strange lines 1" in err
    first, *lines = (output / "v1.jsonl").read_text().splitlines()
    header = json.loads(first)["metadata"]
    assert header["variant"] == "v1"
    assert (header["system"]["repeats"], header["system"]["distractors"]) == (2, 0)
    assert header["counts"]["requests"] == 8
    assert json.loads(lines[0]) == {"id": "a", "variant": "v1", "calls": RIGHT["v1"]["a"]}
    assert json.loads(lines[1])["repeat"] == 2
    scores = tmp_path / "scores.json"
    arguments = ["score", str(folder), "--predictions", str(output), "--output", str(scores)]
    assert main([*arguments, "--max-drop", "3"]) == 2  # four cases are too few to tell
    assert capsys.readouterr().out.splitlines()[-1].startswith("cannot tell: ")
    assert json.loads(scores.read_text())["calls"]["call_accuracy"]["worst"] == 1.0


def test_a_program_that_answers_something_else_is_told_by_its_first_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["run", str(folder), "--command", f"{sys.executable} -m this", "--output"]
    assert main([*run, str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert "'The Zen of Python, by Tim Peters'" in error and "custom_id" in error


def test_a_run_goes_on_where_the_program_stopped(
    folder: Path, tmp_path: Path, run_of: Asks, capsys: pytest.CaptureFixture[str]
) -> None:
    """And asks again only what a fixed variant changes."""
    assert main(run_of(first=5)) == 1
    assert "7 answers are missing (original 2, v1 2, v2 3)" in capsys.readouterr().err
    assert not list((tmp_path / "run").glob("v*.jsonl"))
    assert main(run_of(first=5)) == 1  # it answers five more
    assert "cached 5, requests 7, answered 5" in capsys.readouterr().err
    assert main(run_of(first=5)) == 0
    assert main(run_of()) == 0  # nothing is left to do
    assert "sent" not in capsys.readouterr().err.splitlines()[-1]
    variant = folder / "variants" / "v1.json"
    variant.write_text(variant.read_text().replace("Reserve a table", "Keep a table"))
    assert main(run_of()) == 0
    assert "requests 4, answered 4" in capsys.readouterr().err


def test_distractors_are_the_same_under_every_variant(folder: Path) -> None:
    own = {"a": ("book", "weather"), "c": ("weather",)}
    cases = tuple(msgspec.structs.replace(c, tools=own[c.id]) for c in CASES if c.id in own)
    tool_set = msgspec.structs.replace(read_tool_set(folder), cases=cases)
    requests = list(ToolPlan(tool_set, AskOptions(command="x", distractors=1)).requests())
    tools = {r.custom_id: [t["name"] for t in r.shown["case"]["tools"]] for r in requests}
    assert sorted(tools["original|a|1"]) == ["book", "ping", "weather"]
    assert [{"reserve": "book"}.get(n, n) for n in tools["v1|a|1"]] == tools["original|a|1"]
    assert len(tools["original|c|1"]) == 2 and "weather" in tools["original|c|1"]
    (first, *_) = requests
    assert first.body["tools"][0]["function"] == first.shown["case"]["tools"][0]


def test_estimate_sends_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", str(folder), "--model", "m", "--json"]) == 0
    estimates = json.loads(capsys.readouterr().out)
    assert [e["variant"] for e in estimates] == ["original", "v1", "v2"]
    assert {e["requests"] for e in estimates} == {4}
    assert all(e["tokens_in"] > e["tokens_out"] > 0 for e in estimates)


def test_only_the_first_cases_are_asked_and_scored(
    folder: Path, tmp_path: Path, run_of: Asks, capsys: pytest.CaptureFixture[str]
) -> None:
    def score(*more: str) -> Json:
        file = tmp_path / "scores.json"
        run = ["--predictions", str(tmp_path / "run"), "--output", str(file), "--quiet"]
        assert main(["score", str(folder), *run, *more]) == 0
        content: Json = json.loads(file.read_text())
        return content

    assert main([*run_of(), "--limit", "2"]) == 0
    assert "requests 6, answered 6" in capsys.readouterr().err
    assert main(["score", str(folder), "--predictions", str(tmp_path / "run")]) == 2
    first = score("--limit", "2")
    assert first["cases"] == {"all": 2, "call": 2, "no_call": 0, "dialogues": 2}
    assert main(run_of()) == 0
    assert "cached 6, requests 6, answered 6" in capsys.readouterr().err
    assert score()["cases"]["all"] == 4
    first_of_all = score("--limit", "2")
    assert first_of_all["calls"] == first["calls"]
    assert first_of_all["signature"] == first["signature"]


def test_explain_lists_lost_cases_and_shows_one(
    folder: Path, write_rows: Callable[[Rows], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    predictions = rows([("v1", "b", [{"name": "reserve", "arguments": {"guests": 3}}])])
    for row in predictions:
        if (row["id"], row["variant"]) == ("b", "v2"):
            row |= {"calls": [], "unread": True, "said": "<tool_call>{\x1b"}
    run = str(write_rows(predictions))

    def explained(*words: str) -> list[str]:
        assert main(["explain", str(folder), "--predictions", run, *words]) == 0
        return capsys.readouterr().out.splitlines()

    assert explained("lost") == [
        "1 cases are right under original and wrong under other words",
        "b: v1 v2 (unread)",
    ]
    assert explained("b", "--variant", "v1") == [
        "case b",
        "  user: Two",
        "",
        "original: right",
        '  expected: book({"people": 2})',
        '  called:   book({"people": 2})',
        "",
        "v1: wrong",
        '  expected: reserve({"guests": 2})',
        '  called:   reserve({"guests": 3})',
        "  found 3, expected 2: guests",
        "  words of book people: 'people' -> 'guests', 'How many come' -> 'How many guests'",
    ]
    said = "\n".join(explained("b", "--variant", "v2")).partition("v2: unread")[2]
    assert "<tool_call>{" in said and "no call" not in said and "\x1b" not in said
    assert main(["score", str(folder), "--predictions", run, "--explain"]) == 0
    assert "no call in place of" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ("run FOLDER --output x", ["--model", "--command"]),
        ("run nowhere --command cat --output x", ["nowhere"]),
        ("run FOLDER --command cat --variant v8 --output x", ["--variant v8"]),
        ("run FOLDER --command cat --distractors 2 --output x", ["--distractors 2"]),
        ("score FOLDER --predictions nowhere", ["nowhere"]),
        ("score FOLDER --predictions FOLDER --max-drop 101", ["--max-drop", "101"]),
        ("explain FOLDER --predictions RUN zz", ["zz"]),
        ("import --mcp missing.json --output x", ["missing.json"]),
        ("import --mcp FOLDER/tools.json --answers a.json --output x", ["--answers", "--bfcl"]),
        ("import --mcp FOLDER/tools.json --output FOLDER", ["FOLDER"]),
        ("import --sgd v7 --source sample --output x", ["v7"]),
        ("demo --output FOLDER", ["FOLDER"]),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    folder: Path,
    write_rows: Callable[[Rows], Path],
    arguments: str,
    facts: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    run = write_rows(rows())
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    arguments = arguments.replace("FOLDER", str(folder)).replace("RUN", str(run))
    assert main(arguments.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("sgdx: error: ") and error.count("\n") == 1
    assert all(fact.replace("FOLDER", str(folder)) in error for fact in facts), error
    assert files == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_the_demo_shows_a_drop_its_cause_and_its_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--output", str(tmp_path / "demo")]) == 0
    out = capsys.readouterr().out
    assert "v1 book_table date: lost 5 of 5" in out
    assert "failed: other words cost 51.50 points" in out
    assert "38.50 % of the cases are right under other words, 90.00 % under" in out
    assert "v2: -51.43 points of call accuracy" in out
    assert "v2-fixed: 0.00 points of call accuracy" in out
