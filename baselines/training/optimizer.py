"""Create the optimizer, and compute the learning rate of a step."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Replicate
from transformers.optimization import Adafactor

from .settings import Settings


def make_optimizer(
    model: nn.Module, settings: Settings, device: torch.device
) -> torch.optim.Optimizer:
    """Create AdamW, or Adafactor without relative steps."""
    # Biases and the weights of norms, which have one dimension, get no weight decay.
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if settings.optimizer == "adamw":
        kind = torch.optim.AdamW if settings.bias_correction else UncorrectedAdamW
        fused = device.type in ("cpu", "cuda")
        return kind(groups, lr=settings.learning_rate, eps=settings.epsilon, fused=fused)
    sharded = isinstance(parameters[0], DTensor)
    return (ShardedAdafactor if sharded else Adafactor)(
        groups,
        lr=settings.learning_rate,
        scale_parameter=settings.multiply_by_parameter_scale,
        relative_step=False,
    )


class ShardedAdafactor(Adafactor):
    """Adafactor for weights that are dealt among processes."""

    # Adafactor makes its state of plain tensors, which cannot be added to sharded ones.
    def __init__(self, groups: Any, **settings: Any) -> None:
        """Create the optimizer with the state of step 0."""
        super().__init__(groups, **settings)  # type: ignore[no-untyped-call]
        for group in self.param_groups:
            for parameter in group["params"]:
                zeros: Any = torch.zeros_like(parameter, requires_grad=False)
                state: dict[str, Any] = {"step": 0, "RMS": 0}
                if parameter.dim() > 1:
                    columns = zeros.mean(-2)
                    whole = [Replicate() for _ in columns.placements]
                    state["exp_avg_sq_row"] = zeros.mean(-1)
                    state["exp_avg_sq_col"] = columns.redistribute(placements=whole)
                else:
                    state["exp_avg_sq"] = zeros
                self.state[parameter] = state

    @staticmethod
    def _rms(tensor: DTensor) -> torch.Tensor:
        """The root mean square of a whole sharded tensor, a plain scalar."""
        norm: Any = tensor.norm(2)
        root: torch.Tensor = norm.full_tensor() / tensor.numel() ** 0.5
        return root


class UncorrectedAdamW(torch.optim.AdamW):
    """AdamW that does not correct its moments for their start at zero."""

    # BERT was released with this optimizer, and models that were fine-tuned with BERT's code had
    # it. AdamW's corrections of step t are known factors, so the numbers of a parameter group are
    # changed for the length of the step such that the corrections cancel.

    def step(self, closure: Any = None) -> Any:
        """Take one step."""
        state: Any = next(iter(self.state.values()), {"step": 0})
        step = float(state["step"]) + 1
        settings = [
            (group["lr"], group["eps"], group["weight_decay"]) for group in self.param_groups
        ]
        for group, (rate, epsilon, decay) in zip(self.param_groups, settings):
            first, second = (1 - beta**step for beta in group["betas"])
            factor = first / second**0.5
            group["lr"], group["weight_decay"] = rate * factor, decay / factor
            group["eps"] = epsilon / second**0.5
        loss = super().step(closure)
        for group, of_group in zip(self.param_groups, settings):
            group["lr"], group["eps"], group["weight_decay"] = of_group
        return loss


def learning_rate(step: int, settings: Settings) -> float:
    """The learning rate of a step: linear warm-up, then constant or linear decay to zero."""
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
