"""Tampered actions: wrong values only, drawn the same however the turns come."""

from __future__ import annotations

import random

import pytest

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
ROME = act("OFFER", "city", "Rome", canonical=["rome"])


def drawn(action: Action, **others: str) -> set[tuple[str, ...]]:
    """The values that an action is given, under many seeds; none where it is not tampered."""
    found = [tamper(turn(action, **others), 0, POOL, seed) for seed in range(99)]
    return {tuple(one.values) for one in found if one}


@pytest.mark.parametrize(
    ("action", "values"),
    [
        (act("INFORM", "has_wifi", "True"), ["False"]),
        (act("INFORM", "has_wifi", "False"), ["True"]),
        (act("CONFIRM", "intent", "rent"), ["buy"]),
        (act("OFFER", "star_rating", "3"), ["1", "2", "4", "5"]),
        (act("INFORM_COUNT", "count", "3"), ["1", "2", "4", "5", "6", "7", "8", "9", "10"]),
        # Of another service, where the slot has no other value in its own.
        (act("OFFER", "place", "Bonn"), ["Ulm"]),
        (act("OFFER", "street", "Via Roma"), []),
        # What states no value.
        (act("REQUEST", "city", "Rome"), []),
        (act("OFFER_INTENT", "intent", "BookHotel"), []),
        (act("GOODBYE"), []),
    ],
)
def test_every_kind_of_value(action: Action, values: list[str]) -> None:
    assert drawn(action) == {(value,) for value in values}


def test_never_another_form_of_the_right_value_nor_one_that_is_said() -> None:
    caput = act("OFFER", "city", "Caput Mundi", canonical=["rome"])
    assert drawn(ROME) == drawn(caput) == {("Pisa",), ("Siena",)}
    assert drawn(ROME, prompt="Not siena.") == {("Pisa",)}
    assert drawn(ROME, utterance="Rome, Pisa, Siena?") == set()
    assert drawn(ROME, prompt="Pisaville and Siena") == {("Pisa",)}  # inside a word


def test_several_values_are_all_tampered() -> None:
    assert drawn(act("OFFER", "city", "Rome", "Pisa", canonical=["rome", "pisa"])) == set()
    found = drawn(act("OFFER", "city", "Ulm", "Bari"))
    assert found and all(len({*two, "Ulm", "Bari"}) == 4 for two in found)


def test_the_draw_depends_on_seed_turn_and_place_alone() -> None:
    def ratings(number: int) -> list[Action]:
        return [act("OFFER", "star_rating", str(1 + (number + j) % 5)) for j in range(3)]

    turns = [turn(*ratings(number), turn_id=f"a/{number}") for number in range(30)]
    pool = ValuePool.from_turns(turns)
    first = {(one.turn_id, j): tamper(one, j, pool) for one in turns for j in range(3)}
    random.Random(1).shuffle(turns)  # noqa: S311
    pool = ValuePool.from_turns(turns)
    assert {(one.turn_id, j): tamper(one, j, pool) for one in turns for j in range(3)} == first
    assert len({str(one) for one in first.values()}) > 4
