"""The slot error rate as T2G2 released it, edge by edge."""

from __future__ import annotations

from sgsacc_metric.ser import checked_values, contains, contains_words

from .turns import act, turn


def test_which_values_are_looked_for() -> None:
    of = turn(
        act("CONFIRM", "city", "Rome"),
        act("OFFER", "star_rating", "3"),
        act("INFORM", "has_wifi", "True"),
        act("INFORM_COUNT", "count", "9"),
        act("OFFER_INTENT", "intent", "BookHotel"),
        act("CONFIRM", "intent", "rent"),
        act("REQUEST", "city", "Pisa", "Siena"),
        act("REQUEST", "city"),
        act("GOODBYE"),
        act("INFORM", "street", "Via Roma"),
    )
    assert list(checked_values(of)) == ["Rome", "Pisa", "Siena"]
    assert list(checked_values(of, extended=True)) == ["Rome", "3", "rent", "Pisa", "Siena"]


def test_values_are_substrings_in_any_case() -> None:
    assert contains("I found ROME for you", "Rome")
    assert contains("It leaves at 12:30", "2")
    assert not contains("It leaves at half past six", "6:30 pm")
    assert contains("anything", "")
    assert not contains("", "Rome")


def test_values_inside_words_are_told_apart() -> None:
    assert not contains_words("It leaves at 12:30", "2")
    assert contains_words("It leaves at 12:30", "30")
    assert contains_words("A table for 2.", "2")
    assert contains_words("That is $45 a day", "$45")
    assert not contains_words("Romeo", "Rome")
