"""The scores.json of real runs are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgdx_eval.results import read_results, stored

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
    goals = stored(path)["paired"]["joint_goal_accuracy"].values()
    frames = list(zip(*goals, strict=True))
    assert sgdx["jga_worst"] == pytest.approx(sum(map(min, frames)) / len(frames))
    assert sgdx["jga_worst"] == pytest.approx(worst / 100, abs=5e-4)
    assert sgdx["flips"] == sum(min(f) < 0.5 <= max(f) for f in frames) / len(frames)
    assert sgdx["flips"] == pytest.approx(flips / 100, abs=5e-4)


def test_dialogues_of_cases_are_numbered_as_they_were_scored(tmp_path: Path) -> None:
    """So intervals draw the same dialogues; items themselves are sorted by their ids."""
    scores = {"original": [1, 0, 1], "v1": [0, 0, 1]}
    paired = {"case_id": ["b", "c", "a"], "dialogue": ["z", "y", "z"], "call_accuracy": scores}
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({"signature": "sgdx_tools|variants:original+v1", "paired": paired}))
    raw = read_results(path).raw
    assert raw.items.ids.to_pylist() == ["a", "b", "c"]
    assert raw.items.dialogue.tolist() == [0, 0, 1]
    assert raw.metrics["call_accuracy"].tolist() == [[1, 1, 0], [1, 0, 0]]
