"""The report of calls of somebody's own tools, and of SGD's services."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from sgdx_dataset import frame_tables, open_release
from sgdx_eval.report.inputs import read_inputs
from sgdx_eval.report.page import Report, render_html, render_markdown
from sgdx_eval.report.sections import build_report
from sgdx_eval.tables import Cell
from sgdx_metric.__main__ import main as metric
from sgdx_tools import score
from sgdx_tools.folder import write_tool_set, write_variant

from ...sgdx_tools.conftest import CASES, TOOLS, V1, V2, rows


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with a case that v1 costs, and a second run under the original that differs."""
    write_tool_set(tmp_path / "api", TOOLS, CASES)
    for variant in (V1, V2):
        write_variant(tmp_path / "api" / "variants" / f"{variant.name}.json", variant)
    wrong = [{"name": "reserve", "arguments": {"guests": "<b>3</b>"}}]
    predictions = rows([("v1", "b", wrong)])
    again = [{**row, "repeat": 2} for row in rows([("v1", "b", wrong), ("original", "a", [])])]
    scores = score(tmp_path / "api", [*predictions, *again])
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "scores.json").write_bytes(msgspec.json.encode(scores))
    return tmp_path / "run"


def report_of(path: Path) -> Report:
    return build_report(read_inputs([path]), "command")


def test_the_report_has_the_cost_and_the_words(run: Path) -> None:
    report, scores = report_of(run), json.loads((run / "scores.json").read_text())
    (part,) = report.parts
    assert [section.name for section in part.sections] == ["comparison", "turns"]
    comparison, by_variant = part.sections[0].tables
    calls = scores["calls"]["call_accuracy"]
    (row,) = (row for row in comparison.rows if row[1].text == "call")
    titles = [column.name for column in comparison.columns]
    for key in ("original", "reworded", "worst", "flips", "sensitivity"):
        low, high = calls["confidence"][key]
        expected = Cell(f"{100 * calls[key]:.1f}", f"{100 * low:.1f} to {100 * high:.1f}")
        assert row[titles.index(key)] == expected
    assert row[titles.index("drop")].text == f"{100 * calls['drop']:+.1f}"
    assert [cell.text for cell in by_variant.rows[1][1:4]] == ["v1", "66.7", "-16.7"]
    text = render_markdown(report)
    assert "eworded by model:m+unknown" in text
    assert "sgdx_tools|variants:original+v1@" in text and "<figure" in render_html(report)
    assert part.verdict is not None
    lead, cost, lowest, *_ = part.verdict.sentences
    assert f"{100 * calls['reworded']:.1f} % call accuracy" in lead.text
    assert "83.3 % under the original" in cost.text and "v1: 66.7 %" in lowest.text
    assert [words[:3] for words in part.verdict.costly] == [("book people, v1", "people", "guests")]


def test_answers_that_could_not_be_read_are_said(run: Path) -> None:
    path = run / "scores.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"unread": {"v1": 2, "v3": 1}}))
    (group,) = read_inputs([run]).groups
    assert group.systems[0].caveats[-1].endswith("2 under v1, 1 under v3")


def test_calls_of_sgd_have_the_same_report(tmp_path: Path) -> None:
    """As ``sgdx score`` writes them; of the sample, v3 alone has wrong calls."""
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
    path = tmp_path / "calls.json"
    words = ["score", "--source", "sample", "--predictions", str(tmp_path), "--output", str(path)]
    assert metric(words) == 0
    report = report_of(path)
    text = render_markdown(report)
    assert "73 calls of SGD in 36 dialogues" in text and "-13.7" in text  # ten of the 73 calls
    assert (
        "The small sample corpus, not SGD" in text and "| calls | call, unseen services |" in text
    )
    assert "precision |" not in text  # No turn was predicted that no call follows.
    assert {"services", "turns"} < {section.name for section in report.parts[0].sections}
    scores = json.loads(path.read_text())
    scores["decision"] = {"original": {"precision": 0.5, "recall": 0.25}, "v3": None}
    path.write_text(json.dumps(scores))
    (table,) = next(s for s in report_of(path).parts[0].sections if s.name == "more").tables
    assert [column.name for column in table.columns] == ["variant", "task", "precision", "recall"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["original", "100.00", "50.00", "25.00"], ["v3", "83.33", "–", "–"]
    ]  # fmt: skip


def test_cases_that_expect_no_call_are_read_compared_and_reported(tmp_path: Path) -> None:
    """Where no case expects a call, the cases are judged by whether none is made."""
    api = tmp_path / "api"
    write_tool_set(api, TOOLS, [case for case in CASES if case.id == "d"])
    write_variant(api / "variants" / "v1.json", V1)
    called = [{"name": "ping", "arguments": {}}]
    for name, made in (("right", []), ("wrong", called)):
        predictions = [row for row in rows([("v1", "d", made)]) if row["id"] == "d"]
        scores = score(api, [row for row in predictions if row["variant"] != "v2"])
        (tmp_path / f"{name}.json").write_bytes(msgspec.json.encode(scores))
    paths = [str(tmp_path / f"{name}.json") for name in ("right", "wrong")]
    assert metric(["compare", *paths, "--json", str(tmp_path / "compared.json")]) == 0
    compared = json.loads((tmp_path / "compared.json").read_text())["groups"]["all"]
    assert compared["no_call_accuracy.reworded"]["difference"] == -1
    report = report_of(tmp_path / "wrong.json")
    assert "1 cases: 1 expect none." in report.parts[0].sections[0].text
    assert report.parts[0].verdict is not None
    lead = report.parts[0].verdict.sentences[0]
    assert lead.text == "wrong: 0.0 % no call accuracy under other words"
