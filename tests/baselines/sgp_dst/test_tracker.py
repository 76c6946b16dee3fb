"""Tracking: predicted history alone, the same however dialogues are batched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accelerate import Accelerator

from baselines.data import GOLD
from baselines.sgp_dst.dialogues import LEARNT, TRACKED, State, read_dialogues
from baselines.sgp_dst.predict import predict
from baselines.sgp_dst.questions import Question
from baselines.sgp_dst.tracker import Sizes, Tracker, load_tracker
from baselines.sgp_dst.tracking import prediction_rows, track
from sgdx_dataset import frames, load


@pytest.fixture(scope="module")
def eager(trained: Path) -> Iterator[Tracker]:
    """The trained tracker, made to say much: untrained heads would hardly pass a threshold."""
    patch = pytest.MonkeyPatch()
    for name in ("REQUESTED", "SPAN", "VALUE", "CROSS", "COPY"):
        patch.setattr(f"baselines.sgp_dst.rules.{name}", 0.02)
    yield load_tracker(str(trained))
    patch.undo()


def test_dialogues_together_are_as_dialogues_alone(eager: Tracker) -> None:
    rows = frames(load("v4", "test", "sample")).select_columns(TRACKED)
    dialogues = list(read_dialogues(rows))[:12]
    together = track(eager, dialogues)
    small = Tracker(eager.parts, Sizes(batch=3, tokens=512))
    assert together == [track(small, [dialogue])[0] for dialogue in dialogues]
    values = [len(state.values) for states in together for state in states]
    assert max(values) >= 3  # it is of something that this is said
    assert any(state.requested for states in together for state in states)


def test_turns_of_all_dialogues_are_asked_together(
    eager: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []
    ask = Tracker.ask

    def count(self: Tracker, part: Any, questions: list[Question]) -> Any:
        asked.append((part, len(questions)))
        return ask(self, part, questions)

    monkeypatch.setattr(Tracker, "ask", count)
    rows = frames(load("original", "test", "sample")).select_columns(TRACKED)
    dialogues = list(read_dialogues(rows))[:12]
    track(eager, dialogues)
    depth = max(len(dialogue.turns) for dialogue in dialogues)
    assert len(asked) == 4 * depth  # one for each sub-model and depth, not for each slot
    assert sum(n for part, n in asked if part == "intent") == sum(
        len(turn.frames) for dialogue in dialogues for turn in dialogue.turns
    )


def test_the_gold_state_is_out_of_reach(eager: Tracker, tmp_path: Path) -> None:
    """With every gold column scrambled, or not there at all, the predictions stay as they are."""
    gold = {*GOLD, "slots", "schema_slots"}
    assert gold.isdisjoint(TRACKED)
    assert set(LEARNT) - set(TRACKED) == {*GOLD, "slots"}
    rows = frames(load("original", "validation", "sample"))
    rows = rows.select(range(40))
    accelerator = Accelerator(cpu=True)
    expected = predict(eager, rows, accelerator, tmp_path / "a")
    values = [{"slot": "x", "values": ["y"]}]
    scrambled = rows.map(
        lambda row: (
            {"active_intent": "x", "requested_slots": ["x"], "slot_values": values} | {"slots": []}
        )
    )
    assert predict(eager, scrambled, accelerator, tmp_path / "b") == expected
    without = rows.remove_columns(list(gold))
    assert predict(eager, without, accelerator, tmp_path / "c") == expected
    assert [row["frame_id"] for row in expected] == rows["frame_id"]


def test_what_is_read_with_gold_is_tracked_without(eager: Tracker) -> None:
    rows = frames(load("original", "test", "sample")).select(range(30))
    blind, seeing = (
        list(read_dialogues(rows.select_columns(columns))) for columns in (TRACKED, LEARNT)
    )
    assert blind[0].turns[0].frames[0].gold is None
    assert seeing[0].turns[0].frames[0].gold is not None
    assert track(eager, blind) == track(eager, seeing)


def test_prediction_rows() -> None:
    rows = frames(load("v1", "test", "sample")).select_columns(TRACKED)
    dialogue = next(read_dialogues(rows))
    states = [State("Go", {"b": ["2"], "a": ["1"]}, ("c",))] * len(rows)
    count = sum(len(turn.frames) for turn in dialogue.turns)
    first = prediction_rows(dialogue, states[:count])[0]
    assert first == {
        "frame_id": rows[0]["frame_id"],
        "variant": "v1",
        "active_intent": "Go",
        "requested_slots": ["c"],
        "slot_values": [{"slot": "a", "values": ["1"]}, {"slot": "b", "values": ["2"]}],
    }
