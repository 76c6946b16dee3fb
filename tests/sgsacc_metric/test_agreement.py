"""Agreement of people with a model and with each other, by hand and by a published example."""

from __future__ import annotations

import numpy as np
import pytest

from sgdx_metric.rows import ScoreError
from sgsacc_metric.agreement import agreement, fleiss_kappa, kappa_terms
from sgsacc_metric.annotation import FAILED, REFERENCE, TAMPERED, JudgedPair

# Ten subjects, fourteen people, five categories: a textbook example, with a kappa of 0.210.
TEXTBOOK = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def pair(number: int, stratum: str, entailed: bool) -> JudgedPair:
    turn = f"1_{number:05}/1"
    return JudgedPair(f"{number:08x}", stratum, turn, 0, "v1", "", "Rome?", "City.", entailed)


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
    pairs = [
        pair(1, REFERENCE, True),
        pair(2, REFERENCE, False),
        pair(3, TAMPERED, False),
        pair(4, TAMPERED, True),
        pair(5, FAILED, False),
    ]
    answers = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 1], [0, 0, 0], [0, 0, 1]], dtype=bool)
    groups = agreement(pairs, answers)
    shares = {name: (group["pairs"], group["agreement"]) for name, group in groups.items()}
    assert shares == {
        "validated": (4, 0.5), "reference": (2, 0.5), "tampered": (2, 0.5), "failed": (1, 1.0)
    }  # fmt: skip
    assert groups["validated"]["published"] == {"agreement": 0.900, "kappa": 0.93}
    assert groups["failed"]["published"] == {"agreement": 0.76}
    low, high = groups["validated"]["confidence"]["agreement"]
    assert 0 <= low < 0.5 < high <= 1


def test_two_people_may_be_undecided() -> None:
    pairs = [pair(1, FAILED, True), pair(2, FAILED, True)]
    groups = agreement(pairs, np.array([[1, 0], [1, 1]], dtype=bool))
    assert (groups["failed"]["undecided"], groups["failed"]["agreement"]) == (1, 1.0)
    for answers in (np.ones((2, 1), dtype=bool), np.ones((0, 3), dtype=bool)):
        with pytest.raises(ScoreError, match="expected pairs and two people at least"):
            agreement(pairs, answers)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Three people who are right in 4 of 5 pairs, and a model that is right in 9 of 10.

    Most of them are right in 0.8^3 + 3 x 0.8^2 x 0.2 = 0.896 of the pairs. Two of them agree in
    0.8^2 + 0.2^2 = 0.68, and by chance in half.
    """
    random = np.random.default_rng(0)
    inside = {"agreement": 0, "kappa": 0}
    expected = {"agreement": 0.9 * 0.896 + 0.1 * 0.104, "kappa": (0.68 - 0.5) / 0.5}
    for _ in range(40):
        truth = random.random(400) < 0.5
        verdicts = truth == (random.random(400) < 0.9)
        answers = truth[:, None] == (random.random((400, 3)) < 0.8)
        pairs = [pair(i, REFERENCE, bool(verdict)) for i, verdict in enumerate(verdicts)]
        confidence = agreement(pairs, answers)["reference"]["confidence"]
        for name in inside:
            low, high = confidence[name]
            inside[name] += low <= expected[name] <= high
    assert all(34 <= count <= 40 for count in inside.values())  # 38 are expected
