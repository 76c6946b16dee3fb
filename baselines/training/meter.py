"""Measure loss and speed of a training; the device is waited for only when they are read."""

from __future__ import annotations

import time

import torch
from accelerate import Accelerator


class Meter:
    """Sums loss, tokens and seconds since the last reading; the loss stays on the device.

    Attributes:
        accelerator: The processes and the device.
        total: Sum of the losses of the batches, a scalar on the device.
        batches: Number of batches.
        tokens: Number of tokens of this process.
        since: Time at which the clock was last started, in seconds.
        seconds: Time that the clock has run before it was last started.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self.total = torch.zeros((), device=accelerator.device)
        self.batches = self.tokens = 0
        self.since = time.perf_counter()
        self.seconds = 0.0

    def add(self, loss: torch.Tensor, tokens: int) -> None:
        """Count one batch.

        Args:
            loss: Mean loss of the batch, a scalar on the device.
            tokens: Number of tokens of the batch, without padding.
        """
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
        """Mean loss and tokens per second over all processes, then reset both.

        All processes must call this together.
        """
        loss = self.accelerator.reduce(self.total / max(1, self.batches), "mean").item()
        self.pause()
        self.go_on()
        speed = self.tokens * self.accelerator.num_processes / self.seconds
        self.total.zero_()
        self.batches = self.tokens = 0
        self.seconds = 0.0
        return loss, speed
