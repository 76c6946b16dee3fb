"""Weights that fit through a transfer: ``python -m maintenance.gpu.weights``.

``small MODEL FOLDER`` writes an encoder with its matrices in 8 bits, with a scale for each row.
``restore FOLDER`` makes 32 bits of them again. ``half FILE OTHER`` writes all weights in 16 bits.
``renumber MODEL OTHER FOLDER`` writes an encoder that has the tokens of another one in its order.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoTokenizer

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


def renumber(model: Path, other: Path, folder: Path) -> None:
    """Write an encoder with the token ids of another one, whose tokens it has all."""
    tokens = [AutoTokenizer.from_pretrained(of) for of in (model, other)]
    own, wanted = (of.get_vocab() for of in tokens)
    # The special tokens may be spelled differently: each is found by what it is for.
    roles = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    pairs = [tuple(getattr(of, role) for of in tokens) for role in roles]
    ids = own | {theirs: own[mine] for mine, theirs in pairs if theirs is not None}
    order = [ids[token] for token in sorted(wanted, key=wanted.__getitem__)]
    encoder = AutoModel.from_pretrained(model)
    rows = encoder.get_input_embeddings().weight.data
    encoder.resize_token_embeddings(len(order))
    encoder.get_input_embeddings().weight.data.copy_(rows[order])
    encoder.config.pad_token_id = tokens[1].pad_token_id
    encoder.save_pretrained(folder)
    tokens[1].save_pretrained(folder)


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    does: dict[str, Any] = {
        "small": write_small,
        "restore": restore,
        "half": write_half,
        "renumber": renumber,
    }
    does[command](*map(Path, paths))
