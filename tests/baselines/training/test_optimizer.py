"""The optimizers against their formulas, step by step."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from baselines.training.optimizer import make_optimizer, set_rate
from baselines.training.settings import Settings


def settings(**given: Any) -> Settings:
    needed = {
        "tracker": "t5dst", "model": "tiny", "steps": 9, "batch_size": 1, "token_budget": 1,
        "learning_rate": 0.1, "save_every": 1, "evaluate_every": 1,
    }  # fmt: skip
    return Settings(**{**needed, **given})


def test_adamw_without_bias_correction_is_the_one_that_bert_was_released_with() -> None:
    layer = nn.Linear(1, 1)
    start, gradients, rates = 2.0, [0.5, -3.0, 1.0, 0.001], [0.1, 0.1, 0.05, 0.02]
    nn.init.constant_(layer.weight, start)
    recipe = settings(optimizer="adamw", bias_correction=False, epsilon=1e-6, weight_decay=0.01)
    optimizer = make_optimizer(layer, recipe, torch.device("cpu"))
    expected, first, second = start, 0.0, 0.0
    for gradient, rate in zip(gradients, rates, strict=True):
        set_rate(optimizer, rate)
        layer.weight.grad = torch.full((1, 1), gradient)
        optimizer.step()
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        expected -= rate * (first / (second**0.5 + 1e-6) + 0.01 * expected)
        assert layer.weight.item() == pytest.approx(expected, rel=1e-5)
    group = optimizer.param_groups[0]
    assert (group["lr"], group["eps"], group["weight_decay"]) == (0.02, 1e-6, 0.01)


@pytest.mark.parametrize(("scaled", "moved"), [(False, 0.1), (True, 0.1 * 4.0)])
def test_adafactor_s_rate_is_absolute_or_relative_to_the_matrix(scaled: bool, moved: float) -> None:
    """The first step moves each weight by the rate, or by the rate times the matrix's RMS of 4."""
    layer = nn.Linear(3, 2, bias=False)
    nn.init.constant_(layer.weight, 4.0)
    recipe = settings(optimizer="adafactor", multiply_by_parameter_scale=scaled)
    optimizer = make_optimizer(layer, recipe, torch.device("cpu"))
    layer.weight.grad = torch.ones(2, 3)
    optimizer.step()
    torch.testing.assert_close(layer.weight, torch.full((2, 3), 4.0 - moved))
