"""Hand-computed scores of single frames, and agreement with the rules written down directly."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
from fuzzywuzzy import fuzz
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdx_eval.gold import open_gold
from sgdx_metric.errors import ScoreError
from sgdx_metric.fuzzy import fuzzy_score, fuzzy_scores
from sgdx_metric.scoring import METRICS, NAMES, FrameScores, score_frames
from sgdx_metric.signature import OFFICIAL, Rules
from sgdx_metric.statistics import mean_defined
from sgdx_metric.units import index_frames, unit_scores

from . import slow
from .frames import (
    Row,
    prediction,
    prediction_table,
    reference,
    reference_table,
    state,
    with_errors,
)

NAN = math.nan
GOALS = METRICS[7:13]


def scores_of(true: Row, predicted: Row) -> dict[str, float]:
    result = score_frames(reference_table(true), prediction_table(predicted), "original")
    return {metric: float(values[0]) for metric, values in result.scores.items()}


# average: all, categorical, free-form; joint: the same.
@pytest.mark.parametrize(
    ("true", "predicted", "expected"),
    [
        # nothing to say, nothing said: no average, all joint
        ({}, {}, (NAN, NAN, NAN, 1, 1, 1)),
        ({"stars": ["3"]}, {"stars": ["4"]}, (0, 0, NAN, 0, 0, 1)),
        ({"stars": ["dontcare"]}, {"stars": ["dontcare"]}, (1, 1, NAN, 1, 1, 1)),
        # no special case: 2 * 2 / 12, "o" and "e" are common
        ({"city": ["dontcare"]}, {"city": ["Rome"]}, (0.33, NAN, 0.33, 0.33, 1, 0.33)),
        # missed, and one too many: the latter costs the joint score only
        ({"city": ["Rome"]}, {}, (0, NAN, 0, 0, 1, 0)),
        ({}, {"wifi": ["True"]}, (NAN, NAN, NAN, 0, 0, 1)),
        ({"city": ["Rome"]}, {"name": ["Rome"]}, (0, NAN, 0, 0, 1, 0)),
        # fuzzy: 2 * 3 / 7 of 'rom' and 'rome'; the product counts both slots
        (
            {"city": ["Rome"], "name": ["Rome"], "stars": ["3"]},
            {"city": ["Rom"], "name": ["Rom"], "stars": ["3"]},
            (2.72 / 3, 1, 0.86, 0.86**2, 1, 0.86**2),
        ),
        # the best of the spoken variants counts, of the prediction only its first value
        ({"city": ["NYC", "New York"]}, {"city": ["york new"]}, (1, NAN, 1, 1, 1, 1)),
        ({"city": ["Rome"]}, {"city": ["xx", "Rome"]}, (0, NAN, 0, 0, 1, 0)),
        # a categorical slot: first against first, exactly
        ({"stars": ["3", "three"]}, {"stars": ["three"]}, (0, 0, NAN, 0, 0, 1)),
        ({"wifi": ["True"]}, {"wifi": ["true"]}, (0, 0, NAN, 0, 0, 1)),
        # a slot that the schema lacks is left out
        ({"stars": ["3"]}, {"stars": ["3"], "pets": ["no"]}, (1, 1, NAN, 1, 1, 1)),
    ],
)
def test_goal_accuracy(
    true: slow.State, predicted: slow.State, expected: tuple[float, ...]
) -> None:
    scores = scores_of(reference(true), prediction(predicted))
    assert [scores[metric] for metric in GOALS] == pytest.approx(list(expected), nan_ok=True)


@pytest.mark.parametrize(
    ("true", "predicted", "expected"),
    [
        ([], [], (1, 1, 1)),
        (["city"], [], (0, 1, 0)),
        ([], ["city"], (0, 0, 1)),
        (["city", "name"], ["city", "wifi", "stars"], (0.4, 1 / 3, 1 / 2)),
        (["city"], ["city", "city"], (2 / 3, 1 / 2, 1)),  # a multiset
        (["city", "city"], ["city"], (2 / 3, 1, 1 / 2)),
    ],
)
def test_requested_slots(true: list[str], predicted: list[str], expected: tuple[float]) -> None:
    scores = scores_of(reference(requested_slots=true), prediction(requested_slots=predicted))
    assert [scores[metric] for metric in METRICS[1:4]] == pytest.approx(list(expected))


def span(slot: str, start: int, end: int) -> Row:
    return {"slot": slot, "start": start, "exclusive_end": end}


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        (None, (NAN, NAN, NAN)),
        ([], (0, 1, 0)),
        ([span("city", 8, 12)], (1, 1, 1)),  # the same word elsewhere
        ([span("name", 3, 7)], (0, 0, 0)),
        ([span("city", 3, 7), span("wifi", 0, 2)], (1, 1, 1)),  # a categorical slot has no span
        ([span("city", 3, 7), span("name", 0, 2)], (2 / 3, 1 / 2, 1)),
    ],
)
def test_slot_tagging(predicted: list[Row] | None, expected: tuple[float, ...]) -> None:
    true = reference(utterance="in Rome Rome", slots=[span("city", 3, 7)])
    scores = scores_of(true, prediction(slots=predicted))
    assert [scores[m] for m in METRICS[4:7]] == pytest.approx(list(expected), nan_ok=True)


def test_what_the_schema_lacks_is_counted_and_without_slots_there_is_no_goal() -> None:
    predicted = prediction({"pets": ["no"], "pool": ["no"], "city": ["Rome"]})
    result = score_frames(reference_table(reference()), prediction_table(predicted), "original")
    assert (result.ignored_slots, result.predicted_slots) == (2, 3)
    scores = scores_of(reference(schema={}), prediction({"city": ["Rome"]}))
    assert all(math.isnan(scores[metric]) for metric in GOALS)


FIRST, SECOND = "1/0/A_1", "1/0/B_1"


@pytest.mark.parametrize(
    ("predicted", "found"),
    [
        ([FIRST], f"1 of 2 frames .* {SECOND}"),
        ([FIRST, SECOND, FIRST], f"1 of 2 frames .* {FIRST}"),
        ([FIRST, SECOND, "1/0/C_2"], f"1 of 3 frames .* 1/0/C_2; .*{FIRST}"),  # ids of that turn
        ([FIRST, SECOND, "1/1/A_1"], "1/1/A_1; .*its dialogue is known and its turn is not"),
        ([FIRST, SECOND, "2/0/A_1", "3"], "2 of 4 frames .* 2/0/A_1; .*of another source or split"),
        ([], f"2 of 2 frames .* {FIRST}"),
    ],
)
def test_frames_must_match(predicted: list[str], found: str) -> None:
    true = reference_table(reference(frame_id=SECOND), reference(frame_id=FIRST))
    rows = prediction_table(*(prediction(frame_id=frame_id) for frame_id in predicted))
    with pytest.raises(ScoreError, match=f"predictions for v3: .*{found}"):
        score_frames(true, rows, "v3")
    # Every split has a dialogue 1_00000: mixed, its frames are there twice.
    twice = reference_table(reference(frame_id=FIRST), reference(frame_id=FIRST))
    with pytest.raises(ScoreError, match="references for v3: 1 of 1 frames"):
        score_frames(twice, rows, "v3")


def test_rows_at_fault_name_their_frame_and_slot() -> None:
    frame = "frame 1_00000/0/Hotels_1 .*'city'"
    twice = prediction() | {"slot_values": state({"city": ["Rome"]}) * 2}
    with pytest.raises(ScoreError, match=frame):
        scores_of(reference(), twice)
    true = reference({"city": ["Rome"]})
    true["schema_slots"].append({"name": "city", "is_categorical": True})
    with pytest.raises(ScoreError, match=f"schema of {frame}"):
        scores_of(true, prediction())
    with pytest.raises(ScoreError, match="'slots' and 'utterance'"):
        scores_of(reference(), prediction(slots=[]))


@pytest.mark.parametrize("slot", ["city", "stars"])
@pytest.mark.parametrize("side", ["reference", "prediction"])
def test_a_slot_without_a_value_is_refused(side: str, slot: str) -> None:
    """It must not shift the values of the slots after it; officially it stops the scorer."""
    make = {"reference": reference, "prediction": prediction}
    values = {"city": ["Rome"], "stars": ["3"]}
    rows = {of: [make[of](values, f"{i}/0/A") for i in "123"] for of in make}
    rows[side][1]["slot_values"] = state({"name": ["Inn"], slot: []})
    tables = reference_table(*rows["reference"]), prediction_table(*rows["prediction"])
    with pytest.raises(ScoreError, match=f"{side} of frame 2/0/A .*'{slot}'"):
        score_frames(*tables, "v1")


SLOT = st.sampled_from(["city", "name", "stars", "wifi", "pets"])
VALUE = st.sampled_from(["Rome", "rome italy", "Italy Rome", "dontcare", "3", "", "è"]) | st.text()
STATE = st.dictionaries(SLOT, st.lists(VALUE, min_size=1, max_size=3)).map(state)
SPANS = st.lists(st.builds(span, SLOT, st.integers(0, 9), st.integers(0, 12)), max_size=3)
RULES = st.builds(Rules, st.booleans(), st.booleans(), st.sampled_from(["0", "drop"]))
PARTS = {
    "active_intent": st.sampled_from(["FindHotel", "NONE"]),
    "requested_slots": st.lists(SLOT, max_size=3),
    "slot_values": STATE,
}
SIDES = st.tuples(
    st.fixed_dictionaries(
        PARTS
        | {"slots": SPANS, "utterance": st.text(max_size=12), "canonical_values": st.none() | STATE}
    ),
    st.fixed_dictionaries(PARTS | {"slots": st.none() | SPANS}),
    st.sampled_from(["Hotels_1", "Hotels_2", "Banks_1", "Alarms_1"]),
    st.booleans(),
)
Sides = list[tuple[Row, Row, str, bool]]


def rows_of(sides: Sides) -> tuple[list[Row], list[Row]]:
    references, predictions = [], []
    for i, (true, predicted, service, is_right) in enumerate(sides):
        # Three frames to a turn, each of another service, which may be in the next turn too.
        frame_id = f"1_00000/{8 + 2 * (i // 3)}/{service}_{i % 3}"
        row = reference(frame_id=frame_id, service=service, seen=service == "Hotels_1") | true
        if service == "Alarms_1":
            row |= {"schema_slots": []}
        references.append(row)
        state = {"slot_values": true["slot_values"]} if is_right else {}
        predictions.append(prediction(frame_id=frame_id) | predicted | state)
    return references, predictions


def group_means(frames: FrameScores, rules: Rules) -> dict[str, dict[str, float | None]]:
    """The means of every metric for each group: all, seen, unseen, service, domain."""
    turn = index_frames(frames.frame_id, frames.seen).turn
    services = frames.service.to_pylist()
    groups = {"#ALL_SERVICES": np.ones(len(turn), dtype=bool), "#SEEN_SERVICES": frames.seen}
    groups["#UNSEEN_SERVICES"] = ~frames.seen
    for name in dict.fromkeys(n for s in services for n in (s, s.split("_")[0])):
        groups[name] = np.array([name in (s, s.split("_")[0]) for s in services])
    return {
        name: {
            m: mean_defined(
                unit_scores(NAMES.get(m, m), frames.scores[m][member], turn[member], rules)
            )
            for m in METRICS
        }
        for name, member in groups.items()
        if member.any()
    }


def check(references: list[Row], predictions: list[Row], scores: FrameScores, rules: Rules) -> None:
    """Hold the means of scores against those of the rules written down directly."""
    flags = rules.use_fuzzy_match, rules.joint_acc_across_turn
    expected, found = slow.group_means(references, predictions, *flags), group_means(scores, rules)
    assert set(found) == set(expected)
    for group, means in expected.items():
        known = {metric: mean for metric, mean in found[group].items() if mean is not None}
        assert known == pytest.approx(means, abs=1e-12, rel=0), group


@given(st.lists(SIDES, min_size=1, max_size=9), RULES)
def test_equals_the_rules_written_down_directly(sides: Sides, rules: Rules) -> None:
    references, predictions = rows_of(sides)
    tables = reference_table(*references[::-1]), prediction_table(*predictions)
    check(references, predictions, score_frames(*tables, "original", rules), rules)


@pytest.mark.release
@pytest.mark.slow
def test_every_metric_of_every_group_of_the_release(release_archive: Path) -> None:
    references = open_gold(str(release_archive), "test", {}).rows("v5")
    rows, chance = references.to_pylist(), random.Random(0)  # noqa: S311
    guesses = [with_errors(row, chance) for row in rows]
    for rules in (OFFICIAL, Rules(use_fuzzy_match=False, joint_acc_across_turn=True)):
        scores = score_frames(references, prediction_table(*guesses), "v5", rules)
        check(rows, guesses, scores, rules)
        assert len(group_means(scores, rules)) > 30


def test_a_value_of_a_megabyte_is_scored_in_time() -> None:
    long = "word " * 200_000
    for true, expected in (("Rome", 0), (long, 1)):
        scores = scores_of(reference({"city": [true]}), prediction({"city": [long]}))
        assert scores["joint_goal_accuracy"] == expected


# ---- the string score

LITERAL = [
    ("half past 4", "4 half past", 1.0),  # order does not count
    ("P.f. Chang's", "p f chang s", 1.0),  # nor case, nor what is no word character
    ("San Jose", "San José", 0.93),  # é is dropped: 'jose san' against 'jos san'
    ("", "", 1.0),
    ("", "a", 0.0),
    ("12:30 pm", "12:30", 0.77),  # 2 * 5 / 13
    ("a" * 9, "a" + "b" * 6, 0.12),  # 12.5 rounds to the even 12
    ("a" * 3, "a" * 3 + "b" * 10, 0.38),  # 37.5 rounds to the even 38
]
ENDS_OF_BLOCKS = st.sampled_from("aAbé_ \t-'\x7f\x80\xff\u0100\u0130\u017fßǅ٣Ωçł京\u2028\U0001f600")
TEXT = st.text() | st.text(ENDS_OF_BLOCKS, max_size=12)


def similarity(left: str, right: str) -> float:
    (found,) = fuzzy_scores([left, right], np.array([0]), np.array([1]))
    assert fuzzy_score(left, right) == found
    return float(found)


def test_literal_scores_of_texts_and_their_places() -> None:
    for left, right, expected in LITERAL:
        assert similarity(left, right) == expected
    words = ["a b", "b a", "c"]
    places = np.array([0, 2, 0, 2, 1]), np.array([1, 0, 2, 2, 0])
    assert fuzzy_scores(words, *places).tolist() == [1, 0, 0, 1, 1]
    assert fuzzy_scores([], np.array([], int), np.array([], int)).tolist() == []


@settings(max_examples=200)
@given(TEXT, TEXT)
def test_equals_fuzzywuzzy_on_any_text(left: str, right: str) -> None:
    assert fuzz.SequenceMatcher.__name__ == "StringMatcher"  # the C backend
    assert similarity(left, right) == fuzz.token_sort_ratio(left, right) / 100.0
