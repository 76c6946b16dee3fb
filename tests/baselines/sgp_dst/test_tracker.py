"""Tracking on predicted history alone, and what of four models is published."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accelerate import Accelerator

from baselines.data.dialogues import prediction_rows, read_dialogues
from baselines.publish import published
from baselines.settings import PARTS, SgpOptions
from baselines.sgp_dst import rules as tracking
from baselines.sgp_dst.questions import Question
from baselines.sgp_dst.rules import Candidates, Queries, track_dialogues
from baselines.sgp_dst.system import SgpTracker
from baselines.sgp_dst.training import READS
from baselines.task import joint_goal_accuracy
from sgdx_dataset import frames, load
from sgdx_dataset.tracker_inputs import input_columns, training_columns

from .teacher import gold_submodels


@pytest.fixture(scope="module")
def eager(trained: Path) -> Iterator[SgpTracker]:
    """The trained tracker, made to say much: untrained heads would hardly pass a threshold."""
    patch = pytest.MonkeyPatch()
    for name in ("REQUESTED", "SPAN", "VALUE", "CROSS", "COPY"):
        patch.setattr(f"baselines.sgp_dst.rules.{name}", 0.02)
    yield SgpTracker.load(str(trained), SgpOptions(), Accelerator(cpu=True))
    patch.undo()


def test_turns_of_all_dialogues_are_asked_together(
    eager: SgpTracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []
    ask = SgpTracker.ask

    def count(self: SgpTracker, part: Any, questions: list[Question]) -> Any:
        asked.append((part, len(questions)))
        return ask(self, part, questions)

    monkeypatch.setattr(SgpTracker, "ask", count)
    rows = input_columns(frames(load("original", "test", "sample")), READS)
    dialogues = list(read_dialogues(rows))[:12]
    track_dialogues(eager.submodels(), dialogues)
    depth = max(len(dialogue.turns) for dialogue in dialogues)
    assert len(asked) == 4 * depth  # one for each sub-model and depth, not for each slot
    assert sum(n for part, n in asked if part == "intent") == sum(
        len(turn.frames) for dialogue in dialogues for turn in dialogue.turns
    )


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


def test_what_is_published(trained: Path, tmp_path: Path) -> None:
    """The four models and what tells of them; nothing of other folders, such as predictions."""
    shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "run" / "test").mkdir()
    (tmp_path / "run" / "test" / "scores.json").write_text("{}")
    files = set(published(tmp_path / "run", PARTS))
    own = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    logs = ("log.jsonl", "modeling.py", "run.json")
    in_parts = {f"{part}/{name}" for part in PARTS for name in (*own, *logs)}
    assert files == in_parts | {"README.md", "log.jsonl", "modeling.py", "run.json"}
