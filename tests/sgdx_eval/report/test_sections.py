"""The tables hold the figures of scores.json: means over seeds, paired intervals, flips."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pytest

from sgdx_eval.report.figures import Estimate, change_cell, flip_shares, signed, system_differences
from sgdx_eval.report.runs import Group
from sgdx_eval.report.sections import augmentation, comparison, items_table, variant_table, view_of
from sgdx_eval.report.states import official_metrics
from sgdx_eval.tables import NO_VALUE, Cell, Table
from sgdx_metric.statistics import Figure, compare

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


def column(table: Table, name: str) -> int:
    """Where a column stands."""
    return [column.name for column in table.columns].index(name)


def test_the_comparison(group: Group, runs: dict[str, Path]) -> None:
    table = comparison(group, view_of(group), group.sets)
    assert [tuple(cell.text for cell in row[:3]) for row in table.rows[:3]] == [
        ("t5dst", "all", "273"),
        ("t5dst", "seen", "123"),
        ("t5dst", "unseen", "150"),
    ]
    row, unseen = table.rows[8], sgdx_part(runs["tiny"])["unseen"]
    assert row[0] == Cell("sgp_dst", "random weights")
    for title, key in (("SS_JGA", "ss_jga"), ("flips", "flips"), ("JGA_worst", "jga_worst")):
        low, high = unseen["confidence"][key]
        expected = Cell(f"{100 * unseen[key]:.1f}", f"{100 * low:.1f} to {100 * high:.1f}")
        assert row[column(table, title)] == expected
    relative = row[column(table, "Diff_rel")].text
    assert relative == f"{100 * unseen['relative_difference']:.1f}"
    seeds = [sgdx_part(runs[name])["jga_worst"] for name in ("plain-0", "plain-1")]
    expected = Cell(f"{100 * mean(seeds):.1f}", f"± {100 * stdev(seeds):.1f}")
    assert table.rows[0][column(table, "JGA_worst")] == expected
    assert {"Change_v1-5", "Canonical_orig"} <= {column.name for column in table.columns}


def test_augmentation_is_compared_with_the_system_without(group: Group) -> None:
    none, other = augmentation(group, group.families()).rows
    assert [cell.text for cell in none[:2]] == ["t5dst", "none"]
    assert [cell.text for cell in other[:2]] == ["t5dst", "backtrans"]
    assert none[5] == Cell("–", "") and other[5].text.startswith("+")
    low, _, high = other[5].detail.partition(" to ")
    assert float(low) < float(other[5].text) < float(high)


def test_every_variant_has_a_row(group: Group, runs: dict[str, Path]) -> None:
    (table,) = variant_table(group)
    assert len(table.rows) == 3 * 6
    v2, expected = table.rows[6 + 2], sgdx_part(runs["backtrans"])
    difference = expected["differences"]["v2"]
    assert [cell.text for cell in v2] == [
        "t5dst, backtrans",
        "v2",
        f"{100 * expected['by_variant']['v2']:.1f}",
        f"{100 * difference['difference']:+.1f}",
        f"{difference['p']:.4f}",
    ]
    low, high = (f"{100 * difference[end]:+.1f}" for end in ("low", "high"))
    assert v2[3].detail == f"{low} to {high}"
    seeds = [sgdx_part(runs[name])["differences"]["v3"] for name in ("plain-0", "plain-1")]
    assert table.rows[3][3].text == f"{100 * mean(of['difference'] for of in seeds):+.1f}"


def test_services_that_lose_most_come_first(runs: dict[str, Path]) -> None:
    group, expected = only_group(runs["tiny"]), sgdx_part(runs["tiny"])["by_service"]
    (table,) = items_table(group, view_of(group), "service", group.services)
    by_loss = sorted(
        expected, key=lambda name: expected[name]["jga_v1-5"] - expected[name]["jga_orig"]
    )
    assert [row[0].text for row in table.rows] == by_loss
    assert table.rows[by_loss.index("Vets_1")][0] == Cell("Vets_1", "seen")
    keys = ("jga_orig", "jga_v1-5", "ss_jga", "jga_worst", "flips")
    for row in table.rows:
        scores = expected[row[0].text]
        figures = [f"{100 * scores[key]:.1f}" for key in keys]
        assert [cell.text for cell in row[1:]] == [str(scores["frames"]), *figures]
    (domains,) = items_table(group, view_of(group), "domain", group.domains)
    assert {"Cabs", "Cooking"} < {row[0].text for row in domains.rows}
    assert sum(int(row[1].text) for row in domains.rows) == 273


def test_all_official_metrics(group: Group) -> None:
    (section,) = official_metrics(group)
    rows = {row[0].text: row for row in section.tables[0].rows}
    assert list(rows)[-2:] == ["joint_change_accuracy", "joint_canonical_accuracy"]
    assert len(rows) == 15
    assert rows["active_intent_accuracy"][7].text == "100.0"  # intents are never changed
    assert rows["slot_tagging_f1"][7].text == "–"
