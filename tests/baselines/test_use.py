"""Tracking with an API of one's own: ``sgdx track``, and in Python several services at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from baselines import track
from baselines.lexical import LexicalTracker
from baselines.use import Dialogue, load_tracker, track_dialogue, track_dialogues
from sgdx_dataset import SgdxError

from ..conftest import ROOT
from .conftest import command


def service(slot: str = "riders", name: str = "Cabs_9") -> dict[str, Any]:
    """An API of cabs, of which one slot has a name of its own."""
    return {
        "service_name": name,
        "description": "Rides through town",
        "slots": [
            {"name": "destination", "description": "Where the ride goes to"},
            {"name": slot, "description": "People", "possible_values": ["one", "two"]},
        ],
        "intents": [
            {
                "name": "OrderCab",
                "description": "Call a cab",
                "required_slots": ["destination", slot],
            }
        ],
    }


TALK = ["I want to order a cab for two riders.", "To Galway?", "Yes, please."]


def test_a_dialogue_of_ones_own() -> None:
    acts = [[{"act": "OFFER", "slot": "destination", "values": ["Galway"]}]]
    first, last = track_dialogue(load_tracker("lexical"), service(), TALK, acts)
    assert first["slot_values"] == {"riders": ["two"]}
    assert last == {
        "active_intent": "OrderCab",
        "requested_slots": [],
        "slot_values": {"destination": ["Galway"], "riders": ["two"]},
    }
    wrong: list[tuple[Any, Any, str]] = [
        (service(), "a cab", "found the dialogue 'a cab'"),
        (service(), [{"role": "user"}], r"found the dialogue \[{'role'"),
        ({**service(), "slots": ["destination"]}, ["Hi"], r"found the schema .*slots\[0\]"),
        ([], ["Hi"], r"found the schema \[\]"),
    ]
    for schema, utterances, message in wrong:
        with pytest.raises(SgdxError, match=message):
            track_dialogue(load_tracker("lexical"), schema, utterances)


@pytest.mark.parametrize("spoken", [TALK, ["USER: " + TALK[0], "system: " + TALK[1], TALK[2]]])
def test_two_services_and_a_text_file(
    spoken: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    two = [service(), service(name="Taxis_9")]
    (tmp_path / "cabs.json").write_text(json.dumps(two[0]))
    (tmp_path / "more.json").write_text(json.dumps(two[1:]))
    (tmp_path / "talk.txt").write_text("\n\n".join(spoken))
    schemas = ("--schema", tmp_path / "cabs.json", tmp_path / "more.json")
    words = (*schemas, "--dialogue", tmp_path / "talk.txt", "--model", "lexical")
    assert command(monkeypatch, track, *words) == 0
    first, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["turn"], last["turn"], last["user"]) == (0, 2, TALK[2])
    assert first["state"]["Cabs_9"]["slot_values"] == {"riders": ["two"]}
    assert list(last["state"]) == ["Cabs_9", "Taxis_9"]
    tracker = load_tracker("lexical")
    assert last["state"] == track_dialogue(tracker, two, TALK)[-1]
    assert last["state"]["Cabs_9"] == track_dialogue(tracker, two[0], TALK)[-1]


def test_a_tracker_of_ones_own_that_returns_something_else() -> None:
    class Few(LexicalTracker):
        def track(self, rows: Dataset) -> Iterator[Any]:
            return iter([])

    class Bare(LexicalTracker):
        def track(self, rows: Dataset) -> Iterator[Any]:
            return ({"frame_id": row, "state": {}} for row in rows["frame_id"])

    with pytest.raises(SgdxError, match="lexical: .*found 0 rows, expected 1"):
        track_dialogue(Few(), service(), ["Hi"])
    with pytest.raises(SgdxError, match="lexical.*without active_intent, .*, variant"):
        track_dialogue(Bare(), service(), ["Hi"])


def test_services_of_one_name_have_their_own_schemas() -> None:
    asked = [Dialogue(service(name), ["A cab for two riders."]) for name in ("riders", "people")]
    states = track_dialogues(load_tracker("lexical"), [*asked, asked[0]])
    names = [list(state["slot_values"]) for (state,) in states]
    assert names == [["riders"], ["people"], ["riders"]]


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
