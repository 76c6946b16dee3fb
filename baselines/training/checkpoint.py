"""Checkpoints: folders of safetensors and JSON that are whole at every moment they can be seen.

A folder ``step-00000500`` holds the model as ``save_pretrained`` writes it,
``optimizer.safetensors`` with the optimizer's tensors by parameter name, and ``state.json`` with
its numbers and the training's own. Nothing is pickled, and there is no state of random generators:
a step's randomness is a function of seed, step and process (``training``).
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

# Whole tensors, whatever DDP or FSDP make of them: on the first process's CPU, or for all to load.
_TO_SAVE = StateDictOptions(full_state_dict=True, cpu_offload=True)
_TO_LOAD = StateDictOptions(full_state_dict=True)


def folders(output: Path) -> list[Path]:
    """The checkpoints of a run, the oldest first."""
    return sorted((output / "checkpoints").glob("step-*"))


def write_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Write a folder whole or not at all: ``write`` fills one beside it, which is then renamed.

    An old folder of that name is replaced.
    """
    staging = folder.with_name(f".{folder.name}.incomplete")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    write(staging)
    for file in staging.iterdir():
        with file.open("rb") as written:
            os.fsync(written.fileno())
    shutil.rmtree(folder, ignore_errors=True)
    staging.rename(folder)


def replace_files(folder: Path, write: Callable[[Path], None]) -> None:
    """Replace some files of a folder, each whole or not at all.

    ``write`` fills another folder, whose files are then moved into ``folder`` one by one.
    """
    staging = folder / ".model.incomplete"
    write_folder(staging, write)
    for file in sorted(staging.iterdir()):
        file.replace(folder / file.name)
    staging.rmdir()


def optimizer_state(
    model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, torch.Tensor], dict[str, dict[str, Any]]]:
    """The state of each parameter: tensors by ``name|key``, and the rest.

    All processes call it; it is empty but for the first.
    """
    state: Any = get_optimizer_state_dict(model, optimizer, options=_TO_SAVE).get("state", {})
    tensors: dict[str, torch.Tensor] = {}
    numbers: dict[str, dict[str, Any]] = {}
    for name, values in state.items():
        for key, value in values.items():
            if isinstance(value, torch.Tensor):
                tensors[f"{name}|{key}"] = value.contiguous()
            else:
                numbers.setdefault(name, {})[key] = value
    return tensors, numbers


def save(folder: Path, training: dict[str, Any], state: Any, write: Callable[[Path], None]) -> None:
    """Write a checkpoint, then remove the older ones.

    Args:
        folder: ``checkpoints/step-...``.
        training: The training's own state, which ``load`` returns.
        state: Of ``optimizer_state``.
        write: Writes the model into a folder.
    """
    tensors, numbers = state

    def fill(staging: Path) -> None:
        write(staging)
        save_file(tensors, staging / "optimizer.safetensors")
        record = {"training": training, "optimizer": numbers}
        (staging / "state.json").write_bytes(msgspec.json.encode(record))

    write_folder(folder, fill)
    for other in folders(folder.parent.parent):
        if other != folder:
            shutil.rmtree(other)


def load(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Put a checkpoint's optimizer state back into ``optimizer``. All processes call it.

    Returns:
        The training's own state, as it was given to ``save``.
    """
    record: dict[str, Any] = msgspec.json.decode((folder / "state.json").read_bytes())
    state: dict[str, dict[str, Any]] = record["optimizer"]
    for name, tensor in load_file(folder / "optimizer.safetensors").items():
        parameter, key = name.rsplit("|", 1)
        state.setdefault(parameter, {})[key] = tensor
    current = get_optimizer_state_dict(model, optimizer, options=_TO_LOAD)
    whole: Any = {"state": state, "param_groups": current["param_groups"]}
    set_optimizer_state_dict(model, optimizer, whole, options=_TO_LOAD)
    training: dict[str, Any] = record["training"]
    return training


def weights_digest(model: nn.Module) -> str:
    """SHA-256 of a model's weights: of their names, and of their bytes whatever the type."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
