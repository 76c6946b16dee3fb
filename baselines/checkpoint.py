"""Checkpoints: folders of safetensors and JSON files, which are either complete or absent.

A folder such as ``step-00000500`` holds the model as ``save_pretrained`` writes it,
``optimizer.safetensors`` with the optimizer's tensors by parameter name, and ``state.json`` with
the optimizer's numbers and the progress of the training. Nothing is pickled. No state of a random
number generator is stored, as the random numbers of a step depend only on seed, step and process
(``loop``).
"""

from __future__ import annotations

import hashlib
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import fully_shard

from sgdx_dataset import SgdxError
from sgdx_dataset.io.files import read_file, staged
from sgdx_dataset.io.json import decode_json

from .run_folder import READY

# DDP and FSDP may split tensors. Whole ones are saved from the CPU of the first process, and are
# loaded by every process.
_TO_SAVE = StateDictOptions(full_state_dict=True, cpu_offload=True)
_TO_LOAD = StateDictOptions(full_state_dict=True)


def last(output: Path) -> Path | None:
    """The checkpoint from which a training goes on; None if it has none."""
    return max((output / "checkpoints").glob("step-*"), default=None)


def write_folder(folder: Path, write: Callable[[Path], object]) -> None:
    """Write a folder completely or not at all."""
    try:
        with staged(folder) as staging:
            staging.mkdir()
            write(staging)
    except SafetensorError as error:  # it stands for what else is an OSError, such as a full disk
        raise SgdxError(f"{folder}: cannot be written: {error}") from None


def replace_files(folder: Path, write: Callable[[Path], object]) -> None:
    """Replace some files of a folder, all or none, whenever the process may be killed."""
    # The new files count from the moment that their folder is called ``READY``. Who is killed while
    # they are moved leaves that folder, which is noticed where the model is loaded
    # (``run_folder.model_file``) and moved where the run goes on.
    finish_replacing(folder)
    staging = folder / ".model.incomplete"
    shutil.rmtree(staging, ignore_errors=True)  # a killed run may have left it
    write_folder(staging, write)
    staging.rename(folder / READY)
    finish_replacing(folder)


def finish_replacing(folder: Path) -> None:
    """Move the files of a replacement into place that a killed process has not ended."""
    ready = folder / READY
    if ready.is_dir():
        for file in sorted(ready.iterdir()):
            file.replace(folder / file.name)
        ready.rmdir()


def weights_of(model: nn.Module) -> dict[str, torch.Tensor]:
    """The weights of a model on the CPU, from where they are saved."""
    # A weight that has two names is one tensor here too.
    named = model.state_dict(keep_vars=True)
    moved = {id(w): w.detach().cpu() for w in {id(w): w for w in named.values()}.values()}
    return {name: moved[id(weight)] for name, weight in named.items()}


def optimizer_state(
    model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, torch.Tensor], dict[str, dict[str, Any]]]:
    """The state's tensors by ``parameter|name``, and its numbers."""
    # All processes call it together; both are empty in all but the first.
    state: Any = get_optimizer_state_dict(model, optimizer, options=_TO_SAVE).get("state", {})
    tensors: dict[str, torch.Tensor] = {}
    numbers: dict[str, dict[str, Any]] = {}
    for name, values in state.items():
        for key, value in values.items():
            if isinstance(value, torch.Tensor):
                tensors[f"{name}|{key}"] = value.cpu().contiguous()
            else:
                numbers.setdefault(name, {})[key] = value
    return tensors, numbers


def save(folder: Path, training: dict[str, Any], state: Any, write: Callable[[Path], None]) -> None:
    """Write a checkpoint, then remove the older ones."""
    tensors, numbers = state

    def fill(staging: Path) -> None:
        write(staging)
        save_file(tensors, staging / "optimizer.safetensors")
        record = {"training": training, "optimizer": numbers}
        (staging / "state.json").write_bytes(msgspec.json.encode(record))

    write_folder(folder, fill)
    for other in folder.parent.iterdir():  # older checkpoints, and unfinished ones of killed runs
        if other != folder:
            shutil.rmtree(other)


