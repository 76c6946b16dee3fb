"""Tracking with right answers: the upper bound of the rules, and how often is asked."""

from __future__ import annotations

from typing import Any

import pytest

from baselines.data.dialogues import prediction_rows, read_dialogues
from baselines.sgp_dst import rules as tracking
from baselines.sgp_dst.rules import Candidates, Queries, track_dialogues
from baselines.sgp_dst.training import READS
from baselines.tracker import joint_goal_accuracy
from sgdx_dataset import frames, load
from sgdx_dataset.tracker_inputs import training_columns

from .teacher import gold_submodels


def test_turns_of_all_dialogues_are_asked_together() -> None:
    """One question for each sub-model and depth, not for each dialogue or slot."""
    rows = frames(load("original", "test", "sample"))
    dialogues = list(read_dialogues(training_columns(rows, READS)))[:12]
    asked: list[int] = []

    def counted(submodel: Any) -> Any:
        def ask(queries: Queries, *candidates: Candidates) -> Any:
            asked.append(len(queries))
            return submodel(queries, *candidates)

        return ask

    track_dialogues(tracking.Submodels(*map(counted, gold_submodels(dialogues))), dialogues)
    assert len(asked) == 4 * max(len(dialogue.turns) for dialogue in dialogues)
    frame_count = sum(len(turn.frames) for dialogue in dialogues for turn in dialogue.turns)
    assert sum(asked) == 4 * frame_count


def test_right_answers_make_right_states() -> None:
    """The upper bound of the rules, and what each submodel is needed for."""
    rows = frames(load("original", "test", "sample"))
    dialogues = list(read_dialogues(training_columns(rows, READS)))
    right = gold_submodels(dialogues)

    def accuracy(submodels: tracking.Submodels) -> float:
        states = track_dialogues(submodels, dialogues)
        predicted = [row for pair in zip(dialogues, states) for row in prediction_rows(*pair)]
        return joint_goal_accuracy(rows, predicted)

    def never(_: Queries, candidates: Candidates) -> list[list[float]]:
        return [[0.0] * len(each) for each in candidates]

    without = (right._replace(copy=never), right._replace(cross=never))
    assert list(map(accuracy, (right, *without))) == pytest.approx(
        [0.9263, 0.4243, 0.8201], abs=1e-4
    )
