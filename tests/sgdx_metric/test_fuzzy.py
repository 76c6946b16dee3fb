"""The string score against literal values and against fuzzywuzzy's C backend."""

from __future__ import annotations

import numpy as np
import pytest
from fuzzywuzzy import fuzz
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdx_metric.fuzzy import fuzzy_scores

ENDS_OF_BLOCKS = st.sampled_from("aAbé_ \t-'\x7f\x80\xff\u0100\u0130\u017fßǅ٣Ωçł京\u2028\U0001f600")
TEXT = st.text() | st.text(ENDS_OF_BLOCKS, max_size=12)


def score(left: str, right: str) -> float:
    return float(fuzzy_scores([left, right], np.array([0]), np.array([1]))[0])


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("half past 4", "4 half past", 1.0),  # order does not count
        ("P.f. Chang's", "p f chang s", 1.0),  # nor case, nor what is no word character
        ("San Jose", "San José", 0.93),  # é is dropped: 'jose san' against 'jos san'
        ("", "", 1.0),
        ("", "a", 0.0),
        ("12:30 pm", "12:30", 0.77),  # 2 * 5 / 13
        ("a" * 9, "a" + "b" * 6, 0.12),  # 12.5 rounds to the even 12
        ("a" * 3, "a" * 3 + "b" * 10, 0.38),  # 37.5 rounds to the even 38
    ],
)
def test_literal_scores(left: str, right: str, expected: float) -> None:
    assert score(left, right) == expected


@settings(max_examples=200)
@given(TEXT, TEXT)
def test_equals_fuzzywuzzy_on_any_text(left: str, right: str) -> None:
    assert score(left, right) == fuzz.token_sort_ratio(left, right) / 100.0


def test_pairs_keep_their_places_and_the_peer_has_its_c_backend() -> None:
    words = ["a b", "b a", "c"]
    left, right = np.array([0, 2, 0, 2, 1]), np.array([1, 0, 2, 2, 0])
    assert fuzzy_scores(words, left, right).tolist() == [1, 0, 0, 1, 1]
    assert fuzzy_scores([], np.array([], int), np.array([], int)).tolist() == []
    assert fuzz.SequenceMatcher.__name__ == "StringMatcher"
