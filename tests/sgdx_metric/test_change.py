"""What changes from frame to frame: literal values, the published rule, and the order of turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdx_metric.scoring import score_frames

from . import slow
from .frames import Row, prediction, prediction_table, reference, reference_table

SCHEMA = {"from": False, "to": False, "seats": True}
# The worked example of the metric's card: one service, five turns of the user.
TRUE = [
    {"from": ["Rome"]},
    {"from": ["Rome"], "to": ["Oslo"]},
    {"from": ["Rome"], "to": ["Oslo", "Oslo city"], "seats": ["2"]},
    {"from": ["Rome"], "to": ["Oslo", "Oslo city"], "seats": ["3"]},
    {"from": ["Rome"], "to": ["Oslo", "Oslo city"], "seats": ["3"]},
]
PREDICTED = [
    {"from": ["Rome"]},
    {"from": ["Rome"], "to": ["Bonn"]},
    {"from": ["Rome"], "to": ["Bonn"], "seats": ["2"]},
    {"from": ["Rome"], "to": ["Bonn"], "seats": ["2"]},
    {"from": ["Rome"], "to": ["Bonn"], "seats": ["3"]},
]


def rows(
    true: list[slow.State], predicted: list[slow.State], variant: str = "original"
) -> tuple[list[Row], list[Row]]:
    """The frames of a service in turns 0, 2, 4, ..., of which the tenth sorts before the second."""
    ids = [f"1_00000/{2 * i}/Trains_1" for i in range(len(true))]
    references = [reference(s, i, SCHEMA, variant=variant) for s, i in zip(true, ids)]
    return references, [prediction(s, i, variant=variant) for s, i in zip(predicted, ids)]


def scores(true: list[slow.State], predicted: list[slow.State], metric: str) -> list[float]:
    references, predictions = rows(true, predicted)
    tables = reference_table(*references), prediction_table(*predictions)
    result = score_frames(*tables, "original")
    by_id = dict(zip(result.frame_id.to_pylist(), result.scores[metric].tolist()))
    return [by_id[row["frame_id"]] for row in references]


def test_the_example_of_the_card() -> None:
    """Bonn for Oslo is wrong in turn 2 and carried along; seats are late in turn 6."""
    # fuzzy: of 'bonn' and 'oslo' one letter is common, 2 * 1 / 8
    assert scores(TRUE, PREDICTED, "joint_goal_accuracy") == [1, 0.25, 0.25, 0, 0.25]
    assert scores(TRUE, PREDICTED, "joint_change_accuracy") == [1, 0.25, 1, 0, 1]


@pytest.mark.parametrize(
    ("true", "predicted", "expected"),
    [
        # lost by the prediction, and nobody changes it after that
        ([{"to": ["Oslo"]}] * 3, [{"to": ["Oslo"]}, {}, {}], [1, 0, 1]),
        # lost on both sides, and by the reference alone
        ([{"seats": ["2"]}, {}], [{"seats": ["2"]}, {}], [1, 1]),
        ([{"seats": ["2"]}, {}, {}], [{"seats": ["2"]}] * 3, [1, 0, 1]),
        # too early is wrong once, and right when it is said
        ([{}, {"seats": ["2"]}], [{"seats": ["2"]}] * 2, [0, 1]),
        # put right, and made wrong again in another way
        ([{"seats": ["2"]}] * 3, [{"seats": [n]} for n in "124"], [0, 1, 0]),
        # another spoken variant is as right; one more of the reference is no change
        ([{"to": ["Oslo"]}, {"to": ["the city", "Oslo"]}], [{"to": ["Oslo"]}] * 2, [1, 1]),
        ([{"to": ["NYC", "New York"]}] * 2, [{"to": ["NYC"]}, {"to": ["New York"]}], [1, 1]),
        # nothing said by anybody; a slot that the schema lacks is left out
        ([{}, {}], [{}, {"pets": ["1"]}], [1, 1]),
    ],
)
def test_changes_by_hand(
    true: list[slow.State], predicted: list[slow.State], expected: list[float]
) -> None:
    assert scores(true, predicted, "joint_change_accuracy") == expected


VALUE = st.sampled_from(["1", "2", "3"]).map(lambda value: [value])
# States that only grow, as the published rule takes no notice of a value that is lost.
STATES = st.lists(st.dictionaries(st.sampled_from(list(SCHEMA)), VALUE), min_size=6, max_size=6)


@given(STATES, STATES)
def test_equals_the_published_rule(new_true: list[slow.State], new_guess: list[slow.State]) -> None:
    true, guess = ([dict[str, list[str]]()] for _ in range(2))
    for new, states in ((new_true, true), (new_guess, guess)):
        for state in new:
            states.append(states[-1] | state)
    expected = [float(right) for right in slow.turn_match(true, guess)]
    # "1", "2" and "3" have no letter in common: each score is 0 or 1.
    assert scores(true, guess, "joint_change_accuracy") == expected
