"""The statistics behind tables and plots: means over seeds, paired intervals, changes of slots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sgdx_eval.report.inputs import read_tracker
from sgdx_eval.report.numbers import (
    flip_shares,
    headline_estimates,
    headline_scores,
    means_by_variant,
    paired_differences,
)
from sgdx_eval.report.systems import TrackerGroup, group_runs
from sgdx_metric.bootstrap import compared
from sgdx_metric.core import Sample
from sgdx_metric.report import JGA, state_figures

from .conftest import VARIANTS, sgdx_part


def test_a_paired_interval_is_that_of_the_metric(runs: dict[str, Path]) -> None:
    trackers = [read_tracker(runs[name]) for name in ("plain-0", "backtrans")]
    (group,) = group_runs(trackers)
    results = [tracker.results for tracker in trackers]
    left, right = (
        Sample(jga := replace(r.raw, metrics={JGA: r.raw.metrics[JGA]}), state_figures(jga))
        for r in results
    )
    expected = compared(left.sums, right.sums, left.statistics, 10)
    differences = paired_differences(*group.systems)
    assert list(differences) == ["jga_orig", "jga_v1-5", "ss_jga", "jga_worst", "flips"]
    for name, difference in differences.items():
        assert difference.value == pytest.approx(expected[name]["difference"], abs=1e-12)
        assert difference.interval == pytest.approx(expected[name]["interval"], abs=1e-12)


def test_scores_of_seeds_are_means(group: TrackerGroup, runs: dict[str, Path]) -> None:
    scores = headline_scores(group.systems[0], np.arange(273))
    for key in ("jga_orig", "jga_v1-5", "ss_jga", "jga_worst", "flips"):
        a, b = (sgdx_part(runs[name])[key] for name in ("plain-0", "plain-1"))
        assert scores[key] == pytest.approx((a + b) / 2, abs=1e-12)


def test_the_drop_beside_the_flips_is_that_of_scores_json(
    group: TrackerGroup, runs: dict[str, Path]
) -> None:
    estimates = headline_estimates(group.systems[1])
    expected = sgdx_part(runs["backtrans"])
    assert estimates["drop"].value == pytest.approx(expected["jga_orig"] - expected["jga_v1-5"])
    low, high = expected["confidence"]["drop"]
    assert estimates["drop"].interval == pytest.approx((-high, -low))
    assert estimates["flips"].value == pytest.approx(expected["flips"])
    assert estimates["flips"].interval == pytest.approx(expected["confidence"]["flips"])


def test_means_by_variant_are_known(group: TrackerGroup, runs: dict[str, Path]) -> None:
    means = means_by_variant(group.systems[1])
    expected = sgdx_part(runs["backtrans"])["by_variant"]
    assert {name: mean.value for name, mean in means.items()} == pytest.approx(expected)
    for mean in means.values():
        assert mean.interval is not None and mean.interval[0] < mean.value < mean.interval[1]


def test_flips_are_of_frames_right_here_and_wrong_there(group: TrackerGroup) -> None:
    run = group.systems[2].first
    shares = flip_shares(group.systems[2], VARIANTS)
    right, wrong = run.results.joint["jga"]["v1"] == 1, run.results.joint["jga"]["v5"] < 1
    assert shares[1, 5] == pytest.approx((right & wrong).mean()) and shares[1, 5] > 0
    assert np.diag(shares).tolist() == [0] * 6
