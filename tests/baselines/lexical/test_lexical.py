"""The lexical floor: what it finds in utterances and takes from acts."""

from __future__ import annotations

from typing import Any

import pytest

from baselines.lexical import (
    Lexicon,
    ServiceState,
    find_values,
    update_state,
)
from sgdx_dataset.schema import read_service

from ...conftest import intent, slot

Row = dict[str, Any]

SCHEMA: Row = {
    "service_name": "Taxis_9",
    "description": "Taxis",
    "slots": [
        slot("pickup_city", "Where the ride is from"),
        slot("dropoffCity", "Where the ride goes to"),
        slot("departure_time", "When to set off"),
        slot("passengers", "Number of people", "1", "2", "3"),
        slot("car_type", "Sort of car", "Estate car", "Van"),
        slot("shared_ride", "Whether to ride with others", "True", "False"),
        slot("fare", "What it costs"),
    ],
    "intents": [
        intent(
            "OrderTaxi",
            "Call a taxi",
            ["pickup_city", "dropoffCity", "departure_time"],
            ["passengers", "car_type", "shared_ride"],
        ),
        intent("CheckFare", "Learn the price", [], []),
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


def turn(state: ServiceState, utterance: str, *acts: Row) -> list[str]:
    return update_state(Lexicon(read_service(SCHEMA)), state, utterance, acts)


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
    turn(state, "Great, but another one", act("OFFER", "dropoffCity", "Wells"))
    assert state.slots == {}
    turn(state, "Great", act("OFFER", "dropoffCity", "Wells"), act("OFFER", "fare", "$9"))
    assert state.slots == {"dropoffCity": "Wells"}  # a fare is in no call, so in no state


def test_dontcare_is_for_what_was_asked() -> None:
    state = ServiceState()
    turn(state, "Anything will do", act("REQUEST", "car_type"))
    assert state.slots == {"car_type": "dontcare"}
