"""A scores.json is read; what an earlier version did not write is computed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sgdx_metric.cli.results import read_results

from ...conftest import ROOT
from .test_summarise import RUNS, scores_json

NEW = ("jga_worst", "flips")


def older(path: Path) -> Path:
    """The same file as it was before there were a worst case and flips."""
    scores: dict[str, Any] = json.loads(path.read_text())
    sgdx = scores["sgdx"]
    for group in (sgdx, sgdx["seen"], sgdx["unseen"], *sgdx["by_service"].values()):
        for key in NEW:
            del group[key]
            group.get("confidence", {}).pop(key, None)
    copy = path.with_name(f"older-{path.name}")
    copy.write_text(json.dumps(scores))
    return copy


def test_the_worst_case_of_an_older_file_is_computed(tmp_path: Path) -> None:
    path = scores_json(tmp_path / "scores.json", RUNS[0])
    old, new = (read_results(file).scores.sgdx for file in (older(path), path))
    assert old == new
    assert (old.jga_worst, old.flips) == (0, 0.75)
    assert (old.seen.jga_worst, old.seen.flips) == (0, 0.5)
    assert old.by_service["Banks_2"].flips == 1 and old.unseen.confidence["flips"] == (1, 1)


def test_an_older_file_without_all_six_wordings_has_no_worst_case(tmp_path: Path) -> None:
    scores = json.loads(scores_json(tmp_path / "scores.json", RUNS[0]).read_text())
    for part in (scores["variants"], scores["paired"]["joint_goal_accuracy"]):
        del part["v5"]
    del scores["paired"]["joint_change_accuracy"]
    scores["signature"] = scores["signature"].replace("+v5", "")
    del scores["sgdx"]["confidence"]["jga_worst"], scores["sgdx"]["jga_worst"]
    del scores["sgdx"]["by_variant"]["v5"]
    sgdx = scores["sgdx"]
    for group in (sgdx, sgdx["seen"], sgdx["unseen"], *sgdx["by_service"].values()):
        group |= {"jga_v1-5": None, "relative_difference": None, "ss_jga": 0}  # v5 alone differed
        group |= {"change_orig": None, "change_v1-5": None}
    (tmp_path / "five.json").write_text(json.dumps(scores))
    read = read_results(tmp_path / "five.json").scores.sgdx
    assert read.jga_worst is None and read.confidence["jga_worst"] is None


@pytest.mark.parametrize(
    ("run", "worst", "flips"),
    [
        ("lexical", 27.8, 14.1),
        ("onepass-minilm_cpu", 34.9, 41.8),
        ("onepass-minilm_all", 40.7, 37.1),
    ],
)
def test_results_of_the_project(run: str, worst: float, flips: float) -> None:
    """Scores of real runs, held against the plain minimum of what each frame scores."""
    path = ROOT / "results" / run / "scores.json"
    sgdx = read_results(path).scores.sgdx
    goals = json.loads(path.read_text())["paired"]["joint_goal_accuracy"].values()
    frames = list(zip(*goals, strict=True))
    assert sgdx.jga_worst == pytest.approx(sum(map(min, frames)) / len(frames))
    assert sgdx.jga_worst == pytest.approx(worst / 100, abs=5e-4)
    assert sgdx.flips == sum(min(f) < 0.5 <= max(f) for f in frames) / len(frames)
    assert sgdx.flips == pytest.approx(flips / 100, abs=5e-4)
