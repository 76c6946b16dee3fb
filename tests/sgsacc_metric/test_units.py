"""Sums by dialogue and service."""

from __future__ import annotations

import numpy as np
import pytest

from sgsacc_metric.scoring import score_turns
from sgsacc_metric.units import Units, sum_units

from .turns import four_turns


@pytest.fixture(scope="module")
def units() -> Units:
    """Turns 0 and 1 of one dialogue, 2 and 3 of another, 3 of another service; 0 is wrong."""
    turns = four_turns()
    right = [turn.utterance for turn in turns]
    wrong = ["A hotel ?", *right[1:]]
    return sum_units(turns, score_turns(turns, {"original": right, "v1": wrong, "v2": right}))


def test_units_and_their_groups(units: Units) -> None:
    assert units.dialogue == ["1_00000", "1_00001", "1_00001"]
    assert units.service == ["Hotels_1", "Hotels_1", "Hotels_2"]
    assert units.by_variant["v1"]["turns"].tolist() == [2, 1, 1]
    assert units.by_variant["v1"]["wrong"].tolist() == [1, 0, 0]
    assert {name: group.tolist() for name, group in units.groups().items()} == {
        "all": [0, 1, 2],
        "seen": [0, 1],
        "unseen": [2],
        "seen_domains": [0, 1, 2],
        "unseen_domains": [],
    }
    services = {name: group.tolist() for name, group in units.services().items()}
    assert services == {"Hotels_1": [0, 1], "Hotels_2": [2]}
    assert {name: group.tolist() for name, group in units.domains().items()} == {
        "Hotels": [0, 1, 2]
    }
    assert units.turn_count(np.array([0, 2])) == 3


def test_sums_by_dialogue_give_the_figures(units: Units) -> None:
    sums = units.dialogue_sums(np.arange(3))
    assert len(sums) == 2
    assert units.variant_sums(sums, "v1")["wrong"].tolist() == [1, 0]
    assert units.variant_sums(sums, "v2")["turns"].tolist() == [2, 2]
    with pytest.raises(KeyError):
        units.variant_sums(sums, "v3")
    figures = units.robustness(sums.sum(axis=0))
    assert figures["ser_orig"] == 0 and figures["bleu_orig"] == pytest.approx(100)
    assert "ser_v1-5" not in figures  # v3 to v5 are lacking
    assert figures["flips_ser"] == 0.25 and figures["changed"] == 0.125
