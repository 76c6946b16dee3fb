"""A restaurant's schema, a frame of it, and a recipe of seconds, shared by the tests of onepass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from baselines.encoders import tiny_tokenizer
from baselines.onepass.frames import FrameInput, KnownValue, Utterance
from baselines.onepass.layout import MARKERS, Vocabulary
from sgdx_dataset.schema import Service, read_service

from ...conftest import intent, slot
from ..conftest import train_once

Row = dict[str, Any]

RESTAURANTS: Row = {
    "service_name": "Restaurants_9",
    "description": "Tables at restaurants",
    "slots": [
        slot("price", "how expensive it is"),
        slot("time", "when to eat"),
        slot("party_size", "how many people come", "1", "2", "3"),
        slot("restaurant", "its name"),
        slot("day", "date of the visit"),
    ],
    "intents": [
        intent("FindPlace", "look for restaurants", [], ["restaurant"]),
        intent("ReserveTable", "book a table", ["restaurant", "time"], ["party_size", "day"]),
    ],
}
SYSTEM, USER = "Shall I book Luigi's at 7 pm for 2?", "Make it 8 please. Is it dear?"


@pytest.fixture
def restaurants() -> Service:
    return read_service(RESTAURANTS)


def frame_of(schema: Service, **changes: Any) -> FrameInput:
    """A frame in which the system has just proposed to book a table, changed."""
    given: Row = {
        "utterances": (Utterance("SYSTEM", SYSTEM, False), Utterance("USER", USER, True)),
        "schema": schema,
        "first": False,
        "intent": "NONE",
        "carried": {"time": "7 pm", "restaurant": "Luigi's"},
        "asked": frozenset(),
        "offered_now": {"time": "7 pm", "party_size": "2", "restaurant": "Luigi's"},
        "offered_earlier": {},
        "known": (KnownValue("concert_date", "May 5th"),),
    }
    return FrameInput(**(given | changes))


@pytest.fixture
def vocabulary() -> Vocabulary:
    """A tokenizer that has all words of these tests whole."""
    texts = [SYSTEM, USER, "find reserve place party size Which", "concert date = May 5th none"]
    texts += [str(RESTAURANTS), *MARKERS.values()]
    return Vocabulary(tiny_tokenizer(texts))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder."""
    return train_once(tmp_path_factory, "onepass")
