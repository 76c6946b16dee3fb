"""Agreement of people with a model and with each other, by hand and by a published example."""

from __future__ import annotations

import numpy as np
import pytest

from sgdx_metric.errors import ScoreError
from sgsacc_metric.agreement import agreement, fleiss_kappa, kappa_terms

# Ten subjects, fourteen people, five categories: a textbook example, with a kappa of 0.210.
TEXTBOOK = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def test_kappa_of_a_textbook() -> None:
    assert fleiss_kappa(kappa_terms(np.array(TEXTBOOK)).sum(axis=0)) == pytest.approx(
        0.210, abs=5e-4
    )


def test_kappa_by_hand() -> None:
    """Of three people 3, 2, 0 and 1 say yes: pairs of them agree in 1, 1/3, 1 and 1/3."""
    counts = np.array([[3, 0], [2, 1], [0, 3], [1, 2]])
    assert fleiss_kappa(kappa_terms(counts).sum(axis=0)) == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))
    assert fleiss_kappa(kappa_terms(counts[[0, 2]]).sum(axis=0)) == 1
    assert np.isnan(fleiss_kappa(kappa_terms(counts[:1]).sum(axis=0)))  # all say yes


def test_agreement_by_hand() -> None:
    """Most say yes, no, no; of the fourth item as many say yes as no."""
    items = ["1_00000/1", "1_00000/3", "1_00001/1", "1_00002/1"]
    people = [["yes", "no", "no", "yes"], ["yes", "yes", "no", "no"], ["no", "no", "no", "yes"]]
    people = [*people, ["yes", "no", "no", "no"]]
    result = agreement(items, people, ["yes", "yes", "no", "yes"])
    assert (result["items"], result["people"], result["undecided"]) == (4, 4, 1)
    assert result["agreement"] == pytest.approx(2 / 3)
    # Of six pairs of people 3, 3, 6 and 2 agree; of 16 answers 6 are yes.
    by_chance = (6 / 16) ** 2 + (10 / 16) ** 2
    assert result["kappa"] == pytest.approx((14 / 24 - by_chance) / (1 - by_chance))
    low, high = result["confidence"]["agreement"]
    assert 0 <= low < 2 / 3 < high <= 1
    assert "agreement" not in agreement(items, people)


def test_too_few_people_or_items() -> None:
    for items, people in ((["1/1"], [["yes"]]), ([], [[], []])):
        with pytest.raises(ScoreError):
            agreement(items, people)
