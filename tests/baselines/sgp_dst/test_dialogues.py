"""Dialogues from frame rows, and what is known before a turn."""

from __future__ import annotations

from typing import Any

from baselines.data.dialogues import Memory, State, read_dialogues
from baselines.data.frames import input_columns
from baselines.sgp_dst.batches import READS
from sgdx_dataset import frames, load
from sgdx_dataset.schema import Service


def act(service: str, name: str, slot: str = "", *values: str) -> dict[str, Any]:
    return {"service": service, "act": name, "slot": slot, "values": [*values]}


def test_turns_have_what_the_system_said_just_before() -> None:
    rows = frames(load("original", "test", "sample"))
    last = {row["frame_id"]: row["history"][-1:] for row in rows}
    acts = 0
    for dialogue in read_dialogues(input_columns(rows, READS)):
        for turn in dialogue.turns:
            for frame in turn.frames:
                assert frame.gold is None
                before = last[frame.frame_id]
                assert turn.system == (before[0]["utterance"] if before else "")
                assert turn.acts == (before[0]["actions"] if before else [])
            acts += len(turn.acts)
    assert acts > 300


def test_memory(cabs: Service) -> None:
    memory = Memory()
    memory.add_system_turn(
        [
            act("A", "OFFER", "place", "Bath"),
            act("A", "INFORM", "price", "$9"),
            act("A", "REQUEST", "time", "5 pm"),
            act("A", "REQUEST", "class", "first", "second"),
            act("B", "NOTIFY_SUCCESS"),
        ]
    )
    assert memory.offered == {"A": {"place": "Bath", "time": "5 pm"}}
    assert memory.system_values == {"A": {"place": "Bath", "time": "5 pm", "price": "$9"}}
    memory.add_system_turn([act("A", "CONFIRM", "place", "Wells")])
    assert memory.offered["A"]["place"] == "Wells"  # the latest
    assert memory.succeeded == {"B"}
    assert memory.state("A") == State()
