"""What the code computes is what it computed when the goldens were written."""

from __future__ import annotations

from typing import Any

import pytest

from maintenance import goldens

# Seconds of one core: compare 8, states 5, tools 5, turns 10, files 4.
# Of the slow one, trained: 55.
QUICK = ("compare", "states", "tools", "turns", "files")


@pytest.mark.parametrize("part", QUICK)
def test_everything_is_as_it_was(part: str) -> None:
    assert goldens.check(part) == []


@pytest.mark.slow
def test_weights_and_predictions_are_the_same_to_the_bit() -> None:
    surroundings, expected = goldens.surroundings(), goldens.read(goldens.GOLDENS / "trained.json")
    if surroundings != expected[goldens.MADE_WITH]:
        pytest.skip(f"found {surroundings}, expected {expected[goldens.MADE_WITH]}")
    assert goldens.check("trained") == []


@pytest.mark.parametrize(
    ("expected", "found", "places"),
    [
        ({"a": [0.5, 1]}, {"a": [0.5 + 1e-13, 1]}, []),
        ({"a": [0.5, 1]}, {"a": [0.5 + 1e-11, 1]}, ["a / 0"]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["a / b"]),
        ({"a": {"b": 1}, "c": 1}, {"a": {"b": 1, "d": 1}}, ["a / d", "c"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a"]),
        ({"a": None}, {"a": 0.0}, ["a"]),
        ({"a": 1}, {"a": True}, ["a"]),
        ({"a": 0.0}, {"a": float("nan")}, ["a"]),
    ],
)
def test_every_place_that_differs_is_named(expected: Any, found: Any, places: list[str]) -> None:
    lines = goldens.differences(expected, found)
    assert [line.split(":")[0] for line in lines] == places
