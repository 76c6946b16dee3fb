"""Figures of systems are those of scores.json: means over seeds, paired intervals, flips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sgdx_eval.report.figures import (
    Estimate,
    change_cell,
    flip_shares,
    signed,
    system_differences,
)
from sgdx_eval.report.runs import Group
from sgdx_eval.tables import NO_VALUE, Cell
from sgdx_metric.core import Figure, compare

from .conftest import VARIANTS, only_group

KEYS = ("jga_orig", "jga_v1-5", "ss_jga", "jga_worst", "flips")


def test_a_paired_interval_is_that_of_the_metric(runs: dict[str, Path]) -> None:
    group = only_group(runs["plain-0"], runs["backtrans"])
    left, right = (system.first.results.sample() for system in group.systems)
    expected = compare([left], [right])
    differences = system_differences(group.systems[0], group.systems[1])
    assert set(KEYS) < set(differences)
    for key in KEYS:
        assert differences[key].value == pytest.approx(expected[key]["difference"], abs=1e-12)
        assert differences[key].interval == pytest.approx(expected[key]["interval"], abs=1e-12)


def test_flips_are_right_here_and_wrong_there(group: Group) -> None:
    shares = flip_shares(group.systems[2], VARIANTS)
    scores = dict(zip(VARIANTS, group.systems[2].first.results.raw.metrics["joint_goal_accuracy"]))
    expected = ((scores["v1"] == 1) & (scores["v5"] < 1)).mean()
    assert shares[1, 5] == pytest.approx(expected) and expected > 0
    assert np.diag(shares).tolist() == [0] * 6


def test_a_difference_has_its_sign_and_its_interval() -> None:
    figure = Figure("jga_orig", "", lambda means: means.under("original"))
    assert change_cell(figure, Estimate(0.0153, (-0.002, 0.03))) == Cell("+1.5", "-0.2 to +3.0")
    assert change_cell(figure, Estimate(-0.5, None)) == Cell("-50.0", "")
    assert change_cell(figure, None) == Cell(NO_VALUE)
    assert signed(figure._replace(key="ser_orig"), 0.0012) == "+0.12"
    assert signed(figure._replace(scale=1), -1.04) == "-1.0" and signed(figure, np.nan) == NO_VALUE
