"""A run of calls becomes a row of the leaderboard's table of calls, which is checked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from baselines.report import __main__ as report
from baselines.report.call_leaderboard import parse_call_rows, read_call_rows, render_calls
from sgdx_dataset import SgdxError
from sgdx_metric.calls import CALL_METRICS, CallScores, report_calls
from sgdx_metric.cli.files import write_scores
from sgdx_metric.report import paired, with_digest
from sgdx_metric.signature import Setup

from ..conftest import command

# The first two calls are of a seen service. The second is wrong under v1, the third under all.
FRAMES = ["a/0/Cabs_1", "a/2/Cabs_1", "b/0/Zoos_1", "c/0/Zoos_1"]
RIGHT = {"original": [1, 1, 0, 1], "v1": [1, 0, 0, 1]}
VARIANTS = ("original", "v1", "v2", "v3", "v4", "v5")


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """The scores of calls in three dialogues of the sample, under all six wordings."""
    variants = {
        name: CallScores(
            pa.array(FRAMES),
            np.array([True, True, False, False]),
            dict.fromkeys(CALL_METRICS, np.array(RIGHT.get(name, RIGHT["original"]), dtype=float)),
            {"precision": 0.5, "recall": 1.0 if name == "v1" else 0.7},
        )
        for name in VARIANTS
    }
    setup = Setup("test", "sample", predictions="verified")
    predictions = {
        name: {"model": "gpt-x", "tracker": "llm", "distractors": 5, "sha256": name}
        for name in VARIANTS
    }
    content = report_calls(variants, 3, setup) | {"predictions": predictions}
    path = tmp_path / "calls-of-x.json"
    write_scores(with_digest(content | {"paired": paired(variants, CALL_METRICS)}), path)
    return path


def test_a_run_of_calls_becomes_a_row(
    scores: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    board = tmp_path / "board"
    arguments = (scores, "--leaderboard", "--output", board)
    assert command(monkeypatch, report, *arguments) == 0
    (row,) = read_call_rows(board / "leaderboard_calls.toml")
    # Of four calls three are right, and two under v1: 75, and (50 + 4 * 75) / 5 = 70.
    assert (row.all.calls_orig, row.all.calls_v1_5, row.all.drop) == (75, 70, -5)
    assert (row.all.calls_worst, row.all.calls_flips) == (50, 25)
    # The tasks of a and c are right; under v1 c's alone.
    assert (row.all.tasks_orig, row.all.tasks_worst) == (66.6667, 33.3333)
    assert (row.all.precision, row.all.recall) == (50, 75)
    assert row.seen is not None and row.seen.calls_v1_5 == 90 and row.seen.precision is None
    assert row.scores == [json.loads(scores.read_text())["sha256"]]
    assert row.command == (
        "python -m baselines.llm predict --task calls --model gpt-x --base-url URL --distractors 5 "
        "--source sample --output outputs/calls-of-x"
    )
    page = (board / "leaderboard.md").read_text()
    assert "## Calls\n" in page and page.index("## Published") < page.index("## Calls")
    low, high = row.all.drop_low, row.all.drop_high
    assert low is not None and high is not None
    assert (
        f"| gpt-x (1) | 75.0 | 70.0 | -5.0 ({low:.1f} to {high + 0.0:.1f}) | 50.0 | 25.0 | 66.7 | "
        "60.0 | 33.3 | 50.0 | 75.0 | 90.0 | 50.0 |  |"
    ) in page
    assert "### On the small sample corpus, not SGD; only 4 calls" in page
    text = (board / "leaderboard_calls.toml").read_text()
    assert command(monkeypatch, report, *arguments) == 2
    assert "leaderboard_calls.toml: row 2 (gpt-x): appears twice" in capsys.readouterr().err
    assert (board / "leaderboard_calls.toml").read_text() == text


def test_rows_with_a_fault(scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command(monkeypatch, report, scores, "--leaderboard", "--output", tmp_path / "b") == 0
    lines = (tmp_path / "b" / "leaderboard_calls.toml").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("sha256"))
    for old, new, message in (
        ("calls_worst = 50.0", "calls_worst = 71.0", r"calls_worst is 71.0, expected at most 70.0"),
        ("drop = -5.0", "drop = -4.0", r"drop is -4.0, expected -5.0"),
        ("drop = -5.0, ", "", "all: expected calls_orig, calls_v1-5 and drop"),
        ("|task:calls", "", "task is 'not there' in the signature, expected 'calls'"),
        ("split:test", "split:validation", "split is 'validation' in the signature"),
    ):
        assert old in text
        with pytest.raises(SgdxError, match=message):
            parse_call_rows(text.replace(old, new).encode(), "b.toml")
    changed = "\n".join(lines).replace("calls_flips = 25.0", "calls_flips = 2.0")
    with pytest.raises(SgdxError, match=r"row 1 \(gpt-x\): was changed after it was added"):
        parse_call_rows(changed.encode(), "b.toml")
    assert render_calls([]).endswith("No row yet.\n")


def test_calls_without_single_scores_are_no_row(
    scores: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    content = json.loads(scores.read_text())
    del content["paired"]
    scores.write_text(json.dumps(with_digest(content)))
    assert command(monkeypatch, report, scores, "--leaderboard", "--output", tmp_path / "b") == 2
    assert "found no scores of single calls of SGD" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()
