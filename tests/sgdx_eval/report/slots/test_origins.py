"""Who said a value, by the rule that the report states."""

from __future__ import annotations

from sgdx_eval.report.slots.scores import ORIGINS, State, find_origins, read_states

TURNS = [
    ("USER", "A hotel in new york, please."),
    ("SYSTEM", "How about the Grand Plaza? It has wifi."),
    ("USER", "Fine. Any price will do."),
    ("SYSTEM", "Booked."),
    ("USER", "Now a taxi there, for two, in Newark"),
    ("SYSTEM", "To the Grand Plaza?"),
    ("USER", "Yes. And make it New York again."),
]


def origins_of(states: list[State]) -> list[list[str]]:
    origins = find_origins(states, TURNS)
    return [[ORIGINS[origins[state.frame, slot]] for slot in state.values] for state in states]


def test_every_origin() -> None:
    hotel = {"city": ["NYC", "New York"]}
    later = {**hotel, "name": ["Grand Plaza"], "price": ["dontcare"], "has_wifi": ["True"]}
    taxi = {"to": ["Grand Plaza"], "seats": ["2"], "from": ["newark"]}
    states = [
        State(0, 0, "Hotels_1", hotel),
        State(1, 2, "Hotels_1", later),
        State(2, 4, "Taxis_1", taxi),
    ]
    assert origins_of(states) == [
        ["the user"],
        # The city was the user's when the slot took it, and stays so.
        ["the user", "the system", "dontcare", "nobody, word for word"],
        ["another service", "nobody, word for word", "the user"],
    ]


def test_only_whole_words_count_and_a_new_value_is_looked_up_anew() -> None:
    states = [
        State(0, 0, "Hotels_1", {"city": ["York City"]}),
        State(1, 2, "Hotels_1", {"city": ["Plaz"]}),
        State(2, 4, "Hotels_1", {"city": ["new york"]}),
        State(3, 6, "Hotels_1", {"city": ["Grand Plaza"]}),
    ]
    assert origins_of(states) == [
        ["nobody, word for word"],
        ["nobody, word for word"],
        ["the user"],  # in an earlier turn
        ["the system"],
    ]


def test_states_are_in_the_order_of_turns_and_a_value_that_comes_again_is_new() -> None:
    ids = ["d/10/A", "d/2/A", "d/4/A", "e/0/A"]
    city = [{"slot": "city", "values": ["york"]}]
    states = read_states(ids, [city, city, [], []])
    assert [(state.frame, state.turn) for state in states["d"]] == [(1, 2), (2, 4), (0, 10)]
    assert [state.values for state in states["d"]] == [{"city": ["york"]}, {}, {"city": ["york"]}]
    turns = [("USER", ""), ("SYSTEM", ""), ("USER", "in York"), *[("USER", "")] * 8]
    assert find_origins(states["d"], turns) == {(1, "city"): 0, (0, "city"): 0}
    turns[3] = ("SYSTEM", "York")
    assert find_origins(states["d"], turns) == {(1, "city"): 0, (0, "city"): 1}


def test_another_service_has_a_value_only_from_the_next_turn_on() -> None:
    states = [State(0, 2, "A", {"to": ["Leeds"]}), State(1, 2, "B", {"city": ["Leeds"]})]
    assert origins_of(states) == [["nobody, word for word"]] * 2
    later = [states[0], State(1, 4, "B", {"city": ["Leeds"]})]
    assert origins_of(later) == [["nobody, word for word"], ["another service"]]
