"""Sums by dialogue and service, and the figures that follow from them."""

from __future__ import annotations

import numpy as np
import pytest

from sgdx_metric.core import Sample, Scores
from sgsacc_metric.figures import turn_figures, unit_scores
from sgsacc_metric.report import turn_count
from sgsacc_metric.scoring import score_turns

from .turns import four_turns


@pytest.fixture(scope="module")
def units() -> Scores:
    """Turns 0 and 1 of one dialogue, 2 and 3 of another, 3 of another service; 0 is wrong."""
    turns = four_turns()
    right = [turn.utterance for turn in turns]
    wrong = ["A hotel ?", *right[1:]]
    return unit_scores(turns, score_turns(turns, {"original": right, "v1": wrong, "v2": right}))


def test_units_and_their_groups(units: Scores) -> None:
    assert units.items.ids.to_pylist() == [
        "1_00000/Hotels_1", "1_00001/Hotels_1", "1_00001/Hotels_2"
    ]  # fmt: skip
    assert units.metrics["turns"][1].tolist() == [2, 1, 1]
    assert units.metrics["wrong"].tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert {name: group.tolist() for name, group in units.items.groups().items()} == {
        "all": [0, 1, 2],
        "seen": [0, 1],
        "unseen": [2],
        "seen_domains": [0, 1, 2],
        "unseen_domains": [],
        "Hotels_1": [0, 1],
        "Hotels_2": [2],
    }
    assert turn_count(units.only(np.array([0, 2]))) == 3


def test_sums_by_dialogue_give_the_figures(units: Scores) -> None:
    sample = Sample(units, turn_figures(units))
    assert len(sample.sums.total) == 2
    figures = sample.values()
    assert figures["ser_orig"] == 0 and figures["bleu_orig"] == pytest.approx(100)
    assert "ser_v1-5" not in figures  # v3 to v5 are lacking
    assert figures["flips_ser"] == 0.25 and figures["changed"] == 0.125
