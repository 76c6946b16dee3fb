"""The report of calls of somebody's own tools."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from sgdx_dataset import SgdxError, frame_tables, open_release
from sgdx_eval.report.inputs import read_inputs
from sgdx_eval.report.page import render_html, render_markdown
from sgdx_eval.report.sections import build_report
from sgdx_eval.report.tools.runs import ToolRun, read_tool_run
from sgdx_eval.report.tools.sections import tool_verdict
from sgdx_metric.__main__ import main as metric
from sgdx_tools import score
from sgdx_tools.folder import write_tool_set, write_wording

from ...sgdx_tools.conftest import CASES, TOOLS, V1, V2, rows


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with a case that v1 costs, and a second run under the original that differs."""
    write_tool_set(tmp_path / "api", TOOLS, CASES)
    for wording in (V1, V2):
        write_wording(tmp_path / "api" / "wordings" / f"{wording.name}.json", wording)
    wrong = [{"name": "reserve", "arguments": {"guests": "<b>3</b>"}}]
    predictions = rows([("v1", "b", wrong)])
    again = [{**row, "repeat": 2} for row in rows([("v1", "b", wrong), ("original", "a", [])])]
    scores = score(tmp_path / "api", [*predictions, *again])
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "scores.json").write_bytes(msgspec.json.encode(scores))
    return tmp_path / "run"


def test_the_report_has_the_cost_the_noise_and_the_words(run: Path) -> None:
    report = build_report(read_inputs([run], None, None), "command")
    assert report.title == "Calls of tools under reworded schemas"
    assert [section.title for section in report.parts[0].sections] == [
        "What rewording costs",
        "Noise",
        "The words that did it",
    ]
    assert [picture.name for picture in report.pictures()] == ["tool_wordings_1"]
    text = render_markdown(report)
    assert "| v1 | 66.7 | -16.7 " in text
    assert "| original | 2 | 33.3 |" in text
    assert "| book people | v1 | people (How many come) | guests (How many guests) |" in text
    assert "**Reworded by model:m+unknown.**" in text
    assert "sgdx\\_tools" in text or "sgdx_tools|variants:original+v1@" in text
    assert "<figure" in render_html(report)
    (part,) = report.parts
    assert part.verdict is not None
    first, lowest = part.verdict.sentences
    assert "83.3 % call accuracy under the original words" in first.text
    assert lowest.text == "It is lowest under v1: -16.7"
    assert [words[:3] for words in part.verdict.costly] == [("book people, v1", "people", "guests")]


def test_a_drop_is_said_only_of_what_falls_and_unread_answers_once(run: Path) -> None:
    scores = read_tool_run(run, run / "scores.json").scores
    figures = scores.calls["call_accuracy"]
    differences = {
        name: replace(change, difference=0.0) for name, change in figures.differences.items()
    }
    calls = {**scores.calls, "call_accuracy": replace(figures, differences=differences)}
    level = ToolRun(run, replace(scores, calls=calls, invalid={"v1": 2, "v2": 0, "v3": 1}))
    verdict = tool_verdict(level)
    assert verdict is not None
    assert verdict.sentences[1].text == "It is lower under none of the other wordings"
    assert level.caveats[-1] == "answers that could not be read: 2 under v1, 1 under v3"


def test_a_program_goes_by_its_name(run: Path) -> None:
    path = run / "scores.json"
    scores = json.loads(path.read_text())
    for model, name in (
        ("/opt/venv/bin/python -m my.reader", "python -m my.reader"),
        ("org/model", "org/model"),
    ):
        scores["predictions"] = {"original": {"system": {"model": model}}}
        path.write_text(json.dumps(scores))
        assert read_inputs([run], None, None).tools[0].name == name


def test_words_of_others_stay_text(run: Path) -> None:
    path = run / "scores.json"
    path.write_text(path.read_text().replace("How many guests", "<script>alert(1)</script>"))
    report = build_report(read_inputs([run], None, None), "command")
    assert "<script>alert" not in render_html(report)
    assert "<script>alert" not in render_markdown(report)


def test_scores_that_are_none_are_refused(run: Path) -> None:
    (run / "scores.json").write_text('{"signature": "sgdx_tools|a:b", "calls": {}, "cases": {}}')
    with pytest.raises(SgdxError, match="scores.json: found no metric"):
        read_inputs([run], None, None)


def test_calls_of_sgd_have_the_same_report(tmp_path: Path) -> None:
    """As ``sgdx_metric calls`` writes them; of the sample, v3 alone has wrong calls."""
    release = open_release("sample")
    for variant in ("original", "v3"):
        table = frame_tables(release, "test", variant, ["frame_id", "service", "service_call"])
        lines = []
        for number, row in enumerate(row for row in table.to_pylist() if row["service_call"]):
            call = {**row["service_call"], "service": row["service"]}
            wrong = {"method": "Other"} if variant == "v3" and number < 10 else {}
            identity = {"frame_id": row["frame_id"], "variant": variant}
            lines.append(json.dumps({**identity, "service_call": {**call, **wrong}}))
        (tmp_path / f"{variant}.jsonl").write_text("\n".join(lines))
    scores = tmp_path / "calls.json"
    words = ["calls", "--source", "sample", "--predictions", str(tmp_path), "--output", str(scores)]
    assert metric(words) == 0
    report = build_report(read_inputs([scores], None, None), "command")
    page = render_html(report)
    assert "73 calls of SGD in 36 dialogues" in page
    text = render_markdown(report)
    assert "The small sample corpus, not SGD" in text
    assert "-13.7" in page  # ten of the 73 calls
    assert "| Calls, service by service |" in text or "Calls, service by service" in text
    assert "| call, unseen services |" in text and "Task, wording by wording" in text
    assert "precision" not in text  # No turn was predicted that no call follows.
    figures = json.loads(scores.read_text())
    figures["decision"] = {"original": {"precision": 0.5, "recall": 0.25}, "v3": None}
    scores.write_text(json.dumps(figures))
    text = render_markdown(build_report(read_inputs([scores], None, None), "command"))
    assert "| original | 100.0 |  |  | 50.0 | 25.0 |" in text
