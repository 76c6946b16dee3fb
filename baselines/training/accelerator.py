"""The processes that a command was launched as."""

from __future__ import annotations

import os
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import is_torch_xla_available

from sgdx_dataset import SgdxError


def make_accelerator(**options: Any) -> Accelerator:
    """An ``Accelerator`` that knows of all processes, on CPUs too.

    Raises:
        SgdxError: The processes cannot be joined.
    """
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    # Without this, accelerate takes each of several processes without a GPU for the only one.
    on_cpus = launched > 1 and not torch.cuda.is_available() and not is_torch_xla_available()
    accelerator = Accelerator(cpu=True if on_cpus else None, **options)
    if accelerator.num_processes != launched and not is_torch_xla_available():
        raise SgdxError(f"launched as {launched} processes, found {accelerator.num_processes}")
    return accelerator


def is_first() -> bool:
    """Whether this process is the one that speaks."""
    return os.environ.get("RANK", "0") == "0"
