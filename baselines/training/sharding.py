"""Fully sharded data parallelism: each process keeps a part of the weights, all train one model.

It is on where ``accelerate launch`` is given a configuration of FSDP, on GPUs or on CPUs.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from accelerate import Accelerator
from accelerate.utils import DistributedType
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard


def is_sharded(accelerator: Accelerator) -> bool:
    """Whether the processes share the weights of the models that they train."""
    return bool(accelerator.distributed_type == DistributedType.FSDP)


def shard(model: nn.Module) -> None:
    """Deal the weights of a model among the processes, in place."""
    # Each layer is gathered when it is used; all that is in no layer is gathered together.
    # Accelerate's own division fails where encoder and decoder share an embedding.
    for layer in _layers(model):
        fully_shard(layer)
    fully_shard(model)


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    for child in module.children():
        yield from child if isinstance(child, nn.ModuleList) else _layers(child)


class WholeModel:
    """Gives the model that is trained with whole weights, to evaluate and to save it."""

    # Every call of a sharded module needs all processes. Evaluation calls modules apart, and not
    # equally often in all processes, so it gets a copy with whole weights.
    def __init__(self, accelerator: Accelerator, model: nn.Module) -> None:
        """Remember how to make the model whole; call it before the model is sharded."""
        self._accelerator = accelerator
        self._copy = copy.deepcopy(model).cpu() if is_sharded(accelerator) else None

    @contextmanager
    def of(self, model: nn.Module) -> Iterator[Any]:
        """The whole model on the device, while the context is open; all processes enter it."""
        if self._copy is None:
            yield self._accelerator.unwrap_model(model)
            return
        weights = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
        self._copy.load_state_dict(weights)
        yield self._copy.to(self._accelerator.device)
        self._copy.cpu()  # its memory on the device is needed for training
