"""Intervals and p-values: whole dialogues are drawn, and both are right where that is known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from sgdx_metric.bootstrap import (
    Statistics,
    Sums,
    bootstrap,
    randomisation,
    resampled,
    with_replacement,
)
from sgdx_metric.core import Sample, Scores

from sgdx_metric.columns import Floats
from sgdx_metric.figures import DROP, joined, state_figures
from sgdx_metric.figures import JGA as MAIN
from sgdx_metric.signature import OFFICIAL, Rules
from sgdx_metric.units import index_frames

# Dialogue 1 has two turns, the first of two frames; dialogue 2 has one frame.
IDS = ["1/0/A_1", "1/0/B_1", "1/2/A_1", "2/0/A_1"]
JGA = {
    "original": np.array([1.0, 0.0, 1.0, 0.5]),
    "v1": np.array([1.0, 0.5, 0.0, 1.0]),
    "v2": np.array([1.0, 0.5, 0.0, 0.0]),
}
PLACE = index_frames(pa.array(IDS), np.array([True, False, True, True]))


def original(means: Floats) -> Statistics:
    """The mean of the first row as the only figure."""
    return {"jga_orig": means[..., 0]}


def sample(rules: Rules = OFFICIAL, group: str = "all") -> Sample:
    raw = Scores([*JGA], PLACE, {MAIN: np.stack([*JGA.values()])}, rules.zero_mean)
    scores = joined(raw.only(PLACE.groups()[group]), rules)
    return Sample(scores, [*state_figures(scores), DROP])


def figures_of_dialogue(place: int, of: Sample) -> dict[str, float]:
    """The figures of one dialogue alone."""
    weights = np.zeros((1, len(of.sums.total)))
    weights[0, place] = 1
    return {key: value[0] for key, value in of.resampled(weights).items()}


def test_figures_of_dialogues_and_turns_by_hand() -> None:
    keys = ("jga_orig", "ss_jga", "jga_worst(original+v1+v2)", "flips(original+v1+v2)")
    of_turns = sample(Rules(joint_acc_across_turn=True))
    for place, of, figures in (
        # The worst scores of its frames are 1, 0 and 0; the last two flip; v1 and v2 are equal.
        (0, sample(), (2 / 3, 0, 1 / 3, 2 / 3)),
        # Under v1 and v2 1 and 0.
        (1, sample(), (0.5, 2**0.5, 0, 1)),
        # Turns of 0, 0.5, 0.5 and of 1, 0, 0: the worst is 0, and both are on two sides of 0.5.
        (0, of_turns, (0.5, 0, 0, 1)),
    ):
        expected = dict(zip(keys, figures, strict=True))
        assert figures_of_dialogue(place, of) == pytest.approx(expected)


def test_dropped_frames_are_not_counted() -> None:
    """Of the three frames of the first dialogue, the last is wrong under v1 and v2."""
    all_frames, dropped = sample(), sample(Rules(zero_mean="drop"))
    assert (all_frames.sums.number == [[3] * 6, [1] * 6]).all()
    assert sorted(dropped.sums.number[0]) == [2, 3, 3, 3, 3, 3]


def test_group_of_services_has_its_own_dialogues() -> None:
    of_group = sample(group="B_1")
    assert len(of_group.sums.total) == 1
    assert figures_of_dialogue(0, of_group)["jga_orig"] == 0


def test_a_draw_takes_as_many_dialogues_with_replacement() -> None:
    weights = np.concatenate(list(resampled(with_replacement, 7, 250)))
    assert weights.shape == (250, 7)
    assert set(weights.sum(axis=1)) == {7}
    assert weights.max() > 1 and weights.min() == 0
    again = np.concatenate(list(resampled(with_replacement, 7, 250)))
    assert (weights == again).all()


def test_interval_has_the_width_that_theory_gives() -> None:
    """400 dialogues of 5 equal frames, half of them right: as 400 independent observations."""
    total = np.array([[0.0, 0.0]] * 200 + [[5.0, 5.0]] * 200)
    sums = Sums(total, np.full_like(total, 5))
    found = bootstrap(lambda weights: original(sums.means(weights)), 400)
    low, high = found["jga_orig"] or (0, 0)
    standard_error = (0.5 * 0.5 / 400) ** 0.5
    assert (low, high) == pytest.approx(
        (0.5 - 1.96 * standard_error, 0.5 + 1.96 * standard_error), abs=0.005
    )


def test_p_is_the_share_of_swaps_with_as_large_a_difference() -> None:
    random = np.random.default_rng(3)
    first, second = (
        Sums(random.integers(0, 4, (8, 2)).astype(np.float64), np.full((8, 2), 4.0)) for _ in "ab"
    )
    observed = second.total.sum(0)[0] - first.total.sum(0)[0]
    change = (second.total - first.total)[:, 0]
    every = [abs(change @ signs) >= abs(observed) for signs in product((1, -1), repeat=8)]
    difference = {"jga_orig": np.array([observed / 32])}
    p = randomisation(first, second, original, difference)["jga_orig"]
    assert p == pytest.approx(sum(every) / len(every), abs=0.02)


def test_a_p_is_never_zero() -> None:
    """Forty dialogues of one frame, all right with the second alone: no swap is as large."""
    wrong, right = (Sums(np.full((40, 2), value), np.ones((40, 2))) for value in (0.0, 1.0))
    p = randomisation(wrong, right, original, {"jga_orig": np.ones(1)})
    assert p == {"jga_orig": 1 / 10_001}


def test_equal_systems_do_not_differ() -> None:
    of_frames = sample()
    sums = of_frames.sums
    none = {"jga_orig": np.zeros(1), "ss_jga": np.zeros(1)}
    assert randomisation(sums, sums, of_frames.statistics, none) == dict.fromkeys(none, 1)
