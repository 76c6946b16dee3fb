"""A tracker on a dialogue of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from datasets import Dataset

from baselines.lexical import LexicalTracker
from baselines.use import Dialogue, load_tracker, track_dialogue, track_dialogues
from sgdx_dataset import SgdxError

from ..conftest import ROOT


def test_a_dialogue_of_ones_own() -> None:
    service = {
        "service_name": "Cabs_9",
        "description": "Rides through town",
        "slots": [
            {"name": "destination", "description": "Where the ride goes to"},
            {"name": "riders", "description": "People", "possible_values": ["one", "two"]},
        ],
        "intents": [
            {
                "name": "OrderCab",
                "description": "Call a cab",
                "required_slots": ["destination", "riders"],
            }
        ],
    }
    acts = [[{"act": "OFFER", "slot": "destination", "values": ["Galway"]}]]
    dialogue = ["I want to order a cab for two riders.", "To Galway?", "Yes, please."]
    first, last = track_dialogue(load_tracker("lexical"), service, dialogue, acts)
    assert first["slot_values"] == {"riders": ["two"]}
    assert last == {
        "active_intent": "OrderCab",
        "requested_slots": [],
        "slot_values": {"destination": ["Galway"], "riders": ["two"]},
    }
    for schema, utterances, message in (
        (service, "a cab", "found the dialogue 'a cab'"),
        (service, [{"role": "user"}], "found the utterance {'role': 'user'}"),
        ({**service, "slots": ["destination"]}, ["Hi"], r"found the schema .*slots\[0\]"),
    ):
        with pytest.raises(SgdxError, match=message):
            track_dialogue(load_tracker("lexical"), schema, utterances)  # type: ignore[arg-type]


def test_a_tracker_of_ones_own_that_returns_something_else() -> None:
    class Few(LexicalTracker):
        def track(self, rows: Dataset) -> Iterator[Any]:
            return iter([])

    class Bare(LexicalTracker):
        def track(self, rows: Dataset) -> Iterator[Any]:
            return ({"frame_id": row, "state": {}} for row in rows["frame_id"])

    service = {"service_name": "A", "description": "", "slots": [], "intents": []}
    with pytest.raises(SgdxError, match="lexical: .*found 0 rows, expected 1"):
        track_dialogue(Few(), service, ["Hi"])
    with pytest.raises(SgdxError, match="lexical.*without active_intent, .*, variant"):
        track_dialogue(Bare(), service, ["Hi"])


def test_services_of_one_name_have_their_own_schemas() -> None:
    def service(slot: str) -> dict[str, Any]:
        intent = {"name": "OrderCab", "description": "Call a cab", "required_slots": [slot]}
        slots = [{"name": slot, "description": "People", "possible_values": ["one", "two"]}]
        words = {"service_name": "Cabs_9", "description": "Rides through town"}
        return {**words, "slots": slots, "intents": [intent]}

    asked = [Dialogue(service(name), ["A cab for two riders."]) for name in ("riders", "people")]
    states = track_dialogues(load_tracker("lexical"), [*asked, asked[0]])
    assert [list(state["slot_values"]) for (state,) in states] == [
        ["riders"],
        ["people"],
        ["riders"],
    ]


def test_a_service_without_slots_is_tracked_by_the_shipped_model() -> None:
    intent = {"name": "Ping", "description": "Say that the server is there"}
    service = {"service_name": "A", "description": "A server", "slots": [], "intents": [intent]}
    (state,) = track_dialogue(load_tracker(ROOT / "models" / "onepass"), service, ["Ping it."])
    assert state["slot_values"] == {} and state["active_intent"] in ("Ping", "NONE")


@pytest.mark.slow
def test_the_example_of_the_page_tracks_with_the_shipped_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (ROOT / "docs" / "train.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(example, {})  # noqa: S102 - it is a page of this repository
    first, last = capsys.readouterr().out.splitlines()
    assert "'active_intent': 'ReserveBook'" in first and "['The Old Man']" in first  # not all of it
    assert "'branch': ['Harbour branch']" in last
