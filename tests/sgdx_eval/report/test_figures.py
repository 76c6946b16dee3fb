"""Figures of systems are those of scores.json: means over seeds, paired intervals, flips."""

from __future__ import annotations

from pathlib import Path
from statistics import stdev

import numpy as np
import pytest

from sgdx_eval.report.figures import (
    Estimate,
    Figures,
    change_cell,
    changes_under_wordings,
    flip_shares,
    signed,
    system_differences,
    under_wordings,
)
from sgdx_eval.report.runs import Group
from sgdx_eval.tables import NO_VALUE, Cell
from sgdx_metric.core import Figure, compare

from .conftest import VARIANTS, only_group, sgdx_part

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


def test_figures_are_those_of_scores_json(group: Group, runs: dict[str, Path]) -> None:
    """Of one run with intervals, of two seeds as means with deviations."""
    expected = sgdx_part(runs["backtrans"])
    estimates = Figures(group.systems[1]).estimates()
    for key in KEYS:
        assert estimates[key].value == pytest.approx(expected[key], abs=1e-12)
        assert estimates[key].interval == pytest.approx(expected["confidence"][key], abs=1e-12)
    low, high = expected["confidence"]["drop"]
    assert estimates["loss"].value == pytest.approx(-expected["drop"])
    assert estimates["loss"].interval == pytest.approx((-high, -low))

    values, cells = Figures(group.systems[0]).values(), Figures(group.systems[0]).cells()
    for key in (*KEYS, "relative_difference"):
        a, b = (sgdx_part(runs[name])[key] for name in ("plain-0", "plain-1"))
        assert values[key] == pytest.approx((a + b) / 2, abs=1e-12)
        assert cells[key] == Cell(f"{50 * (a + b):.1f}", f"± {100 * stdev([a, b]):.1f}")
    for name, members in group.services.items():
        of_service = Figures(group.systems[1], members).values()
        stored = expected["by_service"][name]
        assert [of_service[key] for key in KEYS] == pytest.approx([stored[key] for key in KEYS])


def test_means_under_wordings_and_their_changes(group: Group, runs: dict[str, Path]) -> None:
    (headline,) = group.headlines
    expected = sgdx_part(runs["backtrans"])
    means = under_wordings(group.systems[1], headline)
    assert {name: mean.value for name, mean in means.items()} == pytest.approx(
        expected["by_variant"]
    )
    for mean in means.values():
        assert mean.interval is not None and mean.interval[0] < mean.value < mean.interval[1]
    changes = changes_under_wordings(group.systems[1], headline)
    assert list(changes) == ["v1", "v2", "v3", "v4", "v5"]
    for name, change in changes.items():
        stored = expected["differences"][name]
        of_change = (change.value, *(change.interval or ()), change.p)
        assert of_change == pytest.approx(
            [stored[key] for key in ("difference", "low", "high", "p")], abs=1e-12
        )
    of_seeds = changes_under_wordings(group.systems[0], headline)
    seeds = [sgdx_part(runs[name])["differences"]["v3"] for name in ("plain-0", "plain-1")]
    mean = sum(of_seed["difference"] for of_seed in seeds) / 2
    assert of_seeds["v3"].value == pytest.approx(mean)


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
