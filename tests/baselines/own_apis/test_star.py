"""Dialogues of STAR: a copy of two made-up dialogues in its layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from baselines.own_apis.star import read_star
from sgdx_dataset import SgdxError

API = {
    "input": [
        {"Name": "HostName", "Type": "ShortString", "ReadableName": "Host Name"},
        {"Name": "NumberGuests", "Type": "Integer", "ReadableName": "Number of Guests"},
        {"Name": "HasPool", "Type": "Boolean", "ReadableName": "Has Pool"},
        {"Name": "Message", "Type": "LongString", "ReadableName": "Message"},
    ]
}


def event(agent: str, text: str, action: str = "utter") -> dict[str, Any]:
    return {"Agent": agent, "Action": action, "Text": text}


def query(*constraints: tuple[str, str]) -> dict[str, Any]:
    listed = [{name: value} for name, value in constraints]
    return {"Agent": "Wizard", "Action": "query", "APIName": "party_plan", "Constraints": listed}


QUERY = query(
    ("HostName", 'api.is_equal_to("Ben")'),
    ("NumberGuests", "31"),
    ("HasPool", "true"),
    ("NumberGuests", "api.is_at_most(40)"),
    ("Message", '"hello"'),
)
EVENTS = [
    event("UserGuide", "Be kind.", "instruct"),
    event("Wizard", "Hello?"),
    event("User", "A party."),
    event("User", "I'm ben."),
    event("Wizard", "How many come?", "pick_suggestion"),
    event("User", "Some, with a pool."),
    event("Wizard", "One moment."),
    QUERY,
    event("User", "31"),
]


@pytest.fixture
def star(tmp_path: Path) -> Path:
    for folder in ("apis/apis", "dialogues"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "apis" / "apis" / "party_plan.json").write_text(json.dumps(API))
    for number, scenario in enumerate([{"Happy": True}, {"Happy": False}, {"Happy": True}]):
        events = EVENTS if number < 2 else [event("User", "Hi"), query(("HostName", '"Ann"'))]
        dialogue = {"DialogueID": number, "Scenario": scenario, "Events": events}
        (tmp_path / "dialogues" / f"{number}.json").write_text(json.dumps(dialogue))
    return tmp_path


def test_the_state_is_what_was_asked_for_and_said(star: Path) -> None:
    (dialogue,) = read_star(star, 5)
    assert dialogue.utterances == ["A party. I'm ben.", "How many come?", "Some, with a pool."]
    assert dialogue.state == {"host_name": ["Ben"], "has_pool": ["True"]}
    names = [slot["name"] for slot in dialogue.service["slots"]]
    assert names == ["host_name", "number_guests", "has_pool"]
    assert dialogue.service["slots"][2]["possible_values"] == ["True", "False"]
    assert dialogue.service["intents"][0]["name"] == "PartyPlan"


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SgdxError, match="STAR"):
        read_star(tmp_path, 5)
