"""Robustness figures, groups and signature of frames that are right or wrong as told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sgdx_metric.errors import ScoreError
from sgdx_metric.robustness import HEADLINE, report
from sgdx_metric.scoring import METRICS, score_variants
from sgdx_metric.signature import Setup
from sgdx_metric.statistics import flipped, worst_case

from .frames import prediction_table, reference_table, six_variants

RIGHT, WRONG = True, False
# Frames 0 and 2 are of Hotels_1 (seen), 1 and 3 of Banks_2 (unseen).
SCORES = {
    "original": [RIGHT, RIGHT, WRONG, RIGHT],
    "v1": [RIGHT, RIGHT, WRONG, WRONG],
    "v2": [RIGHT, WRONG, WRONG, WRONG],
    "v3": [RIGHT, WRONG, WRONG, WRONG],
    "v4": [RIGHT, WRONG, WRONG, WRONG],
    "v5": [RIGHT, RIGHT, WRONG, WRONG],
}
MINE = {**SCORES, "mine": [WRONG, RIGHT, WRONG, RIGHT]}
# Two of five right: mean 0.4, sample variance (2 * 0.36 + 3 * 0.16) / 4 = 0.3.
TWO_OF_FIVE = math.sqrt(0.3) / 0.4


def score(scores: dict[str, list[bool]], **others: Any) -> dict[str, Any]:
    references, predictions = six_variants(scores)
    predictions.reverse()
    tables = reference_table(*references), prediction_table(*predictions)
    return report(score_variants(*tables), Setup(**others))


def headline(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: figures[name] for name in HEADLINE}


def test_headline_figures_by_hand() -> None:
    """Frame 0 is right under all six, frame 2 under none, frames 1 and 3 under some."""
    sgdx = score(SCORES)["sgdx"]
    assert [*sgdx["by_variant"].values()] == [0.75, 0.5, 0.25, 0.25, 0.25, 0.5]
    assert sgdx["drop"] == pytest.approx(-0.4)
    low, high = sgdx["confidence"]["drop"]
    assert low < -0.4 < high <= 0
    of_all = {
        "jga_orig": 0.75,
        "jga_v1-5": 0.35,
        "relative_difference": -0.4 / 0.75,
        # Frames 2 and 3 are wrong under all five: they count as 0 among the four.
        "ss_jga": TWO_OF_FIVE / 4,
        "ss_jga_nonzero": TWO_OF_FIVE / 2,
        "jga_worst": 0.25,
        "flips": 0.5,
        "change_orig": 0.75,
        "change_v1-5": 0.35,
        **{"canonical_orig": None, "canonical_v1-5": None},  # the references have no such values
    }
    unseen = of_all | {
        **{"jga_orig": 1.0, "jga_v1-5": 0.2, "relative_difference": -0.8},
        "ss_jga": TWO_OF_FIVE / 2,
        "ss_jga_nonzero": TWO_OF_FIVE,  # one of the two is never right
        **{"jga_worst": 0.0, "flips": 1.0, "change_orig": 1.0, "change_v1-5": 0.2},
    }
    half = ("jga_orig", "jga_v1-5", "jga_worst", "change_orig", "change_v1-5")
    none = ("relative_difference", "ss_jga", "ss_jga_nonzero", "flips")
    seen = of_all | dict.fromkeys(half, 0.5) | dict.fromkeys(none, 0.0)
    of_services = sgdx["by_service"]
    for figures, expected in (
        (sgdx, of_all),
        (sgdx["seen"], seen),
        (sgdx["unseen"], unseen),
        (of_services.pop("Banks_2"), unseen),
        (of_services.pop("Hotels_1"), seen),
    ):
        assert headline(figures) == pytest.approx(expected)
    assert not of_services
    assert sgdx["mean_v1-5"]["average_cat_accuracy"] == pytest.approx(0.35)
    assert sgdx["sensitivity"]["average_cat_accuracy"] == pytest.approx(TWO_OF_FIVE / 4)
    assert set(sgdx["sensitivity"]) == set(sgdx["mean_v1-5"]) == set(METRICS)
    assert sgdx["mean_v1-5"]["active_intent_accuracy"] == 1
    assert sgdx["sensitivity"]["active_intent_accuracy"] == 0
    assert sgdx["sensitivity"]["slot_tagging_f1"] is None
    # All dialogues are alike in one group. Of two dialogues that is not sure: Clopper and Pearson's
    # 0 of 2 and 2 of 2.
    seen, unseen = sgdx["seen"]["confidence"], sgdx["unseen"]["confidence"]
    assert unseen["jga_worst"] == pytest.approx([0, 0.8419], abs=1e-4)
    assert unseen["flips"] == pytest.approx([0.1581, 1], abs=1e-4)
    assert seen["jga_worst"] == [0, 1]
    assert seen["flips"] == pytest.approx([0, 0.8419], abs=1e-4)


def test_another_set_of_variants_has_its_own_figures_and_changes_none_of_the_paper() -> None:
    """Under `mine` frame 0 is wrong: none is right under all seven, and three of four flip."""
    plain, mine = score(SCORES)["sgdx"], score(MINE)["sgdx"]
    assert headline(mine) == headline(plain)
    assert mine["confidence"]["ss_jga"] == plain["confidence"]["ss_jga"]
    assert mine["sensitivity"] == plain["sensitivity"]
    assert not any("(" in key for key in plain)
    assert mine["jga_worst(original+v1..v5+mine)"] == 0
    assert mine["flips(original+v1..v5+mine)"] == 0.75
    interval = mine["confidence"]["jga_worst(original+v1..v5+mine)"]
    assert interval == pytest.approx([0, 0.6024], abs=1e-4)
    # Frame 0 is right under five of six: mean 5/6, sample variance 1/6; frame 1 under three, 0.3;
    # frame 3 under one, 1/6.
    of_seen = math.sqrt(1 / 6) / (5 / 6)
    wider = (of_seen + math.sqrt(0.3) / 0.5 + math.sqrt(1 / 6) / (1 / 6)) / 4
    assert mine["ss_jga(v1..v5+mine)"] == pytest.approx(wider)
    assert mine["seen"]["ss_jga(v1..v5+mine)"] == pytest.approx(of_seen / 2)
    assert "ss_jga(v1..v5+mine)" in mine["confidence"]
    two = score({name: SCORES[name] for name in ("original", "v5")})["sgdx"]
    assert (two["jga_worst"], two["flips"], two["confidence"]["flips"]) == (None, None, None)
    # Of the four frames under these two, 0 and 1 are right under both and 3 changes sides.
    assert (two["jga_worst(original+v5)"], two["flips(original+v5)"]) == (0.5, 0.25)
    one = score({"original": SCORES["original"]})["sgdx"]
    assert not any("(" in key for key in one)


def test_groups_carry_the_names_of_the_variant() -> None:
    result = score(SCORES)
    groups = result["variants"]["v1"]
    sets, names = ("#ALL_SERVICES", "#SEEN_SERVICES", "#UNSEEN_SERVICES"), ("Hotels", "Banks")
    assert set(groups) == {*sets, *names, "Hotels_11", "Banks_21"}
    assert groups["Banks_21"]["joint_goal_accuracy"] == 0.5
    assert groups["Banks_21"]["slot_tagging_f1"] is None
    assert groups["#SEEN_SERVICES"]["average_cat_accuracy"] == 0.5
    accuracy = [result["variants"]["v2"][group]["joint_goal_accuracy"] for group in sets]
    assert accuracy == [0.25, 0.5, 0.0]
    assert result["frames"] == {"all": 4, "seen": 2, "unseen": 2}


def test_figures_that_need_what_is_not_there_are_none() -> None:
    some = score({name: SCORES[name] for name in ("v5", "v1")})
    for key in ("jga_orig", "jga_v1-5", "relative_difference"):
        assert some["sgdx"][key] is None
    assert some["sgdx"]["ss_jga"] == 0
    assert some["signature"].startswith("sgdx_metric|variants:v1+v5|split:unknown|")
    assert score({"original": SCORES["original"]})["sgdx"]["ss_jga"] is None
    assert score({"v1": SCORES["v1"][:1]})["sgdx"]["unseen"]["ss_jga"] is None
    wrong = score({name: [WRONG] for name in SCORES})["sgdx"]
    assert (wrong["jga_v1-5"], wrong["relative_difference"], wrong["ss_jga"]) == (0, None, 0)


def test_differences_to_the_original_by_hand() -> None:
    differences = score(MINE)["sgdx"]["differences"]
    assert list(differences) == ["mine", "v1", "v2", "v3", "v4", "v5"]
    assert differences["v1"]["jga"] == 0.5 and differences["v1"]["difference"] == -0.25
    assert differences["v1"]["low"] == -0.75 and differences["v1"]["high"] == 0
    # One of four dialogues differs: any swap gives as large a difference.
    assert differences["v1"]["p"] == 1 and differences["mine"]["difference"] == -0.25


def test_variants_of_different_frames_are_refused() -> None:
    with pytest.raises(ScoreError, match="1 frames of v1 .* original.* 1_00004"):
        score({"original": SCORES["original"], "v1": [*SCORES["v1"], RIGHT]})
    references, predictions = six_variants({"v1": [RIGHT], "v2": [RIGHT]})
    references[1]["seen"] = False
    tables = reference_table(*references), prediction_table(*predictions)
    with pytest.raises(ScoreError, match="frame 1_00000/0/Hotels_1 .* v1 and v2"):
        report(score_variants(*tables))
    with pytest.raises(ScoreError, match="references .*'v2'"):
        score_variants(reference_table(*references), prediction_table(predictions[0]))


def test_worst_case_and_flips_by_hand() -> None:
    scores = np.array(
        [
            [1, 0.6, 0.5, 0.49, 1, 0, 1, 0.5],
            [1, 0.9, 0.4, 0.2, np.nan, 0, 0, 0.2],
            [1, 0.7, 1.0, 0.3, 0, 0, 0.8, 0.3],
        ]
    )
    # Half right is right: 0.5 and 0.4 are on two sides, 0.6 to 0.9 and 0.2 to 0.49 are on one.
    worst, flips = [1, 0.6, 0.4, 0.2, np.nan, 0, 0, 0.2], [0, 0, 1, 0, np.nan, 0, 1, 1]
    assert worst_case(scores).tolist() == pytest.approx(worst, nan_ok=True)
    assert flipped(scores).tolist() == pytest.approx(flips, nan_ok=True)
    assert flipped(scores[:1]).tolist() == pytest.approx([0] * 8)
