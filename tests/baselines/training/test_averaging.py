"""The running mean of the weights: its values, its place in a training, its checkpoint."""

from __future__ import annotations

import pytest
from torch import nn

from baselines.training.averaging import AveragedWeights


def test_the_mean_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    weight = model.weight
    weight.data.fill_(4.0)
    average = AveragedWeights(model, 0.5)
    means = []
    for step, value in enumerate((8.0, 0.0, 1.0), 1):
        weight.data.fill_(value)
        average.update(step)
        means.append(average.means["weight"].item())
    first = 4.0 * 2 / 11 + 8.0 * 9 / 11  # the past counts (1 + step) / (10 + step), 0.5 at most
    second = first * 3 / 12
    assert means == pytest.approx([first, second, second * 4 / 13 + 1.0 * 9 / 13])
    for step in range(4, 40):
        average.update(step)
    weight.data.fill_(3.0)
    average.update(40)
    assert average.means["weight"].item() == pytest.approx(2.0)
    with average.in_place():
        assert weight.item() == pytest.approx(2.0)
    assert weight.item() == 3.0
