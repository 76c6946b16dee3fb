"""The accuracy that also takes canonical values: literal values, old references, whole corpora."""

from __future__ import annotations

import pytest

from sgdx_dataset import frame_tables, open_release
from sgdx_metric import score
from sgdx_metric.rows import REFERENCE
from sgdx_metric.scoring import score_frames

from .frames import Row, prediction, prediction_table, reference, reference_table, state

SCHEMA = {"day": False, "city": False, "seats": True}
# The worked example of the metric's card: true values, canonical ones, and what is predicted.
TURNS: list[tuple[dict[str, list[str]], dict[str, list[str]], dict[str, list[str]]]] = [
    ({"day": ["next Friday"]}, {"day": ["2019-03-08"]}, {"day": ["2019-03-08"]}),
    (
        {"day": ["next Friday"], "city": ["SF"]},
        {"day": ["2019-03-08"], "city": ["San Francisco"]},
        {"day": ["next Friday"], "city": ["San Francisco"]},
    ),
    (
        {"day": ["March 9th"], "city": ["SF"], "seats": ["2"]},
        {"day": ["2019-03-09"], "city": ["San Francisco"]},
        {"day": ["2019-03-08"], "city": ["San Francisco"], "seats": ["2"]},
    ),
]


def rows(variant: str = "original") -> tuple[list[Row], list[Row]]:
    references, predictions = [], []
    for i, (true, canonical, predicted) in enumerate(TURNS):
        frame_id = f"1_00000/{2 * i}/Trips_1"
        known = {"canonical_values": state(canonical), "variant": variant}
        references.append(reference(true, frame_id, SCHEMA, **known))
        predictions.append(prediction(predicted, frame_id, variant=variant))
    return references, predictions


def test_the_example_of_the_card() -> None:
    """A date for a day that was said is right, but not that of a day which is no longer meant."""
    references, predictions = rows()
    scores = score_frames(
        reference_table(*references), prediction_table(*predictions), "original"
    ).scores
    assert scores["joint_goal_accuracy"].tolist() == pytest.approx([0.1, 0.13, 0.11 * 0.13])
    assert scores["joint_canonical_accuracy"].tolist() == [1, 1, 0.11]


def test_the_figures_have_intervals_and_a_part_of_the_signature() -> None:
    (true, guess), (true_v1, guess_v1) = rows(), rows("v1")
    scores = score([*guess, *guess_v1], [*true, *true_v1])
    sgdx = scores["sgdx"]
    assert sgdx["canonical_orig"] == pytest.approx(2.11 / 3)
    assert sgdx["canonical_v1-5"] is None
    # One dialogue tells little: the interval goes 97.5 % of the way to either end.
    ends = [0.025 * 2.11 / 3, 2.11 / 3 + 0.975 * (1 - 2.11 / 3)]
    assert sgdx["confidence"]["canonical_orig"] == pytest.approx(ends)
    of_v1 = scores["variants"]["v1"]["#ALL_SERVICES"]
    assert of_v1["joint_canonical_accuracy"] == pytest.approx(2.11 / 3)
    assert scores["paired"]["joint_canonical_accuracy"]["v1"] == pytest.approx([1, 1, 0.11])
    assert "|sd:sample|canonical:said-so-far|system-acts:" in scores["signature"]


def test_references_without_canonical_values_leave_it_undefined() -> None:
    references, predictions = rows()
    for row in references:
        del row["canonical_values"]
    scores = score(predictions, references)
    assert scores["sgdx"]["canonical_orig"] is None
    assert scores["sgdx"]["jga_orig"] == pytest.approx((0.1 + 0.13 + 0.0143) / 3)
    assert "joint_canonical_accuracy" not in scores["paired"]
    assert "canonical" not in scores["signature"]


def test_a_tracker_that_says_canonical_values_alone() -> None:
    """It is right in every frame by this figure, and wrong in most by the official one."""
    table = frame_tables(open_release("sample"), "test", "v4", REFERENCE.names)
    predictions = []
    for row in table.to_pylist():
        canonical = {item["slot"]: item["values"] for item in row["canonical_values"]}
        for item in row["slot_values"]:
            item["values"] = canonical.get(item["slot"], item["values"])
        predictions.append(row)
    scores = score_frames(table, prediction_table(*predictions), "v4").scores
    assert scores["joint_canonical_accuracy"].tolist() == [1] * 273
    assert (scores["joint_goal_accuracy"] < 0.5).sum() > 100
