"""Names as phrases and phrases as names: literal cases, properties, collisions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdx_dataset.rewording.phrases import distinct, identifier, phrase

NAMES = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6, unique=True)


@given(originals=NAMES, data=st.data())
def test_names_are_distinct_and_no_more_dropped_than_needed(
    originals: list[str], data: st.DataObject
) -> None:
    choice = st.sampled_from(["", *"abcdefgh"])
    new = data.draw(st.lists(choice, min_size=len(originals), max_size=len(originals)))
    kept = distinct(originals, new)
    names = [name or original for original, name in zip(originals, kept)]
    assert len(set(names)) == len(names)
    assert all(name in ("", was) for name, was in zip(kept, new))
    if len({name or original for original, name in zip(originals, new)}) == len(new):
        assert kept == new


@pytest.mark.parametrize(
    ("text", "like", "name"),
    [
        ("check-in date", "check_in_date", "check_in_date"),
        ("The user's Name.", "name", "the_users_name"),
        ("the user’s name", "Name", "TheUsersName"),
        ("café à la carte", "menu", "cafe_a_la_carte"),
        ("look for a TV show", "FindTVShow", "LookForATvShow"),
        ("2 stars", "stars", ""),
        ("stars 2", "stars", "stars_2"),
        ("...", "stars", ""),
        ("城市 name", "name", ""),
        ("Straße", "street", ""),
    ],
)
def test_identifier(text: str, like: str, name: str) -> None:
    assert identifier(text, like) == name


@given(name=st.from_regex("[a-z]{1,5}(_[a-z]{1,5}){0,3}", fullmatch=True))
def test_a_name_survives_its_phrase(name: str) -> None:
    assert identifier(phrase(name), name) == name
    names = {"FindTVShow": "find tv show", "GetRide2Go": "get ride2 go", "_odd__name_": "odd name"}
    assert {each: phrase(each) for each in names} == names
