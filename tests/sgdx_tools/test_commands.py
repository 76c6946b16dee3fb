"""The commands: asking a program, scoring, explaining, the demo."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from sgdx_eval.result import read_result
from sgdx_metric.result import Result
from sgdx_tools.asking import ToolPlan
from sgdx_tools.folder import read_project
from sgdx_tools.options import AskOptions

from .conftest import CASES, RIGHT, Capture, call, command, read_lines, rows, write_rows

# Answers the first cases with the calls that are right under the variant, backwards and with noise.
REPLAY = """
import json, sys
right = json.load(open("right.json"))
for line in reversed(sys.stdin.readlines()[:int(open("first").read())]):
    request = json.loads(line)
    variant, case, repeat = request["custom_id"].split("|")
    assert request["case"]["id"] == case and request["body"]["messages"]
    print(json.dumps({"custom_id": request["custom_id"], "calls": right[variant][case]}))
print("bye")
"""


@pytest.fixture
def place(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the tools, beside a program that answers."""
    (tmp_path / "right.json").write_text(json.dumps(RIGHT))
    (tmp_path / "replay.py").write_text(REPLAY)
    monkeypatch.chdir(tmp_path)
    return folder


def run(place: Path, *words: object, first: int = 1000) -> int:
    Path("first").write_text(str(first))
    program = f"{sys.executable} replay.py"
    return command("run", place, "--command", program, "--output", "run", *words)


def test_a_program_may_answer_by_the_case_and_a_model_cannot(folder: Path) -> None:
    """Two cases with one conversation are two requests to a program, and one to a model."""
    alike = tuple(msgspec.structs.replace(CASES[1], id=case_id) for case_id in "bx")
    project = msgspec.structs.replace(read_project(folder), cases=alike)
    model = AskOptions(model="m", base_url="http://localhost", variant=["original"])
    for asked, count in ((AskOptions(command="x", variant=["original"]), 2), (model, 1)):
        plan = ToolPlan(project, asked)
        assert len({request.key for request in plan.requests()}) == count


def test_run_and_score_a_program(place: Path, capsys: Capture) -> None:
    assert run(place, "--repeats", "2") == 0
    out, err = capsys.readouterr()
    assert out.split() == [f"run/{name}.jsonl" for name in ("original", "v1", "v2")]
    assert "requests 24, answered 24, strange lines 1" in err
    first, *lines = read_lines(Path("run/v1.jsonl"))
    header = first["metadata"]
    assert header["variant"] == "v1" and header["counts"]["requests"] == 8
    assert header["system"]["repeats"] == 2
    assert lines[0] == {"id": "a", "variant": "v1", "calls": RIGHT["v1"]["a"]}
    assert lines[1]["repeat"] == 2
    words = ("--predictions", "run", "--output", "scores.json")
    assert command("score", place, *words, "--max-drop", "3") == 2  # four cases are too few to tell
    assert capsys.readouterr().out.splitlines()[-1].startswith("cannot tell: ")
    assert read_result(Path("scores.json")).result["call_worst"] == 1.0


def test_a_run_goes_on_where_the_program_stopped_and_with_more_cases(
    place: Path, capsys: Capture
) -> None:
    """And asks again only what a fixed variant changes."""

    def score(*more: str) -> Result:
        words = ("--predictions", "run", "--output", "scores.json", "--json")
        assert command("score", place, *words, *more) == 0
        return read_result(Path("scores.json")).result

    assert run(place, "--limit", "2", first=4) == 1
    assert "2 answers are missing (v1 1, v2 1)" in capsys.readouterr().err
    assert not [*Path("run").glob("v*.jsonl")]
    assert run(place, "--limit", "2") == 0
    assert "cached 4, requests 2, answered 2" in capsys.readouterr().err
    assert command("score", place, "--predictions", "run") == 2
    first = score("--limit", "2")
    assert first.counts["cases"] == {"all": 2, "call": 2, "no_call": 0, "dialogues": 2}
    assert run(place) == 0
    assert "cached 6, requests 6, answered 6" in capsys.readouterr().err
    assert score().counts["cases"]["all"] == 4
    again = score("--limit", "2")
    assert (again.figures, again.signature) == (first.figures, first.signature)
    assert run(place, first=0) == 0  # nothing is left to do
    variant = place / "variants" / "v1.json"
    variant.write_text(variant.read_text().replace("Reserve a table", "Keep a table"))
    assert run(place) == 0
    assert "requests 4, answered 4" in capsys.readouterr().err


def test_estimate_sends_nothing(folder: Path, capsys: Capture) -> None:
    assert command("run", folder, "--model", "m", "--estimate") == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    counts = {row[0]: int(row[1]) for row in rows if row[:1] and row[0] in ("original", "v1", "v2")}
    assert counts == {"original": 4, "v1": 4, "v2": 4}


def test_explain_lists_lost_cases_and_shows_one(
    folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    predictions = rows([("v1", "b", call("reserve", guests=3))])
    for row in predictions:
        if (row["id"], row["variant"]) == ("b", "v2"):
            row |= {"calls": [], "unread": True, "said": "<tool_call>{\x1b"}
    run = write_rows(tmp_path / "run", predictions)

    def explained(*words: str) -> list[str]:
        assert command("explain", folder, "--predictions", run, *words) == 0
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
    assert command("score", folder, "--predictions", run, "--explain") == 0
    assert "no call in place of" not in capsys.readouterr().out


def test_the_demo_shows_a_drop_its_cause_and_its_fix(tmp_path: Path, capsys: Capture) -> None:
    assert command("demo", "--output", tmp_path / "demo") == 0
    out = capsys.readouterr().out
    assert "v1 book_table date: lost 5 of 5" in out
    assert "chance of 170 that were looked at" in out  # none of which is surely at fault
    assert "failed: other words cost 51.50 points" in out
    assert "the share of right cases falls from 90.0 to 38.5 %" in " ".join(out.split())
    assert "v2: -45.00 points of right cases" in out
    assert "v2-fixed: 0.00 points of right cases" in out
