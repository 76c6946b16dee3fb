"""Sums by dialogue and service, and the figures that follow from counts and over variants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sgdx_metric.columns import Floats
from sgdx_metric.statistics import Sample
from sgdx_metric.units import Scores
from sgsacc_metric.figures import compute_metrics, cross_variant_stats, turn_figures, unit_scores
from sgsacc_metric.report import turn_count
from sgsacc_metric.scoring import BLEU_COLUMNS, TurnScores, score_turns

from .turns import four_turns


@pytest.fixture(scope="module")
def units() -> Scores:
    """Turns 0 and 1 of one dialogue, 2 and 3 of another, 3 of another service; 0 is wrong."""
    turns = four_turns()
    right = [turn.utterance for turn in turns]
    wrong = ["A hotel ?", *right[1:]]
    return unit_scores(turns, score_turns(turns, {"original": right, "v1": wrong, "v2": right}))


def test_units_and_their_groups(units: Scores) -> None:
    assert units.items.ids.to_pylist() == [
        "1_00000/Hotels_1", "1_00001/Hotels_1", "1_00001/Hotels_2"
    ]  # fmt: skip
    assert units.metrics["turns"][1].tolist() == [2, 1, 1]
    assert units.metrics["wrong"].tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert {name: group.tolist() for name, group in units.items.groups().items()} == {
        "all": [0, 1, 2],
        "seen": [0, 1],
        "unseen": [2],
        "seen_domains": [0, 1, 2],
        "unseen_domains": [],
        "Hotels_1": [0, 1],
        "Hotels_2": [2],
    }
    assert turn_count(units.only(np.array([0, 2]))) == 3


def test_sums_by_dialogue_give_the_figures(units: Scores) -> None:
    sample = Sample(turn_figures(units), units.items.dialogue)
    assert sample.dialogues == 2
    figures = sample.values()
    assert figures["ser_orig"] == 0 and figures["bleu_orig"] == pytest.approx(100)
    assert "ser_v1-5" not in figures  # v3 to v5 are lacking
    assert figures["flips_ser"] == 0.25 and figures["changed"] == 0.125


BLEU_COUNTS = (5, 3, 2, 1, 6, 5, 4, 3, 6, 8)


def sums(**counts: float) -> dict[str, Floats]:
    columns = dict(zip(BLEU_COLUMNS, BLEU_COUNTS, strict=True))
    return {name: np.array(float(count)) for name, count in (columns | counts).items()}


def test_ratios_of_counts() -> None:
    metrics = compute_metrics(
        sums(
            turns=10, wrong=2, faithful=6, judged=8, valid=0, faithful_valid=0,
            ser_slots=7,
        )
    )  # fmt: skip
    del metrics["bleu"]
    assert np.isnan(metrics.pop("sgsacc_validated"))
    assert metrics == {
        "ser": 0.2,
        "sgsacc": 0.6,
        "coverage": 0.8,
        "validated": 0.0,
        "ser_coverage": 0.7,
    }


def scores_of(
    utterances: Sequence[str],
    sentence_bleu: Sequence[float],
    wrong: Sequence[float],
    faithful: Sequence[float] | None = None,
) -> TurnScores:
    counts = {"wrong": np.array(wrong)}
    counts |= {} if faithful is None else {"faithful": np.array(faithful)}
    return TurnScores([*utterances], counts, np.array(sentence_bleu))


def test_two_turns_under_three_variants() -> None:
    stats = cross_variant_stats(
        {
            "original": scores_of(["a", "b"], [50.0, 100.0], [0.0, 0.0], [1.0, 1.0]),
            "v1": scores_of(["a", "c"], [40.0, 0.0], [0.0, 1.0], [1.0, 0.0]),
            "v2": scores_of(["x", "c"], [60.0, 0.0], [0.0, 1.0], [0.0, 0.0]),
        }
    )
    # Standard deviation sqrt(200) over mean 50, and 0 where all scores are 0.
    assert stats["ss_bleu"] == pytest.approx([np.sqrt(200) / 50, 0])
    assert stats["ss_ser"] == pytest.approx([0, 0])
    # Faithful under one of two: standard deviation sqrt(.5) over mean .5.
    assert stats["ss_sgsacc"] == pytest.approx([np.sqrt(2), 0])
    assert stats["flips"].tolist() == [1, 0] and stats["flips_ser"].tolist() == [0, 0]
    assert stats["changed"].tolist() == [0.5, 1]


def test_the_worst_case_of_six_variants_by_hand() -> None:
    """Turn 0 is right under all, turn 1 wrong under v5 alone, turn 2 wrong under all."""
    right, wrong = scores_of("abc", [9.0] * 3, [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]), {}
    wrong["v5"] = scores_of("abc", [9.0] * 3, [0.0, 1.0, 1.0], [1.0, 0.0, 0.0])
    six = dict.fromkeys(("original", "v1", "v2", "v3", "v4"), right) | wrong
    stats = cross_variant_stats(six)
    assert stats["ser_worst"].tolist() == [0, 1, 1] and stats["ser_flips"].tolist() == [0, 1, 0]
    assert stats["sgsacc_worst"].tolist() == [1, 0, 0]
    assert stats["sgsacc_flips"].tolist() == [0, 1, 0]
    assert not any(name.endswith(")") for name in stats)
    mine = cross_variant_stats({**six, "mine": scores_of("abc", [9.0] * 3, [1.0, 1.0, 0.0])})
    assert mine["ser_worst"].tolist() == [0, 1, 1]
    assert mine["ser_worst(original+v1..v5+mine)"].tolist() == [1, 1, 1]
    assert mine["ser_flips(original+v1..v5+mine)"].tolist() == [1, 1, 1]


def test_what_lacks_variants_or_a_model_is_left_out() -> None:
    one = scores_of(["a"], [50.0], [0.0])
    of_pair = {"ss_bleu", "ss_ser", "flips_ser", "ser_worst(v1+v2)", "ser_flips(v1+v2)"}
    for names, stats in (
        (["original"], set()),
        (["v1"], set()),
        (["original", "v1"], {"changed", "ser_worst(original+v1)", "ser_flips(original+v1)"}),
        (["v1", "v2"], of_pair),
    ):
        assert set(cross_variant_stats(dict.fromkeys(names, one))) == stats
    wider = cross_variant_stats({"v1": one, "v2": one, "mine": scores_of(["a"], [0.0], [1.0])})
    assert wider["ss_ser"].tolist() == [0]
    assert wider["ss_ser(v1+v2+mine)"] == pytest.approx([np.sqrt(1 / 3) / (2 / 3)])
