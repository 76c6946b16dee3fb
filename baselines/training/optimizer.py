"""The optimizer of a recipe, the precision of its steps, and the average of its weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import is_torch_xla_available
from safetensors.torch import load_file, save_file
from torch import nn
from torch.distributed.tensor import DTensor, Replicate
from transformers.optimization import Adafactor

from sgdx_dataset import SgdxError

from .settings import Precision, Settings


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
    """The learning rate of a step: linear warm-up, then as the recipe's schedule says."""
    warmup = int(settings.warmup * settings.steps)
    if step < warmup:
        return settings.learning_rate * (step + 1) / warmup
    if settings.schedule == "constant":
        return settings.learning_rate
    left = (settings.steps - step) / max(1, settings.steps - warmup)
    if settings.schedule == "cosine":
        left = (1 - math.cos(math.pi * left)) / 2
    return settings.learning_rate * left


_NATIVE = ("amx_bf16", "avx512_bf16", "bf16")  # names of the instructions on x86 and on ARM


def resolved(precision: Precision, device: torch.device) -> Precision:
    """The precision that a device computes in."""
    if precision == "auto":
        return "bf16" if has_bf16(device) else "fp32"
    if precision == "bf16" and device.type == "cuda" and not torch.cuda.is_bf16_supported():
        raise SgdxError("precision bf16: this GPU has no bfloat16, expected auto or fp32")
    return precision


def has_bf16(device: torch.device) -> bool:
    """Whether a device computes natively in bfloat16; on others it is emulated and slow."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":
        # Older versions of torch do not tell what the CPU has.
        capabilities: Mapping[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
        return any(capabilities.get(name, False) for name in _NATIVE)
    return device.type == "xla" and is_torch_xla_available(check_is_tpu=True)


def autocast(precision: Precision, device: torch.device) -> torch.autocast:
    """The context in which a model is called, in training as in prediction."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


_FILE = "average.safetensors"


class AveragedWeights:
    """Keeps the running mean of a model's weights; without ``ema`` it does nothing."""

    def __init__(self, model: nn.Module, ema: float | None) -> None:
        """Begin with the model's weights as the mean."""
        trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
        if ema is not None and any(isinstance(p, DTensor) for p in trained.values()):
            raise SgdxError("ema: found sharded weights (FSDP), expected whole ones")
        self.ema = ema  # weight of the past in the mean, in (0, 1); None to keep no mean
        self._trained = trained if ema is not None else {}
        # The mean of each parameter that is trained, by name.
        self.means = {name: p.detach().clone() for name, p in self._trained.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move the mean towards the weights after a step, which is counted from 1."""
        if self.ema is not None:
            past = min(self.ema, (1 + step) / (10 + step))
            weights = [p.detach() for p in self._trained.values()]
            torch._foreach_lerp_(list(self.means.values()), weights, 1 - past)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model has the mean as its weights while the context is open, then its own again."""
        own = {name: p.detach().clone() for name, p in self._trained.items()}
        self._set(self.means)
        try:
            yield
        finally:
            self._set(own)

    def save(self, folder: Path) -> None:
        """Write the mean into a checkpoint's folder."""
        if self.ema is not None:
            whole = {name: mean.cpu().contiguous() for name, mean in self.means.items()}
            save_file(whole, folder / _FILE)

    def load(self, folder: Path) -> None:
        """Set the mean to the one in a checkpoint's folder."""
        if self.ema is not None:
            saved = load_file(folder / _FILE)
            for name, mean in self.means.items():
                mean.copy_(saved[name])

    @torch.no_grad()
    def _set(self, weights: dict[str, torch.Tensor]) -> None:
        for name, parameter in self._trained.items():
            parameter.copy_(weights[name])
