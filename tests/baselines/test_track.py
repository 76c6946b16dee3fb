"""Tracking with an API of one's own: ``sgdx track``, and several services at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from baselines import track
from baselines.use import load_tracker, track_dialogue

from .conftest import Refuse, command

CABS: dict[str, Any] = {
    "service_name": "Cabs_9",
    "description": "Rides through town",
    "slots": [
        {"name": "passengers", "description": "People", "possible_values": ["1", "2", "3"]},
        {"name": "destination", "description": "Where the ride goes to"},
    ],
    "intents": [
        {
            "name": "OrderCab",
            "description": "Call a cab",
            "required_slots": ["passengers", "destination"],
        }
    ],
}
HOTELS: dict[str, Any] = {
    "service_name": "Hotels_9",
    "description": "Rooms",
    "slots": [{"name": "pets", "description": "Pets", "possible_values": ["True", "False"]}],
    "intents": [{"name": "FindRoom", "description": "Find a room", "required_slots": ["pets"]}],
}
TALK = ["I need a cab for 2 passengers.", "Where to?", "To the Botanical Garden, please."]


@pytest.mark.parametrize("spoken", [TALK, ["USER: " + TALK[0], "system: " + TALK[1], TALK[2]]])
def test_two_services_and_a_text_file(
    spoken: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "cabs.json").write_text(json.dumps(CABS))
    (tmp_path / "more.json").write_text(json.dumps([HOTELS]))
    (tmp_path / "talk.txt").write_text("\n\n".join(spoken))
    schemas = ("--schema", tmp_path / "cabs.json", tmp_path / "more.json")
    words = (*schemas, "--dialogue", tmp_path / "talk.txt", "--model", "lexical")
    assert command(monkeypatch, track, *words) == 0
    first, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["turn"], last["turn"], last["user"]) == (0, 2, TALK[2])
    assert first["state"]["Cabs_9"]["slot_values"] == {"passengers": ["2"]}
    assert list(last["state"]) == ["Cabs_9", "Hotels_9"]
    tracker = load_tracker("lexical")
    assert last["state"] == track_dialogue(tracker, [CABS, HOTELS], TALK)[-1]
    assert last["state"]["Cabs_9"] == track_dialogue(tracker, CABS, TALK)[-1]


@pytest.mark.parametrize(
    ("schema", "talk", "named"),
    [
        ("{", "Hello", "cabs.json"),
        (json.dumps([CABS, CABS]), "Hello", "Cabs_9"),
        (json.dumps({"service_name": "x"}), "Hello", "description"),
        (json.dumps(CABS), "user: Hello\nuser: Hello", "utterance 2"),
        (json.dumps(CABS), "", "utterances"),
    ],
)
def test_what_cannot_be_tracked(
    schema: str, talk: str, named: str, tmp_path: Path, refuse: Refuse
) -> None:
    (tmp_path / "cabs.json").write_text(schema)
    (tmp_path / "talk.txt").write_text(talk)
    words = ("--schema", tmp_path / "cabs.json", "--dialogue", tmp_path / "talk.txt")
    assert named in refuse(track, *words, "--model", "lexical")
