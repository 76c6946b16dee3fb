"""What several variants together say of each turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sgsacc_metric.figures import cross_variant_stats
from sgsacc_metric.scoring import TurnScores


def scores_of(
    utterances: Sequence[str],
    sentence_bleu: Sequence[float],
    wrong: Sequence[float],
    faithful: Sequence[float] | None = None,
) -> TurnScores:
    counts = {"wrong": np.array(wrong)}
    counts |= {} if faithful is None else {"faithful": np.array(faithful)}
    return TurnScores([*utterances], counts, np.array(sentence_bleu), {})


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


def test_the_worst_case_of_six_wordings_by_hand() -> None:
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
    assert cross_variant_stats({"original": one}) == {}
    assert cross_variant_stats({"v1": one}) == {}
    two = {"changed", "ser_worst(original+v1)", "ser_flips(original+v1)"}
    assert set(cross_variant_stats({"original": one, "v1": one})) == two
    assert set(cross_variant_stats({"v1": one, "v2": one})) == {
        "ss_bleu", "ss_ser", "flips_ser", "ser_worst(v1+v2)", "ser_flips(v1+v2)"
    }  # fmt: skip
    wider = cross_variant_stats({"v1": one, "v2": one, "mine": scores_of(["a"], [0.0], [1.0])})
    assert wider["ss_ser"].tolist() == [0]
    assert wider["ss_ser(v1+v2+mine)"] == pytest.approx([np.sqrt(1 / 3) / (2 / 3)])
