"""The report of calls of somebody's own tools."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from baselines.report.inputs import read_inputs
from baselines.report.page import render_html, render_markdown
from baselines.report.sections import build_report
from sgdx_dataset import SgdxError
from sgdx_metric.report import with_digest
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
    assert "<figure>" in render_html(report)


def test_words_of_others_stay_text(run: Path) -> None:
    path = run / "scores.json"
    path.write_text(path.read_text().replace("How many guests", "<script>alert(1)</script>"))
    with pytest.raises(SgdxError, match="was changed after it was scored"):
        read_inputs([run], None, None)
    path.write_text(json.dumps(with_digest(json.loads(path.read_text()))))
    report = build_report(read_inputs([run], None, None), "command")
    assert "<script>alert" not in render_html(report)
    assert "<script>alert" not in render_markdown(report)


def test_scores_that_are_none_are_refused(run: Path) -> None:
    (run / "scores.json").write_text('{"signature": "sgdx_tools|a:b", "calls": {}, "cases": {}}')
    with pytest.raises(SgdxError, match="scores.json: found no metric"):
        read_inputs([run], None, None)
