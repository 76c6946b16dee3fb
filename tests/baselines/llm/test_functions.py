"""A service's schema as a function, to the letter."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from baselines.llm.functions import (
    call_function,
    call_functions,
    safe_names,
    state_function,
)
from sgdx_dataset.schema import read_service

from .test_answers import SCHEMA

SERVICE = read_service(SCHEMA)


def test_the_function_that_records_a_state() -> None:
    assert state_function(SERVICE) == {
        "name": "Media_9",
        "description": "Films to watch\nPlayFilm: ; requires title; optional subtitles, seats, 3-D_"
        "\nOnly to be asked for:\ndirector: ",
        "parameters": {
            "type": "object",
            "additionalProperties": False,
            "required": ["active_intent", "requested_slots", "slot_values"],
            "properties": {
                "active_intent": {"type": "string", "enum": ["PlayFilm", "NONE"]},
                "requested_slots": {
                    "type": "array",
                    "items": {
                        "type": "string",
                        "enum": ["title", "subtitles", "seats", "3-D_", "director"],
                    },
                    "maxItems": 5,
                },
                "slot_values": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": [],
                    "properties": {
                        "title": {"type": "string", "description": ""},
                        "subtitles": {
                            "type": "string",
                            "description": "",
                            "enum": ["None", "English", "dontcare"],
                        },
                        "seats": {
                            "type": "string",
                            "description": "",
                            "enum": ["1", "2", "dontcare"],
                        },
                        "3-D_": {
                            "type": "string",
                            "description": "",
                            "enum": ["True", "False", "dontcare"],
                        },
                    },
                },
            },
        },
    }


def test_the_function_that_makes_a_call() -> None:
    ((name, (service, intent)),) = call_functions([SERVICE]).items()
    assert name == "Media_9__PlayFilm"
    function = call_function(name, service, intent)
    assert function["parameters"]["required"] == ["title"]
    assert list(function["parameters"]["properties"]) == ["title", "subtitles", "seats", "3-D_"]


def test_two_services_may_have_an_intent_of_one_name() -> None:
    other: Any = {**SCHEMA, "service_name": "Media_8"}
    names = list(call_functions([SERVICE, read_service(other)]))
    assert names == ["Media_9__PlayFilm", "Media_8__PlayFilm"]


@given(st.lists(st.text(max_size=70) | st.sampled_from(["a", "a_", "a?", "a_2", "_"])))
def test_names_are_safe_and_go_back(names: list[str]) -> None:
    found = safe_names(names)
    assert set(found) == set(names)
    assert len(set(found.values())) == len(found)
    for name, safe in found.items():
        assert re.fullmatch("[A-Za-z0-9_-]{1,64}", safe)
        assert safe == name or not re.fullmatch("[A-Za-z0-9_-]{1,64}", name)
