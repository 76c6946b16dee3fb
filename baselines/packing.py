"""Weights in few bits, in the format of compressed-tensors, which transformers loads by itself.

A matrix, of embeddings too, is cut into groups of 64 values along its rows. Of each value an
integer is stored, of 4 to 8 bits, and of each group a scale of 16 bits. When a model is loaded, its
matrices are float32 again. Vectors, and matrices whose rows are no multiple of 64, stay as they
are.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
from torch import nn
from torch.distributed.tensor import DTensor

from sgdx_dataset import SgdxError

from .checkpoint import weights_digest

GROUP = 64
_TRIES = 13  # scales that are tried for each group
Weights = dict[str, torch.Tensor]


def is_packed(name: str, tensor: torch.Tensor) -> bool:
    """Whether a weight is a matrix that is packed."""
    return name.endswith(".weight") and tensor.dim() == 2 and tensor.shape[1] % GROUP == 0


def packed_copy(model: Any, bits: int) -> tuple[Any, Weights]:
    """A copy of a model as it is after packing, and what is stored of it."""
    weights, stored = model.state_dict(), Weights()
    for name, tensor in model.state_dict().items():
        if not is_packed(name, tensor):
            stored[name] = tensor
            continue
        integers, scales = fit(tensor, bits)
        stored[f"{name}_packed"] = pack_to_int32(integers, bits)
        stored[f"{name}_scale"] = scales
        stored[f"{name}_shape"] = torch.tensor(tensor.shape)
        weights[name] = product(integers, scales)
    own = copy.deepcopy(model)
    own.load_state_dict(weights)
    own.config.quantization_config = configuration(bits)
    own.config.weights_sha256 = weights_digest(own)
    return own, {name: tensor.cpu() for name, tensor in stored.items()}


def fit(matrix: torch.Tensor, bits: int, tries: int = _TRIES) -> tuple[torch.Tensor, torch.Tensor]:
    """The integers and scales that are nearest to a matrix, by squared error.

    Args:
        matrix: Numbers [rows, columns].
        bits: Of an integer.
        tries: How many scales are tried for each group.

    Returns:
        Integers from -2^(bits - 1) to 2^(bits - 1) - 1 [rows, columns], and scales of 16 bits
        [rows, groups], which may be negative.
    """
    groups = matrix.detach().float().reshape(-1, GROUP)
    half = 2 ** (bits - 1)
    # The number that is largest, whatever its sign, becomes negative, as there is one integer more
    # on that side. Scales that leave it smaller or clip it are tried beside.
    largest = groups.gather(1, groups.abs().argmax(1, keepdim=True))
    least = integers = scales = torch.empty(0)
    for part in torch.linspace(0.75, 1.125, tries).tolist():
        scale = (-largest / (half * part)).half().float()
        chosen = (groups / scale.where(scale != 0, 1.0)).round().clamp(-half, half - 1)
        error = (chosen * scale - groups).square().sum(1, keepdim=True)
        if not len(least):
            least, integers, scales = error, chosen, scale
        better = error < least
        least, scales = least.where(~better, error), scales.where(~better, scale)
        integers = integers.where(~better, chosen)
    return integers.to(torch.int8).view_as(matrix), scales.half().view(len(matrix), -1)


def product(integers: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """A matrix of float32, with the same bits as transformers loads it."""
    groups = integers.view(len(scales), -1, GROUP).half() * scales[..., None]  # in 16 bits
    return groups.view_as(integers).float()


@contextmanager
def rounded(model: nn.Module, bits: int) -> Iterator[None]:
    """Compute with weights as they are after packing; gradients are those of the whole weights."""
    whole = {}
    for name, parameter in model.named_parameters():
        if isinstance(parameter, DTensor):
            raise SgdxError("rounded: found sharded weights (FSDP), expected whole ones")
        if is_packed(name, parameter):
            whole[parameter] = parameter.data
            parameter.data = product(*fit(parameter, bits, tries=4))
    try:
        yield
    finally:
        for parameter, data in whole.items():
            parameter.data = data


def configuration(bits: int) -> dict[str, Any]:
    """What transformers is to do with the stored weights, for ``config.json``."""
    weights = {
        "num_bits": bits, "type": "int", "symmetric": True, "strategy": "group",
        "group_size": GROUP,
    }  # fmt: skip
    return {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "quantization_status": "compressed",
        "dequantize": True,
        "config_groups": {"all": {"targets": ["Linear", "Embedding"], "weights": weights}},
    }
