"""The comparison of words that stands in for a model of entailment."""

from __future__ import annotations

import pytest

from sgsacc_metric.lexical import LexicalNli
from sgsacc_metric.nli import entails


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("A hotel in Rome?", "City of the hotel is Rome.", True),
        ("A hotel in Pisa?", "City of the hotel is Rome.", False),
        ("Rome or Pisa?", "Cities are Rome and Pisa.", True),
        ("It has wifi.", "Has wifi? Yes.", True),
        ("It has no wifi.", "Has wifi? Yes.", False),
        ("It doesn\N{RIGHT SINGLE QUOTATION MARK}t have wifi.", "Has wifi? No.", True),
        ("Goodbye then.", "Have a good day.", True),
        ("A hotel in Rome?", "Have a good day.", False),
        ("Anything else?", "What else do you need?", True),
        ("", "City is Rome.", False),
    ],
)
def test_which_sentences_are_entailed(premise: str, hypothesis: str, expected: bool) -> None:
    ((entailment, neutral, contradiction),) = LexicalNli()([(premise, hypothesis)]).tolist()
    assert entails((entailment, neutral, contradiction)) == expected
    assert entailment + neutral + contradiction == pytest.approx(1)


def test_the_share_of_content_words() -> None:
    half = LexicalNli()([("The old town.", "Request old harbour.")])
    assert half.tolist() == [pytest.approx([0.05 + 0.9 / 4, 0.9 - 0.85 / 4, 0.05 - 0.05 / 4])]
    assert LexicalNli()([]).shape == (0, 3)
