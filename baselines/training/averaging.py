"""The running mean of a model's weights over the steps, which is often better than the last ones.

The mean of a step t is d times the mean before it plus (1 - d) times the step's weights, with
d = min(ema, (1 + t) / (10 + t)), so that a mean of few steps forgets the untrained weights quickly.
This mean exists at every step, whereas the mean of the last third of the steps exists only at the
end: evaluations before it would be of another model than the one that is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.distributed.tensor import DTensor

from sgdx_dataset import SgdxError

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
