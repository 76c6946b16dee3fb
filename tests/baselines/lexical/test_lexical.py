"""The lexical floor: what it finds in utterances, what it may read, that it repeats itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from baselines.data.frames import track as track_rows
from baselines.lexical.rules import ServiceState, lexicon_of, update_state
from baselines.lexical.tracker import LexicalTracker
from baselines.lexical.words import (
    contains_phrase,
    content_words,
    find_values,
    overlap,
    parse_number,
)
from sgdx_dataset import frames, load
from sgdx_dataset.schema import read_service

Row = dict[str, Any]

SCHEMA: Row = {
    "service_name": "Taxis_9",
    "description": "Taxis",
    "slots": [
        {
            "name": "pickup_city",
            "description": "Where the ride is from",
            "is_categorical": False,
            "possible_values": [],
        },
        {
            "name": "dropoffCity",
            "description": "Where the ride goes to",
            "is_categorical": False,
            "possible_values": [],
        },
        {
            "name": "departure_time",
            "description": "When to set off",
            "is_categorical": False,
            "possible_values": [],
        },
        {
            "name": "passengers",
            "description": "Number of people",
            "is_categorical": True,
            "possible_values": ["1", "2", "3"],
        },
        {
            "name": "car_type",
            "description": "Sort of car",
            "is_categorical": True,
            "possible_values": ["Estate car", "Van"],
        },
        {
            "name": "shared_ride",
            "description": "Whether to ride with others",
            "is_categorical": True,
            "possible_values": ["True", "False"],
        },
        {
            "name": "fare",
            "description": "What it costs",
            "is_categorical": False,
            "possible_values": [],
        },
    ],
    "intents": [
        {
            "name": "OrderTaxi",
            "description": "Call a taxi",
            "is_transactional": False,
            "result_slots": [],
            "required_slots": ["pickup_city", "dropoffCity", "departure_time"],
            "optional_slots": [{"slot": s, "value": ""} for s in ("passengers", "car_type")]
            + [{"slot": "shared_ride", "value": "False"}],
        },
        {
            "name": "CheckFare",
            "description": "Learn the price",
            "is_transactional": False,
            "result_slots": [],
            "required_slots": [],
            "optional_slots": [],
        },
    ],
}


def act(name: str, slot: str = "", *values: str) -> Row:
    return {"act": name, "slot": slot, "values": [*values]}


@pytest.mark.parametrize(
    ("utterance", "expected"),
    [
        ("In SFO", [("name", "SFO")]),
        ("Is it very expensive?", []),
        ("at 7 pm on the 8th of March", [("time", "7 pm"), ("date", "the 8th of March")]),
        ("It is $30.50 for three", [("money", "$30.50"), ("number", "three")]),
        ("At Chili's Grill & Bar, please.", [("name", "Chili's Grill & Bar")]),
        ("half past 11 in the morning tomorrow", [("time", "half past 11 in the morning"),
                                                  ("date", "tomorrow")]),
        ("from Café Zoë to Santa Clara, CA", [("name", "Café Zoë"), ("name", "Santa Clara, CA")]),
    ],
)  # fmt: skip
def test_values_in_an_utterance(utterance: str, expected: list[tuple[str, str]]) -> None:
    assert [(value.kind, value.text) for value in find_values(utterance)] == expected


def test_words() -> None:
    assert content_words("The pickup_city of GetRide") == ["pickup", "city", "get", "ride"]
    assert overlap(["bedrooms", "city"], ["two", "bedroom"]) == 0.5
    assert overlap([], ["two"]) == 0.0
    assert contains_phrase("An estate car would do", "Estate car")
    assert not contains_phrase("A vantage point", "Van")
    assert (parse_number("three"), parse_number("3"), parse_number("tree")) == ("3", "3", None)


def turn(state: ServiceState, utterance: str, *acts: Row) -> list[str]:
    return update_state(lexicon_of(read_service(SCHEMA)), state, utterance, acts)


def test_a_dialogue() -> None:
    state = ServiceState()
    turn(state, "Please order a taxi to Bath from Bristol for two passengers")
    assert state.intent == "OrderTaxi"
    assert state.slots == {"dropoffCity": "Bath", "pickup_city": "Bristol", "passengers": "2"}
    turn(state, "An estate car at 5 pm", act("REQUEST", "departure_time"))
    assert state.slots["car_type"] == "Estate car"
    assert state.slots["departure_time"] == "5 pm"
    asked = turn(state, "What is the fare?", act("CONFIRM", "shared_ride", "True"))
    assert asked == ["fare"]
    assert "shared_ride" not in state.slots
    turn(state, "Yes, that is right", act("CONFIRM", "shared_ride", "True"))
    assert state.slots["shared_ride"] == "True"
    turn(state, "No thanks, that's all", act("REQ_MORE"))
    assert state.intent == "NONE"


def test_offers_are_copied_only_when_taken() -> None:
    state = ServiceState()
    turn(state, "No, something else", act("OFFER", "dropoffCity", "Wells"))
    assert state.slots == {}
    turn(state, "Great", act("OFFER", "dropoffCity", "Wells"), act("OFFER", "fare", "$9"))
    assert state.slots == {"dropoffCity": "Wells"}  # a fare is in no call, so in no state


def test_dontcare_is_for_what_was_asked() -> None:
    state = ServiceState()
    turn(state, "Anything will do", act("REQUEST", "car_type"))
    assert state.slots == {"car_type": "dontcare"}


def test_the_gold_state_is_out_of_reach(tmp_path: Path) -> None:
    """With every gold column scrambled, the predictions stay as they are."""
    rows = frames(load("v2", "test", "sample"))
    expected = track_rows(LexicalTracker(), rows, tmp_path).rows
    scrambled = rows.map(
        lambda row: {"active_intent": "x", "requested_slots": [], "slot_values": [], "slots": []}
    )
    assert track_rows(LexicalTracker(), scrambled, tmp_path).rows == expected
    assert len(expected) == len(rows)
