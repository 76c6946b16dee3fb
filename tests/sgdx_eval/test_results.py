"""The scores.json of real runs are read."""

from __future__ import annotations

import json

import pytest

from sgdx_eval.results import read_results

from ..conftest import ROOT


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
    sgdx = read_results(path).sample().values()
    goals = json.loads(path.read_text())["paired"]["joint_goal_accuracy"].values()
    frames = list(zip(*goals, strict=True))
    assert sgdx["jga_worst"] == pytest.approx(sum(map(min, frames)) / len(frames))
    assert sgdx["jga_worst"] == pytest.approx(worst / 100, abs=5e-4)
    assert sgdx["flips"] == sum(min(f) < 0.5 <= max(f) for f in frames) / len(frames)
    assert sgdx["flips"] == pytest.approx(flips / 100, abs=5e-4)
