"""The tables hold the figures of scores.json, means over seeds, and paired intervals."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import stdev

import numpy as np
import pytest

from baselines.report import tables
from baselines.report.gather import read_tracker
from baselines.report.provenance import group_runs
from baselines.report.runs import Trackers
from sgdx_metric.bootstrap import compared
from sgdx_metric.robustness import dialogue_sums, figures


@pytest.fixture(scope="module")
def group(runs: dict[str, Path]) -> Trackers:
    (found,) = group_runs([read_tracker(path) for path in runs.values()])
    return found


def figures_of(run: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads((run / "scores.json").read_text())["sgdx"]
    return found


def test_the_comparison(group: Trackers, runs: dict[str, Path]) -> None:
    rows = tables.comparison(group).rows
    assert [(row[0].text, row[1].text, row[2].text) for row in rows[:3]] == [
        ("t5dst", "all", "273"),
        ("t5dst", "seen", "123"),
        ("t5dst", "unseen", "150"),
    ]
    a, b = (100 * figures_of(runs[name])["jga_v1-5"] for name in ("plain-0", "plain-1"))
    assert rows[0][4] == (f"{(a + b) / 2:.1f}", f"± {stdev([a, b]):.1f}")
    one = json.loads((runs["tiny"] / "scores.json").read_text())["sgdx"]["unseen"]
    low, high = one["confidence"]["ss_jga"]
    assert rows[8][0] == ("sgp_dst", "random weights")
    assert rows[8][6] == (f"{100 * one['ss_jga']:.1f}", f"{100 * low:.1f} to {100 * high:.1f}")
    assert rows[8][5].text == f"{100 * one['relative_difference']:.1f}"


def test_augmentation_is_compared_with_the_system_without(group: Trackers) -> None:
    table = tables.augmentation(group)
    assert table is not None
    assert [(row[0].text, row[1].text) for row in table.rows] == [
        ("t5dst", "none"),
        ("t5dst", "backtrans"),
    ]
    none, other = table.rows
    assert none[5] == ("–", "") and other[5].text.startswith("+")
    low, _, high = other[5].detail.partition(" to ")
    assert float(low) < float(other[5].text) < float(high)


def test_a_paired_interval_is_that_of_the_metric(runs: dict[str, Path]) -> None:
    first, second = (read_tracker(runs[name]) for name in ("plain-0", "backtrans"))
    (group,) = group_runs([first, second])
    sums = [dialogue_sums(r.jga, r.place, np.arange(273), r.rules) for r in (first, second)]
    left, right = sums
    expected = compared(left, right, lambda means: figures(means, list(first.jga)), 10)
    found = tables.paired_differences(*group.systems)
    assert list(found) == ["jga_orig", "jga_v1-5", "ss_jga"]
    for name, cell in found.items():
        low, high = (100 * end for end in expected[name]["interval"])
        assert cell == (f"{100 * expected[name]['difference']:+.1f}", f"{low:+.1f} to {high:+.1f}")


def test_services_have_the_figures_of_scores_json(runs: dict[str, Path]) -> None:
    (group,) = group_runs([read_tracker(runs["tiny"])])
    expected = json.loads((runs["tiny"] / "scores.json").read_text())["sgdx"]["by_service"]
    rows = tables.by_service(group).rows
    assert [row[0].text for row in rows] == list(expected)
    for row in rows:
        one = expected[row[0].text]
        assert [cell.text for cell in row[1:]] == [
            str(one["frames"]),
            *(f"{100 * one[key]:.1f}" for key in ("jga_orig", "jga_v1-5", "ss_jga")),
        ]
    domains = tables.by_domain(group).rows
    assert [row[0].text for row in domains][:2] == ["Cabs", "Cooking"]
    assert sum(int(row[1].text) for row in domains) == 273


def test_headline_of_seeds_is_the_mean_of_theirs(group: Trackers, runs: dict[str, Path]) -> None:
    found = tables.headline(group.systems[0], np.arange(273))
    for key in ("jga_orig", "jga_v1-5", "ss_jga"):
        a, b = (figures_of(runs[name])[key] for name in ("plain-0", "plain-1"))
        assert found[key] == pytest.approx((a + b) / 2, abs=1e-12)


def test_all_official_metrics(group: Trackers) -> None:
    rows = tables.official_metrics(group).rows
    assert len(rows) == 13
    by_name = {row[0].text: row for row in rows}
    assert by_name["active_intent_accuracy"][7].text == "100.0"  # intents are never changed
    assert by_name["slot_tagging_f1"][7].text == "–"


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(None, "–"), (float("nan"), "–"), (0.34932, "34.9"), (-0.0001, "0.0"), (1.0, "100.0")],
)
def test_percent(fraction: float | None, text: str) -> None:
    assert tables.percent(fraction) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(float("nan"), "–"), (0.0153, "+1.5"), (-0.0002, "-0.0"), (0.0002, "+0.0"), (-0.0, "+0.0")],
)
def test_a_difference_tells_its_side_of_zero(fraction: float, text: str) -> None:
    assert tables.signed(fraction) == text
