"""What stands beside joint goal accuracy: what changes between frames, and canonical values."""

from __future__ import annotations

import pytest

from sgdx_metric import score
from sgdx_metric.scoring import score_frames

from . import slow
from .frames import Row, prediction, prediction_table, reference, reference_table, state

States = list[slow.State]


def rows(
    true: States, predicted: States, schema: dict[str, bool], canonical: States | None = None
) -> tuple[list[Row], list[Row]]:
    """The frames of a service in turns 0, 2, 4, ..., of which the tenth sorts before the second."""
    references, predictions = [], []
    for i, (truth, guess) in enumerate(zip(true, predicted, strict=True)):
        frame_id = f"1_00000/{2 * i}/Trips_1"
        known = {"canonical_values": state(canonical[i])} if canonical else {}
        references.append(reference(truth, frame_id, schema, **known))
        predictions.append(prediction(guess, frame_id))
    return references, predictions


def scores(references: list[Row], predictions: list[Row], metric: str) -> list[float]:
    tables = reference_table(*references), prediction_table(*predictions)
    result = score_frames(*tables, "original")
    by_id = dict(zip(result.frame_id.to_pylist(), result.scores[metric].tolist()))
    return [by_id[row["frame_id"]] for row in references]


# ---- what changes

SCHEMA = {"from": False, "to": False, "seats": True}
# The worked example of the metric's card: one service, five turns of the user.
OSLO = {"from": ["Rome"], "to": ["Oslo", "Oslo city"]}
BONN = {"from": ["Rome"], "to": ["Bonn"]}
TWO, THREE = {"seats": ["2"]}, {"seats": ["3"]}
TRUE = [{"from": ["Rome"]}, OSLO | {"to": ["Oslo"]}, OSLO | TWO, OSLO | THREE, OSLO | THREE]
PREDICTED = [{"from": ["Rome"]}, BONN, BONN | TWO, BONN | TWO, BONN | THREE]


def test_the_example_of_the_card() -> None:
    """Bonn for Oslo is wrong in turn 2 and carried along; seats are late in turn 6."""
    frames = rows(TRUE, PREDICTED, SCHEMA)
    # fuzzy: of 'bonn' and 'oslo' one letter is common, 2 * 1 / 8
    assert scores(*frames, "joint_goal_accuracy") == [1, 0.25, 0.25, 0, 0.25]
    assert scores(*frames, "joint_change_accuracy") == [1, 0.25, 1, 0, 1]


@pytest.mark.parametrize(
    ("true", "predicted", "expected"),
    [
        # lost by the prediction, and nobody changes it after that
        ([{"to": ["Oslo"]}] * 3, [{"to": ["Oslo"]}, {}, {}], [1, 0, 1]),
        # lost on both sides, and by the reference alone
        ([TWO, {}], [TWO, {}], [1, 1]),
        ([TWO, {}, {}], [TWO] * 3, [1, 0, 1]),
        # too early is wrong once, and right when it is said
        ([{}, TWO], [TWO] * 2, [0, 1]),
        # put right, and made wrong again in another way
        ([TWO] * 3, [{"seats": [n]} for n in "124"], [0, 1, 0]),
        # another spoken variant is as right; one more of the reference is no change
        ([{"to": ["Oslo"]}, {"to": ["the city", "Oslo"]}], [{"to": ["Oslo"]}] * 2, [1, 1]),
        ([{"to": ["NYC", "New York"]}] * 2, [{"to": ["NYC"]}, {"to": ["New York"]}], [1, 1]),
        # nothing said by anybody; a slot that the schema lacks is left out
        ([{}, {}], [{}, {"pets": ["1"]}], [1, 1]),
    ],
)
def test_changes_by_hand(true: States, predicted: States, expected: list[float]) -> None:
    assert scores(*rows(true, predicted, SCHEMA), "joint_change_accuracy") == expected


# ---- canonical values

TRIP = {"day": False, "city": False, "seats": True}
# The worked example of the card: true values, canonical ones, and what is predicted.
SAID: States = [
    {"day": ["next Friday"]},
    {"day": ["next Friday"], "city": ["SF"]},
    {"day": ["March 9th"], "city": ["SF"], "seats": ["2"]},
]
CITY = {"city": ["San Francisco"]}
CANONICAL = [
    {"day": ["2019-03-08"]},
    {"day": ["2019-03-08"]} | CITY,
    {"day": ["2019-03-09"]} | CITY,
]
GUESSED = [
    {"day": ["2019-03-08"]},
    {"day": ["next Friday"]} | CITY,
    {"day": ["2019-03-08"], "seats": ["2"]} | CITY,
]


def test_a_canonical_value_is_right_where_it_is_meant() -> None:
    """A date for a day that was said is right, but not that of a day which is no longer meant."""
    references, predictions = rows(SAID, GUESSED, TRIP, CANONICAL)
    official = [0.1, 0.13, 0.11 * 0.13]
    assert scores(references, predictions, "joint_goal_accuracy") == pytest.approx(official)
    assert scores(references, predictions, "joint_canonical_accuracy") == [1, 1, 0.11]
    found = score(predictions, references)
    assert found["canonical_orig"] == pytest.approx(2.11 / 3)
    assert "|sd:sample|canonical:said-so-far|system-acts:" in found.signature
    # References without canonical values leave it undefined.
    without = score(predictions, [row | {"canonical_values": None} for row in references])
    assert without["canonical_orig"] is None and "canonical" not in without.signature
    assert without["jga_orig"] == pytest.approx(sum(official) / 3)
