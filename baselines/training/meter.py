"""Loss and speed of a training, without waiting for the device until they are read."""

from __future__ import annotations

import time

import torch
from accelerate import Accelerator


class Meter:
    """Loss and tokens since the last reading; the loss stays on the device until it is read."""

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self.total = torch.zeros((), device=accelerator.device)
        self.batches = self.tokens = 0
        self.since = time.perf_counter()
        self.seconds = 0.0

    def add(self, loss: torch.Tensor, tokens: int) -> None:
        """Count one batch."""
        self.total += loss.detach()
        self.batches += 1
        self.tokens += tokens

    def pause(self) -> None:
        """Stop the clock."""
        self.seconds += time.perf_counter() - self.since

    def go_on(self) -> None:
        """Start the clock again."""
        self.since = time.perf_counter()

    def read(self) -> tuple[float, float]:
        """Mean loss and tokens per second over all processes; begins anew."""
        loss = self.accelerator.reduce(self.total / max(1, self.batches), "mean").item()
        self.pause()
        self.go_on()
        speed = self.tokens * self.accelerator.num_processes / self.seconds
        self.total.zero_()
        self.batches = self.tokens = 0
        self.seconds = 0.0
        return loss, speed
