"""The processes, device and precision that a command works with, through Accelerate."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import is_bf16_available, is_torch_xla_available

from sgdx_dataset import SgdxError

from .settings import Settings


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


def training_accelerator(settings: Settings, output: Path) -> Accelerator:
    """An ``Accelerator`` with the precision, accumulation and loggers of a recipe.

    Raises:
        SgdxError: A package to log with is not installed.
    """
    for name in settings.log_with:
        if importlib.util.find_spec(name) is None:
            raise SgdxError(f"log_with: {name} is not installed; pip install {name}")
    precision: str | None = settings.precision
    if precision == "auto":  # as accelerate launch was told, else what the hardware has
        has = torch.cuda.is_available() and is_bf16_available()
        precision = os.environ.get("ACCELERATE_MIXED_PRECISION", "bf16" if has else "no")
    return make_accelerator(
        mixed_precision=precision,
        gradient_accumulation_steps=settings.accumulation,
        log_with=list(settings.log_with) or None,
        project_dir=output / "logs",
    )


def shows_no_bar(accelerator: Accelerator) -> bool | None:
    """What tqdm's ``disable`` is: True in all processes but the first, whose terminal decides."""
    return None if accelerator.is_main_process else True
