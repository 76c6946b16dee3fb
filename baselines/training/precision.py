"""The number format of a model's arithmetic: one policy for training, dev evaluation, prediction.

Weights, gradients and the optimizer's state are float32 always. With ``bf16`` PyTorch's autocast
computes matrix products and attention in bfloat16 and losses in float32; norms and softmax are in
float32 on GPUs, and in the format of their input on CPUs. What Accelerate is configured with is not
used, because its launcher cannot tell "nothing was chosen" from "no mixed precision was chosen".
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from accelerate.utils import is_torch_xla_available

from sgdx_dataset import SgdxError

from .settings import Precision

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
