"""Who said a value, by the rule that the report states."""

from __future__ import annotations

import numpy as np
from sgdx_eval.report.origins import ORIGINS, ReferenceState, slot_origins, value_origins

TURNS = {
    "d": [
        ("USER", "A hotel in new york, please."),
        ("SYSTEM", "How about the Grand Plaza? It has wifi."),
        ("USER", "Fine. Any price will do."),
        ("SYSTEM", "Booked."),
        ("USER", "Now a taxi there, for two, in Newark"),
        ("SYSTEM", "To the Grand Plaza?"),
        ("USER", "Yes. And make it New York again."),
    ]
}


def origins_of(states: list[ReferenceState]) -> list[list[str]]:
    origins = value_origins(states, TURNS)
    return [[ORIGINS[origin] for origin in origins[state.position]] for state in states]


def test_every_origin() -> None:
    hotel = {"city": ["NYC", "New York"]}
    taxi = {"to": ["Grand Plaza"], "seats": ["2"], "from": ["newark"]}
    states = [
        ReferenceState(0, "d", 0, "Hotels_1", hotel),
        ReferenceState(
            1,
            "d",
            2,
            "Hotels_1",
            {**hotel, "name": ["Grand Plaza"], "price": ["dontcare"], "has_wifi": ["True"]},
        ),
        ReferenceState(2, "d", 4, "Taxis_1", taxi),
    ]
    assert origins_of(states) == [
        ["the user"],
        # The city was the user's when the slot took it, and stays so.
        ["the user", "the system", "dontcare", "nobody, word for word"],
        ["another service", "nobody, word for word", "the user"],
    ]


def test_only_whole_words_count_and_a_new_value_is_looked_up_anew() -> None:
    states = [
        ReferenceState(0, "d", 0, "Hotels_1", {"city": ["York City"]}),
        ReferenceState(1, "d", 2, "Hotels_1", {"city": ["Plaz"]}),
        ReferenceState(2, "d", 4, "Hotels_1", {"city": ["new york"]}),
        ReferenceState(3, "d", 6, "Hotels_1", {"city": ["Grand Plaza"]}),
    ]
    assert origins_of(states) == [
        ["nobody, word for word"],
        ["nobody, word for word"],
        ["the user"],  # in an earlier turn
        ["the system"],
    ]


def test_they_are_laid_out_as_the_slots_of_the_schema() -> None:
    states = [ReferenceState(1, "d", 0, "A", {"y": ["1"], "gone": ["2"]})]
    frames = np.array([0, 0, 0, 1, 1, 1])
    origins = slot_origins(states, {1: [1, 2]}, {"A": ["x", "y", "z"]}, frames)
    assert origins.tolist() == [-1, -1, -1, -1, 1, -1]
