"""Robustness figures, groups and signature of frames that are right or wrong as told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sgdx_metric import api
from sgdx_metric.errors import ScoreError
from sgdx_metric.result import Result
from sgdx_metric.scoring import HEADLINE, frame_scores, score_variants
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


def score(scores: dict[str, list[bool]], **others: Any) -> Result:
    references, predictions = six_variants(scores)
    return api.score(predictions[::-1], references, **others)


def values(result: Result, group: str = "all") -> dict[str, Any]:
    """The figures of a group that `evaluate` always has, None where one is not there."""
    named = result.named(group)
    return {name: named[name].value if name in named else None for name in HEADLINE}


def test_headline_figures_by_hand() -> None:
    """Frame 0 is right under all six, frame 2 under none, frames 1 and 3 under some."""
    result = score(SCORES)
    means = {name: f.value for name, f in result.by_variant("jga").items()}
    assert [*means.values()] == [0.75, 0.5, 0.25, 0.25, 0.25, 0.5]
    drop = result.figure("drop")
    assert drop and drop.interval and drop.interval[0] < -0.4 < drop.interval[1]
    of_all = {
        "jga_orig": 0.75,
        "jga_v1-5": 0.35,
        "drop": -0.4,
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
        **{"jga_orig": 1.0, "jga_v1-5": 0.2, "drop": -0.8, "relative_difference": -0.8},
        "ss_jga": TWO_OF_FIVE / 2,
        "ss_jga_nonzero": TWO_OF_FIVE,  # one of the two is never right
        **{"jga_worst": 0.0, "flips": 1.0, "change_orig": 1.0, "change_v1-5": 0.2},
    }
    half = ("jga_orig", "jga_v1-5", "jga_worst", "change_orig", "change_v1-5")
    none = ("drop", "relative_difference", "ss_jga", "ss_jga_nonzero", "flips")
    seen = of_all | dict.fromkeys(half, 0.5) | dict.fromkeys(none, 0.0)
    for group, expected in (("all", of_all), ("seen", seen), ("unseen", unseen)):
        assert values(result, group) == pytest.approx(expected)
    for service, expected in (("Banks_2", unseen), ("Hotels_1", seen)):
        found = {k: v for k, v in values(result, service).items() if v is not None}
        assert found == pytest.approx({key: expected[key] for key in found}) and len(found) == 8
    assert result["average_cat_accuracy_v1-5"] == pytest.approx(0.35)
    assert result["ss_average_cat_accuracy"] == pytest.approx(TWO_OF_FIVE / 4)
    assert result["active_intent_accuracy_v1-5"] == 1
    assert result["ss_active_intent_accuracy"] == 0
    for name in ("slot_tagging_f1_v1", "jga_worst(v1+v2)", "jga_flips_control", "canonical_drop"):
        assert result[name] is None
    for name in (
        "jga",
        "jga_original",
        "jgaa_orig",
        "jga_v6",
        "ss_jga_orig",
        "right_drop",
        "",
        "all",
    ):
        with pytest.raises(KeyError, match="expected one of"):
            result[name]
    # All dialogues are alike in one group. Of two dialogues that is not sure: Clopper and Pearson's
    # 0 of 2 and 2 of 2.
    for group, name, ends in (
        ("unseen", "jga_worst", [0, 0.8419]),
        ("unseen", "flips", [0.1581, 1]),
        ("seen", "flips", [0, 0.8419]),
    ):
        figure = result.figure(name, group)
        assert figure and figure.interval == pytest.approx(ends, abs=0.01)
        assert (figure.items, figure.clusters) == (2, 2)


def test_another_set_of_variants_has_its_own_figures_and_changes_none_of_the_paper() -> None:
    """Under `mine` frame 0 is wrong: none is right under all seven, and three of four flip."""
    plain, mine = score(SCORES), score(MINE)
    assert values(mine) == values(plain)
    for name in ("ss_jga", "drop"):
        one, other = plain.figure(name), mine.figure(name)
        assert one and other and one.interval == pytest.approx(other.interval, rel=0.1)
    assert not any("(" in name for name in plain.named())
    assert mine["jga_worst(original+v1..v5+mine)"] == 0
    assert mine["jga_flips(original+v1..v5+mine)"] == 0.75
    # The means over all words, and their drop.
    wider = sum(map(sum, (rights for name, rights in MINE.items() if name != "original"))) / 24
    assert mine["jga(v1..v5+mine)"] == pytest.approx(wider)
    assert mine["jga_drop(v1..v5+mine)"] == pytest.approx(wider - 0.75)
    # Frame 0 is right under five of six: mean 5/6, sample variance 1/6; frame 1 under three, 0.3;
    # frame 3 under one, 1/6.
    of_seen = math.sqrt(1 / 6) / (5 / 6)
    wider = (of_seen + math.sqrt(0.3) / 0.5 + math.sqrt(1 / 6) / (1 / 6)) / 4
    assert mine["ss_jga(v1..v5+mine)"] == pytest.approx(wider)
    two = score({name: SCORES[name] for name in ("original", "v5")})
    assert (two["jga_worst"], two["flips"]) == (None, None)
    # Of the four frames under these two, 0 and 1 are right under both and 3 changes sides.
    assert (two["jga_worst(original+v5)"], two["jga_flips(original+v5)"]) == (0.5, 0.25)
    main = two.main("jga", "flips")
    assert main and main.value == 0.25
    assert not any("(" in name for name in score({"original": SCORES["original"]}).named())


def test_figures_that_need_what_is_not_there_are_none() -> None:
    some = score({name: SCORES[name] for name in ("v5", "v1")})
    for key in ("jga_orig", "jga_v1-5", "relative_difference", "ss_jga"):
        assert some[key] is None
    assert some["ss_jga(v1+v5)"] == 0
    assert some.signature.startswith("sgdx_metric|variants:v1+v5|split:unknown|")
    assert score({"original": SCORES["original"]})["ss_jga"] is None
    assert "unseen" not in {f.group for f in score({"v1": SCORES["v1"][:1]}).figures if f.items}
    wrong = score({name: [WRONG] for name in SCORES})
    assert (wrong["jga_v1-5"], wrong["relative_difference"], wrong["ss_jga"]) == (0, None, 0)


def test_variants_of_different_frames_are_refused() -> None:
    with pytest.raises(ScoreError, match="1 frames of v1 .* original.* 1_00004"):
        score({"original": SCORES["original"], "v1": [*SCORES["v1"], RIGHT]})
    references, predictions = six_variants({"v1": [RIGHT], "v2": [RIGHT]})
    references[1]["seen"] = False
    tables = reference_table(*references), prediction_table(*predictions)
    with pytest.raises(ScoreError, match="frame 1_00000/0/Hotels_1 .* v1 and v2"):
        frame_scores(score_variants(*tables))
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
