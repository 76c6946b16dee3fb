"""Prediction: what is read, what the batch does to it, and the bias of keeping."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from datasets import Dataset

from baselines.data.dialogues import read_dialogues
from baselines.data.rows import dev_rows, whole_dialogues
from baselines.data.rows import predict as track
from baselines.onepass.system import BIASES, OnePassTracker, TextOnlyTracker, best_keep_bias
from baselines.processes import make_accelerator
from baselines.settings import OnePassOptions
from baselines.task import joint_goal_accuracy
from sgdx_dataset import frames, load
from sgdx_dataset.tracker_inputs import input_columns


@pytest.fixture(scope="module")
def tracker(trained: Path) -> OnePassTracker:
    return OnePassTracker.load(str(trained), OnePassOptions(), make_accelerator())


@pytest.fixture(scope="module")
def rows() -> Dataset:
    rows = frames(load("v2", "test", "sample"))
    return rows.select(range(30))


def test_each_way_of_reading_has_its_own_bias(
    tracker: OnePassTracker, rows: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a model that changes no slot where it reads no acts."""
    dialogues = list(read_dialogues(input_columns(rows, tracker.READS)))
    silent = list(read_dialogues(input_columns(rows, TextOnlyTracker.READS)))
    provenance = msgspec.structs.replace(tracker.provenance, acts="sometimes")
    both = OnePassTracker(
        tracker.model, tracker.tokenizer, provenance, tracker.options, tracker.accelerator
    )
    monkeypatch.setattr(tracker.model.config, "text_keep_bias", 1e6)
    values = [
        [bool(state.values) for dialogue in tracked for state in dialogue]
        for tracked in (both.track_dialogues(silent), both.track_dialogues(dialogues))
    ]
    assert not any(values[0])
    assert any(values[1]) and not values[1][0]  # no first turn has acts


def test_the_score_is_that_of_predicted_states(trained: Path, tmp_path: Path) -> None:
    """With every bias the score is what prediction has with it, and the model stays as it was."""
    tracker = OnePassTracker.load(str(trained), OnePassOptions(), make_accelerator())
    dev = whole_dialogues(dev_rows("sample"), 40)
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
    assert best_keep_bias(lambda bias: 0.5) == (0.0, 0.5)  # the smallest of the best ones
    assert best_keep_bias(lambda bias: -bias) == (-2.0, 2.0)
    assert best_keep_bias(lambda bias: float(abs(bias) == 0.5)) == (-0.5, 1.0)
