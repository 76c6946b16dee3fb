"""What XLA needs, the compiler of TPUs: few shapes, and to be told where a program ends.

XLA compiles a program for every combination of shapes. Batches are therefore filled up to few of
them with rows and tokens that count for nothing. torch-xla is imported only where a device is its.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel

from sgdx_dataset import SgdxError

from .batching import Ints
from .settings import TrainingSettings

Tensors = dict[str, torch.Tensor]


def is_xla(device: torch.device) -> bool:
    """Whether XLA computes on a device."""
    return device.type == "xla"


def check_training(device: torch.device, settings: TrainingSettings) -> None:
    """Refuse what a recipe or a launcher may ask for and XLA cannot do."""
    if not is_xla(device):
        return
    if os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true":
        raise SgdxError("FSDP: found the device xla, expected whole weights there, as in tpu.yaml")
    for name in ("bits", "gradient_checkpointing"):
        if getattr(settings, name, None):
            raise SgdxError(f"{name}: found on the device xla, expected a recipe without it there")


def move(model: Any, device: torch.device) -> Any:
    """Move a model to a device; weights that are shared stay so."""
    model.to(device)
    if is_xla(device):  # where moving has made a copy for each place
        for part in model.modules():
            if isinstance(part, PreTrainedModel):
                part.tie_weights()
    return model


def start_moments(optimizer: torch.optim.AdamW) -> None:
    """Give AdamW the state that its first step would make, which would else be a program alone."""
    for parameter in (p for group in optimizer.param_groups for p in group["params"]):
        zeros = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
        optimizer.state[parameter] = {"step": torch.tensor(0.0), **zeros}
    end_program(parameter.device)


def end_program(device: torch.device) -> None:
    """Let XLA compute what was asked for since the last time, as one program."""
    if is_xla(device):
        import torch_xla

        torch_xla.sync()


def programs(device: torch.device) -> int:
    """The number of programs that XLA has compiled in this process."""
    if not is_xla(device):
        return 0
    from torch_xla.debug.metrics import metric_data

    return int((metric_data("CompileTime") or (0,))[0])


def on_host(outputs: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
    """What a model has computed, on the CPU if XLA did, as each question would be a program."""
    if not is_xla(device):
        return dict(outputs)
    end_program(device)
    return {n: t.cpu() if torch.is_tensor(t) else t for n, t in outputs.items()}


def power(count: int, least: int = 1) -> int:
    """The smallest power of two that is at least a count and ``least``.

    >>> power(5), power(3, 8)
    (8, 8)
    """
    return max(least, 1 << max(0, count - 1).bit_length())


def in_few_shapes(
    batch: Tensors, limit: int, fill: Callable[[Tensors, int, int], Tensors], device: torch.device
) -> Tensors:
    """A batch to predict of at most ``limit`` tokens, which ``fill`` fills up where XLA gets it.

    It gets the next quarter of the limit as tokens, and 16 rows or a larger power of two.
    """
    if not is_xla(device):
        return batch
    rows, longest = batch["input_ids"].shape
    quarter = -(-limit // 32) * 8
    return fill(batch, power(rows, 16), -(-longest // quarter) * quarter)


def training_shapes(lengths: Ints, size: int, budget: int) -> list[tuple[int, int]]:
    """The rows and tokens that batches of training are filled up to, shortest first.

    A third of the examples has each length, so that a few steps meet all shapes. The rows are as
    many as a batch of the length may have.

    >>> training_shapes(np.arange(1, 301), 16, 2048)
    [(16, 104), (16, 208), (9, 304)]
    """
    thirds = np.quantile(lengths, (1 / 3, 2 / 3, 1), method="higher").tolist()
    widths = sorted({-(-third // 8) * 8 for third in thirds})
    shortest = [1, *(width + 1 for width in widths)]
    return [(max(1, min(size, budget // s)), width) for s, width in zip(shortest, widths)]


def fill_up(
    batch: Tensors,
    names: Mapping[str, tuple[str | None, ...]],
    sizes: Mapping[str, int],
    fills: Mapping[str, int],
) -> Tensors:
    """Fill the tensors of a batch up to sizes.

    Args:
        batch: Tensors on the CPU.
        names: The name of each dimension of the tensors that are filled up; None for a fixed one.
        sizes: The size of the dimensions of each name. A larger one gets the next power of two.
        fills: What a tensor is filled with. In others the last row is repeated, and 0 stands in
            new columns.
    """
    # XLA takes some scalars for constants, each of which would make a program of its own.
    full = {name: tensor if tensor.dim() else tensor[None] for name, tensor in batch.items()}
    for tensor, dimensions in names.items():
        if tensor not in batch:
            continue
        array = batch[tensor].numpy()
        room = [
            (0, 0)
            if not name or have == (size := sizes[name])
            else (0, (size if have < size else power(have)) - have)
            for have, name in zip(array.shape, dimensions)
        ]
        columns = [(0, 0), *room[1:]]
        array = np.pad(array, columns, constant_values=fills.get(tensor, 0))
        rows = [room[0], *[(0, 0)] * (array.ndim - 1)]
        if tensor in fills or not len(array):
            array = np.pad(array, rows, constant_values=fills.get(tensor, 0))
        else:
            array = np.pad(array, rows, mode="edge")
        full[tensor] = torch.from_numpy(array)
    return full
