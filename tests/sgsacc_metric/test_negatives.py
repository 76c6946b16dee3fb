"""Tampered actions: wrong values only, drawn the same however the turns come."""

from __future__ import annotations

import random

from sgsacc_metric.negatives import ValuePool, tamper
from sgsacc_metric.rows import Action

from .turns import act, turn

POOL = ValuePool.from_turns(
    [
        turn(act("OFFER", "city", "Rome", canonical=["rome"])),
        turn(act("OFFER", "city", "The Eternal City", canonical=["rome"])),
        turn(act("OFFER", "city", "Pisa", "Siena", canonical=["pisa", "siena"])),
        turn(Action("Trains_1", "OFFER", "place", ["Ulm"], ["ulm"])),
    ]
)


def wrong(action: Action, seed: int = 0, **others: str) -> list[str] | None:
    found = tamper(turn(action, **others), 0, POOL, seed)
    return found.values if found else None


def test_every_kind_of_value() -> None:
    assert wrong(act("INFORM", "has_wifi", "True")) == ["False"]
    assert wrong(act("INFORM", "has_wifi", "False")) == ["True"]
    assert wrong(act("CONFIRM", "intent", "rent")) == ["buy"]
    drawn = {str(wrong(act("OFFER", "star_rating", "3"), seed)) for seed in range(40)}
    assert drawn == {"['1']", "['2']", "['4']", "['5']"}
    counts = {str(wrong(act("INFORM_COUNT", "count", "3"), seed)) for seed in range(99)}
    assert counts == {f"['{i}']" for i in (1, 2, 4, 5, 6, 7, 8, 9, 10)}


def test_never_another_form_of_the_right_value_nor_one_that_is_said() -> None:
    rome = act("OFFER", "city", "Rome", canonical=["rome"])
    said = {str(wrong(rome, seed)) for seed in range(40)}
    assert said == {"['Pisa']", "['Siena']"}
    caput = act("OFFER", "city", "Caput Mundi", canonical=["rome"])
    assert {str(wrong(caput, seed)) for seed in range(40)} == {"['Pisa']", "['Siena']"}
    assert {str(wrong(rome, seed, prompt="Not siena.")) for seed in range(40)} == {"['Pisa']"}
    assert wrong(rome, utterance="Rome, Pisa, Siena?") is None
    # A value inside a word is not said.
    assert wrong(act("OFFER", "city", "Ulm"), prompt="Pisaville and Siena") is not None


def test_several_values_are_all_tampered() -> None:
    both = act("OFFER", "city", "Rome", "Pisa", canonical=["rome", "pisa"])
    assert wrong(both) is None
    two = act("OFFER", "city", "Ulm", "Bari")
    found = wrong(two)
    assert found and len(set(found)) == 2 and not {"Ulm", "Bari"} & {*found}


def test_a_slot_of_another_service_where_the_own_has_no_other_value() -> None:
    place = act("OFFER", "place", "Bonn")
    assert wrong(place) == ["Ulm"]
    assert wrong(act("OFFER", "street", "Via Roma")) is None


def test_the_draw_depends_on_seed_turn_and_place_alone() -> None:
    turns = [
        turn(
            *[act("OFFER", "star_rating", str(1 + (i + j) % 5)) for j in range(3)], turn_id=f"a/{i}"
        )
        for i in range(30)
    ]
    pool = ValuePool.from_turns(turns)
    first = [tamper(one, j, pool) for one in turns for j in range(3)]
    random.Random(1).shuffle(turns)  # noqa: S311
    shuffled = {
        (one.turn_id, j): tamper(one, j, ValuePool.from_turns(turns))
        for one in turns
        for j in range(3)
    }
    assert [shuffled[f"a/{i}", j] for i in range(30) for j in range(3)] == first
    assert len({str(one) for one in first}) > 4


def test_which_actions_are_tampered() -> None:
    stated = act("CONFIRM", "city", "Rome"), act("INFORM_COUNT", "count", "3")
    asked = act("REQUEST", "city", "Rome"), act("OFFER_INTENT", "intent", "BookHotel")
    assert all(map(wrong, stated))
    assert [wrong(action) for action in (*asked, act("GOODBYE"))] == [None] * 3
