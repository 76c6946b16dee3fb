"""Prediction: what is read, what the batch does to it, and the bias of keeping."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from datasets import Dataset

from baselines.data.dialogues import read_dialogues
from baselines.data.rows import dev_rows, whole_dialogues
from baselines.onepass.system import BIASES, OnePassTracker
from baselines.predicting import predict as track
from baselines.tracker import joint_goal_accuracy
from sgdx_dataset import frames, load
from sgdx_dataset.tracker_inputs import input_columns


@pytest.fixture(scope="module")
def tracker(trained: Path) -> OnePassTracker:
    return OnePassTracker.from_pretrained(trained)


@pytest.fixture(scope="module")
def rows() -> Dataset:
    rows = frames(load("v2", "test", "sample"))
    return rows.select(range(30))


def test_each_way_of_reading_has_its_own_bias(
    tracker: OnePassTracker, rows: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a model that changes no slot where it reads no acts."""
    dialogues = list(read_dialogues(input_columns(rows, tracker.READS)))
    silent = list(read_dialogues(input_columns(rows, tracker.READS[:3])))
    monkeypatch.setattr(tracker, "seen", msgspec.structs.replace(tracker.seen, acts="sometimes"))
    monkeypatch.setattr(tracker.config, "text_keep_bias", 1e6)
    values = [
        [bool(state.values) for dialogue in tracked for state in dialogue]
        for tracked in (tracker.track_dialogues(silent), tracker.track_dialogues(dialogues))
    ]
    assert not any(values[0])
    assert any(values[1]) and not values[1][0]  # no first turn has acts


def test_the_score_is_that_of_predicted_states(trained: Path) -> None:
    """With every bias the score is what prediction has with it, and the model stays as it was."""
    tracker = OnePassTracker.from_pretrained(trained)
    dev = whole_dialogues(dev_rows("sample"), 40)
    before = tracker.config.keep_bias
    assert before in BIASES and '"keep_bias"' in (trained / "config.json").read_text()
    evaluation = tracker.score(dev, list)
    assert tracker.config.keep_bias == before
    scores = {}
    for bias in BIASES:
        tracker.config.keep_bias = bias
        predicted = track(tracker, dev).rows
        scores[bias] = joint_goal_accuracy(dev, predicted)
    assert evaluation.score == max(scores.values())
    best = [bias for bias in BIASES if scores[bias] == evaluation.score]
    assert evaluation.config["keep_bias"] == best[0]  # the smallest
