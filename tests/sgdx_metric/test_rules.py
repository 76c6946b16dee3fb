"""Joint accuracy across turns, exact match, sensitivity of every metric: against the direct way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdx_metric.report import group_means, report
from sgdx_metric.robustness import variation
from sgdx_metric.rows import ScoreError
from sgdx_metric.scoring import METRICS, score_frames, score_variants
from sgdx_metric.signature import Rules, Setup

from . import slow
from .frames import Row, prediction, prediction_table, reference, reference_table, state

VALUE = st.sampled_from(["Rome", "Rom", "rome italy", "3", "dontcare"])
STATE = st.dictionaries(
    st.sampled_from(["city", "name", "stars"]), st.lists(VALUE, min_size=1, max_size=2)
).map(state)
SERVICES = {"Hotels_1": True, "Hotels_2": False, "Banks_1": False}
FRAME = st.tuples(st.integers(0, 2), st.sampled_from(list(SERVICES)))
RULES = st.builds(Rules, st.booleans(), st.booleans(), st.sampled_from(["0", "drop"]))


@st.composite
def systems(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """References and predictions of the same frames, several in a turn, under three variants."""
    references, predictions = [], []
    for turn, service in draw(st.sets(FRAME, min_size=1, max_size=6)):
        frame_id = f"1_0000{turn % 2}/{turn}/{service}"
        # A service without slots has no goal accuracies.
        schema = {} if service == "Banks_1" else {"city": False, "name": False, "stars": True}
        true = reference(None, frame_id, schema, seen=SERVICES[service])
        gold, intent = draw(STATE), draw(st.sampled_from(["FindHotel", "NONE"]))
        for variant in ("original", "v1", "v2"):
            named = {"variant": variant, "slot_values": gold}
            references.append(true | named)
            guess = prediction(None, frame_id, variant=variant, active_intent=intent)
            predictions.append(guess | {"slot_values": draw(st.just(gold) | STATE)})
    return references, predictions


def of(rows: list[Row], variant: str) -> list[Row]:
    return [row for row in rows if row["variant"] == variant]


@given(systems(), RULES)
def test_equals_the_rules_written_down_directly(
    rows: tuple[list[Row], list[Row]], rules: Rules
) -> None:
    references, predictions = (of(side, "v1") for side in rows)
    flags = rules.use_fuzzy_match, rules.joint_acc_across_turn
    expected = slow.group_means(references, predictions, *flags)
    tables = reference_table(*references), prediction_table(*predictions)
    found = group_means(score_frames(*tables, "v1", rules), rules)
    assert set(found) == set(expected)
    for group, means in expected.items():
        known = {metric: mean for metric, mean in found[group].items() if mean is not None}
        assert known == pytest.approx(means, abs=1e-12, rel=0)


@given(systems(), RULES)
def test_sensitivity_of_every_metric_equals_the_equation(
    rows: tuple[list[Row], list[Row]], rules: Rules
) -> None:
    sides = [slow.unit_scores(of(rows[0], v), of(rows[1], v),
                              rules.use_fuzzy_match, rules.joint_acc_across_turn)
             for v in ("v1", "v2")]  # fmt: skip
    result = report(scored(rows, rules), Setup(rules=rules))["sgdx"]
    groups = {"#ALL_SERVICES": result, "#SEEN_SERVICES": result["seen"],
              "#UNSEEN_SERVICES": result["unseen"], **result["by_service"]}  # fmt: skip
    for group, figures in groups.items():
        for metric in METRICS:
            units = [side[group][metric] for side in sides if group in side]
            scores = [[side[unit] for unit in sorted(units[0])] for side in units]
            drop = rules.zero_mean == "drop"
            expected = slow.sensitivity(scores, drop) if units and units[0] else None
            assert figures["sensitivity"][metric] == pytest.approx(expected, abs=1e-12), metric
    assert result["ss_jga"] == result["sensitivity"]["joint_goal_accuracy"]


def scored(rows: tuple[list[Row], list[Row]], rules: Rules) -> dict[str, Any]:
    tables = reference_table(*rows[0]), prediction_table(*rows[1])
    return dict(score_variants(*tables, rules))


def two_frames_in_a_turn(variant: str, *guesses: str) -> tuple[list[Row], list[Row]]:
    """Turn 0 has two frames, turn 2 one; the gold city is Rome in each."""
    ids = ("1_00000/0/Hotels_1", "1_00000/0/Hotels_2", "1_00000/2/Hotels_1")
    references = [reference({"city": ["Rome"]}, frame, variant=variant) for frame in ids]
    predictions = [
        prediction({"city": [guess]}, frame, variant=variant) for frame, guess in zip(ids, guesses)
    ]
    return references, predictions


def test_a_turn_scores_the_product_of_its_frames() -> None:
    rows = two_frames_in_a_turn("v1", "Rome", "Rom", "Rom")
    across = Rules(joint_acc_across_turn=True)
    of_turns = report(scored(rows, across), Setup(rules=across))
    means = of_turns["variants"]["v1"]
    assert means["#ALL_SERVICES"]["joint_goal_accuracy"] == pytest.approx((0.86 + 0.86) / 2)
    assert means["#ALL_SERVICES"]["average_goal_accuracy"] == pytest.approx((1 + 2 * 0.86) / 3)
    assert means["Hotels_1"]["joint_goal_accuracy"] == pytest.approx((1 + 0.86) / 2)
    assert of_turns["frames"]["all"] == 3
    of_frames = report(scored(rows, Rules()))["variants"]["v1"]["#ALL_SERVICES"]
    assert of_frames["joint_goal_accuracy"] == pytest.approx((1 + 2 * 0.86) / 3)


def test_exact_match_takes_any_spoken_variant() -> None:
    true = reference({"city": ["NYC", "New York"], "name": ["Inn"], "stars": ["3", "three"]})
    guess = prediction({"city": ["New York"], "name": ["inn"], "stars": ["three"]})
    tables = reference_table(true), prediction_table(guess)
    scores = score_frames(*tables, "v1", Rules(use_fuzzy_match=False)).scores
    assert scores["average_noncat_accuracy"].tolist() == [0.5]
    assert scores["average_cat_accuracy"].tolist() == [0]


def test_signature_tells_the_rules_apart() -> None:
    rows = two_frames_in_a_turn("v1", "Rome", "Rom", "Rom")
    lines = [
        report(scored(rows, rules := Rules(fuzzy, turn, zero)), Setup(rules=rules))["signature"]
        for fuzzy in (True, False) for turn in (True, False) for zero in ("0", "drop")
    ]  # fmt: skip
    assert len(set(lines)) == 8
    assert sum("|match:exact|joint:turn|zero-mean:drop|" in line for line in lines) == 1


def test_unknown_zero_mean_is_refused() -> None:
    with pytest.raises(ScoreError, match="zero_mean is 0"):
        Rules(zero_mean=0)  # type: ignore[arg-type]


def test_all_wrong_frames_count_as_zero_or_are_left_out() -> None:
    scores = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert variation(scores).tolist() == pytest.approx([0, 2**0.5, 0])
    assert variation(scores, "drop").tolist() == pytest.approx(
        [np.nan, 2**0.5, np.nan], nan_ok=True
    )


def test_seen_must_not_depend_on_the_variant() -> None:
    references, predictions = two_frames_in_a_turn("v1", "Rome", "Rome", "Rome")
    more = two_frames_in_a_turn("v2", "Rome", "Rome", "Rome")
    more[0][2]["seen"] = False
    with pytest.raises(ScoreError, match="frame 1_00000/2/Hotels_1 is seen in one of v1 and v2"):
        report(scored((references + more[0], predictions + more[1]), Rules()))