def load(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Load a checkpoint's optimizer state. All processes must call this together."""
    path = folder / "state.json"
    record = decode_json(read_file(path), dict[str, Any], str(path), "the state of a training")
    state = record["optimizer"]
    try:
        tensors = load_file(folder / "optimizer.safetensors")
    except (OSError, SafetensorError) as error:
        raise SgdxError(f"{folder / 'optimizer.safetensors'}: {error}") from None
    for name, tensor in tensors.items():
        parameter, key = name.rsplit("|", 1)
        state.setdefault(parameter, {})[key] = tensor
    current = get_optimizer_state_dict(model, optimizer, options=_TO_LOAD)
    whole: Any = {"state": state, "param_groups": current["param_groups"]}
    set_optimizer_state_dict(model, optimizer, whole, options=_TO_LOAD)
    training: dict[str, Any] = record["training"]
    return training


def shard(model: nn.Module) -> None:
    """Deal the weights of a model among the processes, in place."""
    # Each layer is gathered when it is used; all that is in no layer is gathered together.
    # Accelerate's own division fails where encoder and decoder share an embedding. Some logits are
    # parts of others, of which PyTorch warns; nothing changes them in place.
    warnings.filterwarnings("ignore", "FSDP2-wrapped module")
    for layer in _layers(model):
        fully_shard(layer)
    fully_shard(model)


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    for child in module.children():
        yield from child if isinstance(child, nn.ModuleList) else _layers(child)


def weights_digest(model: nn.Module) -> str:
    """SHA-256 of the names and bytes of a model's weights, in hexadecimal."""
    digest = hashlib.sha256()
    for name, tensor in sorted(weights_of(model).items()):
        digest.update(name.encode())
        digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def check_digest(name: object, model: Any) -> None:
    """Refuse weights that are not those whose digest the configuration has, as packed ones do."""
    expected = model.config.__dict__.pop("weights_sha256", None)  # it is of these weights alone
    if expected and (found := weights_digest(model)) != expected:
        raise SgdxError(
            f"{name}: model.safetensors: found weights of the digest {found[:12]}, expected "
            f"{expected[:12]}, as config.json says: the files are of two models, or one is damaged"
        )


def load_strict(
    load: Callable[..., Any], name: object, *, optional: str = "", **options: Any
) -> Any:
    """Load a model whose weights are all in its files, none made up."""
    # With ``optional``, weights whose names begin so may lack, and others may be there besides,
    # such as the heads of the task that an encoder was pretrained for.
    model, report = load(
        name,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # they are refused below, by name
        use_safetensors=True,
        trust_remote_code=False,
        **options,
    )
    faults = {
        "lacks": [k for k in report["missing_keys"] if not (optional and k.startswith(optional))],
        "has the unknown": [] if optional else report["unexpected_keys"],
        "has misshapen": [str(key[0]) for key in report["mismatched_keys"]],
    }
    for fault, keys in faults.items():
        if keys:
            raise SgdxError(
                f"{name}: model.safetensors {fault} weights {min(keys)} ({len(keys)} in all), "
                f"expected those that {type(model).__name__} has"
            )
    check_finite(model, f"{name}: model.safetensors")
    return model


def check_finite(model: nn.Module, where: str) -> None:
    """Refuse a model whose weights are not all finite numbers."""
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise SgdxError(
                f"{where}: {name} has values that are no finite numbers, expected weights of a "
                "training that went well"
            )


@contextmanager
def load_errors_as_sgdx(name: object, what: str) -> Iterator[None]:
    """Turn what transformers raises where a model cannot be loaded into a one-line error."""
    try:
        yield
    except SgdxError:
        raise
    except (
        OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, RuntimeError,
        SafetensorError,
    ) as error:  # fmt: skip
        reason = str(error).strip().split("\n")[0]
        if "CONVERSION" in reason:  # whose details are in a table that is not shown
            reason = "packed weights that are damaged"
        raise SgdxError(f"{name}: {what} cannot be loaded: {reason}") from None
