"""Who said a value, by the rule that the report states."""

from __future__ import annotations

import numpy as np

from baselines.report.origins import ORIGINS, FrameState, slot_origins, value_origins

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


def said(states: list[FrameState]) -> list[list[str]]:
    found = value_origins(states, TURNS)
    return [[ORIGINS[one] for one in found[state.position]] for state in states]


def test_every_origin() -> None:
    hotel = {"city": ["NYC", "New York"]}
    taxi = {"to": ["Grand Plaza"], "seats": ["2"], "from": ["newark"]}
    states = [
        FrameState(0, "d", 0, "Hotels_1", hotel),
        FrameState(
            1,
            "d",
            2,
            "Hotels_1",
            {**hotel, "name": ["Grand Plaza"], "price": ["dontcare"], "has_wifi": ["True"]},
        ),
        FrameState(2, "d", 4, "Taxis_1", taxi),
    ]
    assert said(states) == [
        ["the user"],
        # The city was the user's when the slot took it, and stays so.
        ["the user", "the system", "dontcare", "nobody, word for word"],
        ["another service", "nobody, word for word", "the user"],
    ]


def test_only_whole_words_count_and_a_new_value_is_looked_up_anew() -> None:
    states = [
        FrameState(0, "d", 0, "Hotels_1", {"city": ["York City"]}),
        FrameState(1, "d", 2, "Hotels_1", {"city": ["Plaz"]}),
        FrameState(2, "d", 4, "Hotels_1", {"city": ["new york"]}),
        FrameState(3, "d", 6, "Hotels_1", {"city": ["Grand Plaza"]}),
    ]
    assert said(states) == [
        ["nobody, word for word"],
        ["nobody, word for word"],
        ["the user"],  # in an earlier turn
        ["the system"],
    ]


def test_they_are_laid_out_as_the_slots_of_the_schema() -> None:
    states = [FrameState(1, "d", 0, "A", {"y": ["1"], "gone": ["2"]})]
    first = np.array([0, 3])
    found = slot_origins(states, {1: [1, 2]}, {"A": ["x", "y", "z"]}, first, 6)
    assert found.tolist() == [-1, -1, -1, -1, 1, -1]
