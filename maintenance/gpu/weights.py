"""Weights that fit through a transfer: ``python -m maintenance.gpu.weights``.

``small MODEL FOLDER`` writes an encoder with its matrices in 8 bits, with a scale for each row.
``restore FOLDER`` makes 32 bits of them again. ``half FILE OTHER`` writes all weights in 16 bits.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoTokenizer

_SCALE = ".scale"  # after the name of a matrix: what its rows are multiplied by


def write_small(model: Path, folder: Path) -> None:
    """Write an encoder, without its pooler, which no loss would train, in 8 bits."""
    weights = load_file(model / "model.safetensors")
    weights = {n: t for n, t in weights.items() if "pooler" not in n and "position_ids" not in n}
    AutoConfig.from_pretrained(model).save_pretrained(folder)
    AutoTokenizer.from_pretrained(model).save_pretrained(folder)
    save_file(rounded(weights), folder / "model.safetensors", {"format": "pt"})


def rounded(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Matrices in 8 bits, each row with a scale; vectors as they are."""
    small = {}
    for name, tensor in weights.items():
        if tensor.dim() == 2:
            scale = tensor.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
            small[name + _SCALE] = scale.contiguous()
            tensor = (tensor / scale).round().to(torch.int8)
        small[name] = tensor.contiguous()
    return small


def restore(folder: Path) -> None:
    """Make matrices of 32 bits of those that ``rounded`` gave."""
    path = folder / "model.safetensors"
    small = load_file(path)
    weights = {
        name: tensor.float() * small[name + _SCALE] if name + _SCALE in small else tensor
        for name, tensor in small.items()
        if not name.endswith(_SCALE)
    }
    save_file(weights, path.with_suffix(".new"), {"format": "pt"})
    shutil.move(path.with_suffix(".new"), path)


def write_half(file: Path, other: Path) -> None:
    """Write the weights of a file in 16 bits."""
    weights = {name: tensor.half().contiguous() for name, tensor in load_file(file).items()}
    save_file(weights, other, {"format": "pt"})


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    does: dict[str, Any] = {"small": write_small, "restore": restore, "half": write_half}
    does[command](*map(Path, paths))
