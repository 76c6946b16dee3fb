"""Number formats: which a device has, and encoders that train in bfloat16 without autocast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from accelerate.utils import is_torch_xla_available
from torch import nn
from torch.func import functional_call
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask

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


def train_in_bfloat16(model: nn.Module) -> None:
    """Make the encoders in a model faster to train on a CPU; nothing of it is saved with them.

    Autocast converts between the formats around every matrix product. An encoder computes in
    bfloat16 throughout instead, of copies of its float32 weights, which the optimizer changes.
    """
    # Encoder-decoders stay under autocast, as the numbers that T5 adds up are too large for it.
    for part in list(model.modules()):
        if part is model:
            continue
        if isinstance(part, PreTrainedModel) and not part.config.is_encoder_decoder:
            part.set_attn_implementation(_PRODUCTS)
            part.__class__ = type(type(part).__name__, (_InBfloat16, type(part)), {})
        elif type(part) is nn.Dropout and part.p > 0:
            part.__class__ = ByteDropout


def attention_of_products(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of vectors [frames, heads, tokens, size]; the mask is added to scores."""
    # PyTorch's fused attention takes several times as long to train on CPUs. Queries are scaled
    # instead of scores, which are many more, and the mask is added without a copy of the scores.
    scores = (query * scaling) @ key.transpose(2, 3)
    if mask is not None:
        scores += mask
    weights = nn.functional.dropout(scores.softmax(-1), dropout, module.training)
    return (weights @ value).transpose(1, 2), None


_PRODUCTS = "products"
AttentionInterface.register(_PRODUCTS, attention_of_products)
AttentionMaskInterface.register(_PRODUCTS, eager_mask)


class _InBfloat16(nn.Module):
    """An encoder that computes in bfloat16 where autocast would; gradients reach its weights."""

    def forward(self, **inputs: Any) -> Any:
        """What the encoder computes, in bfloat16 unless autocast is off."""
        device = next(self.parameters()).device.type
        if not torch.is_autocast_enabled(device):
            return super().forward(**inputs)
        # A step reads a few hundred rows of the embeddings, so rows are converted, not matrices.
        tables = [part for part in self.modules() if isinstance(part, nn.Embedding)]
        hooks = [
            table.register_forward_hook(lambda _, __, rows: rows.bfloat16()) for table in tables
        ]
        skipped = {id(table.weight) for table in tables}
        weights = {n: p.bfloat16() for n, p in self.named_parameters() if id(p) not in skipped}
        inputs = {
            name: value.bfloat16()
            if torch.is_tensor(value) and value.is_floating_point()
            else value
            for name, value in inputs.items()
        }
        try:
            with torch.autocast(device, enabled=False):
                return functional_call(self, weights, kwargs=inputs)
        finally:
            for hook in hooks:
                hook.remove()


class ByteDropout(nn.Dropout):
    """Dropout with a random byte for each number, which takes a tenth of the time on a CPU."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The input, of which about the fraction ``p`` is 0: the nearest multiple of 1/256."""
        if not self.training:
            return input
        dropped = round(256 * self.p)
        count = input.numel()
        drawn = (
            torch.empty(-(-count // 8), dtype=torch.int64).random_(-(2**63), None).view(torch.uint8)
        )
        # Numbers that are compared in their own type take a sixth of the time of a conversion from
        # True and False; bytes are whole in every type.
        kept = drawn[:count].view(input.shape).to(input.dtype).ge_(dropped)
        return input * kept.mul_(256 / (256 - dropped))
