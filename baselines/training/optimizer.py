"""Create the optimizer, and compute the learning rate of a step."""

from __future__ import annotations

import torch
from torch import nn
from transformers.optimization import Adafactor

from .settings import Settings


def make_optimizer(model: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    """Create AdamW, or Adafactor without relative steps and parameter scaling.

    Weight decay applies to matrices only: biases and the weights of norms, which have one
    dimension, get none.

    Args:
        model: The model; parameters that need no gradient are left out.
        settings: The recipe.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=settings.learning_rate)
    return Adafactor(groups, lr=settings.learning_rate, scale_parameter=False, relative_step=False)


def learning_rate(step: int, settings: Settings) -> float:
    """The learning rate of a step: linear warm-up, then constant or linear decay to zero.

    Args:
        step: Number of the optimizer step, from 0.
        settings: The recipe.
    """
    warmup = int(settings.warmup * settings.steps)
    if step < warmup:
        return settings.learning_rate * (step + 1) / warmup
    if settings.schedule == "constant":
        return settings.learning_rate
    return settings.learning_rate * (settings.steps - step) / max(1, settings.steps - warmup)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of all parameter groups."""
    for group in optimizer.param_groups:
        group["lr"] = rate
