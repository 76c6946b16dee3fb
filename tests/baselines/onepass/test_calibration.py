"""The bias of keeping a slot: chosen on predicted states, without a change of the model."""

from __future__ import annotations

from pathlib import Path

from baselines.data.frames import dev_frames, track, whole_dialogues
from baselines.onepass.calibration import BIASES, best_keep_bias
from baselines.onepass.settings import OnePassOptions
from baselines.onepass.tracker import OnePassTracker
from baselines.training.accelerator import make_accelerator
from baselines.training.evaluation import joint_goal_accuracy


def test_the_smallest_of_the_best_biases() -> None:
    assert best_keep_bias(lambda bias: 0.5) == (0.0, 0.5)
    assert best_keep_bias(lambda bias: -bias) == (-1.0, 1.0)
    assert best_keep_bias(lambda bias: float(abs(bias) == 0.5)) == (-0.5, 1.0)


def test_the_score_is_that_of_predicted_states(trained: Path, tmp_path: Path) -> None:
    """With every bias the score is what prediction has with it, and the model stays as it was."""
    tracker = OnePassTracker.load(str(trained), OnePassOptions(), make_accelerator())
    dev = whole_dialogues(dev_frames("sample"), 40)
    before = tracker.model.config.keep_bias
    assert before in BIASES and '"keep_bias"' in (trained / "config.json").read_text()
    evaluation = tracker.dev_score(tracker.model, dev)
    assert tracker.model.config.keep_bias == before
    scores = {}
    for bias in BIASES:
        tracker.model.config.keep_bias = bias
        predicted = track(tracker, dev, tmp_path / str(bias)).rows
        scores[bias] = joint_goal_accuracy(dev, predicted)
    assert evaluation.score == max(scores.values())
    assert scores[evaluation.config["keep_bias"]] == evaluation.score
