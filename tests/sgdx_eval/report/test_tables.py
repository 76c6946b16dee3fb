"""The tables hold the scores of scores.json, means over seeds, and paired intervals."""

from __future__ import annotations

from pathlib import Path
from statistics import stdev

from sgdx_eval.report import tables
from sgdx_eval.report.inputs import read_tracker
from sgdx_eval.report.numbers import Estimate
from sgdx_eval.report.systems import TrackerGroup, group_runs
from sgdx_eval.tables import NO_VALUE, Cell

from .conftest import sgdx_part


def test_the_comparison(group: TrackerGroup, runs: dict[str, Path]) -> None:
    rows = tables.comparison(group).rows
    assert [(row[0].text, row[1].text, row[2].text) for row in rows[:3]] == [
        ("t5dst", "all", "273"),
        ("t5dst", "seen", "123"),
        ("t5dst", "unseen", "150"),
    ]
    a, b = (100 * sgdx_part(runs[name])["jga_v1-5"] for name in ("plain-0", "plain-1"))
    assert rows[0][4] == Cell(f"{(a + b) / 2:.1f}", f"± {stdev([a, b]):.1f}")
    unseen = sgdx_part(runs["tiny"])["unseen"]
    low, high = unseen["confidence"]["ss_jga"]
    assert rows[8][0] == Cell("sgp_dst", "random weights")
    assert rows[8][6] == Cell(
        f"{100 * unseen['ss_jga']:.1f}", f"{100 * low:.1f} to {100 * high:.1f}"
    )
    low, high = unseen["confidence"]["flips"]
    assert rows[8][8] == Cell(
        f"{100 * unseen['flips']:.1f}", f"{100 * low:.1f} to {100 * high:.1f}"
    )
    assert rows[8][7].text == f"{100 * unseen['jga_worst']:.1f}"
    assert rows[8][5].text == f"{100 * unseen['relative_difference']:.1f}"


def test_augmentation_is_compared_with_the_system_without(group: TrackerGroup) -> None:
    table = tables.augmentation(group)
    assert table is not None
    assert [(row[0].text, row[1].text) for row in table.rows] == [
        ("t5dst", "none"),
        ("t5dst", "backtrans"),
    ]
    none, other = table.rows
    assert none[5] == Cell("–", "") and other[5].text.startswith("+")
    low, _, high = other[5].detail.partition(" to ")
    assert float(low) < float(other[5].text) < float(high)


def test_a_difference_has_its_sign_and_its_interval() -> None:
    assert tables.difference_cell(Estimate(0.0153, (-0.002, 0.03))) == Cell("+1.5", "-0.2 to +3.0")
    assert tables.difference_cell(Estimate(-0.5, None)) == Cell("-50.0", "")
    assert tables.difference_cell(None) == Cell(NO_VALUE, "")


def test_services_have_the_scores_of_scores_json(runs: dict[str, Path]) -> None:
    (group,) = group_runs([read_tracker(runs["tiny"])])
    expected = sgdx_part(runs["tiny"])["by_service"]
    rows = tables.by_service(group).rows
    assert [row[0].text for row in rows] == list(expected)
    for row in rows:
        scores = expected[row[0].text]
        assert [cell.text for cell in row[1:]] == [
            str(scores["frames"]),
            *(
                f"{100 * scores[key]:.1f}"
                for key in ("jga_orig", "jga_v1-5", "ss_jga", "jga_worst", "flips")
            ),
        ]
    domains = tables.by_domain(group).rows
    assert [row[0].text for row in domains][:2] == ["Cabs", "Cooking"]
    assert sum(int(row[1].text) for row in domains) == 273


def test_all_official_metrics(group: TrackerGroup) -> None:
    rows = tables.official_metrics(group).rows
    assert [row[0].text for row in rows][-2:] == [
        "joint_change_accuracy",
        "joint_canonical_accuracy",
    ]
    assert len(rows) == 15
    by_name = {row[0].text: row for row in rows}
    assert by_name["active_intent_accuracy"][7].text == "100.0"  # intents are never changed
    assert by_name["slot_tagging_f1"][7].text == "–"
