"""The processes and the device that a command uses, and what it shows of its progress."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import (
    DistributedType,
    FullyShardedDataParallelPlugin,
    is_torch_xla_available,
)
from datasets.utils import tqdm
from transformers.utils import logging

from sgdx_dataset import SgdxError

from .settings import Settings

TINY = "tiny"  # the name in recipes of a small model of random weights, to try a recipe with


def make_accelerator(**options: Any) -> Accelerator:
    """Create an ``Accelerator`` that joins all launched processes, also on CPUs."""
    # Its mixed precision is off: ``training.precision`` decides. On GPUs, matrix products of
    # float32 use TensorFloat-32, whose results differ from exact ones by about 0.1 %.
    launched = int(os.environ.get("WORLD_SIZE", "1"))
    # Without cpu=True, each of several processes without a GPU would run as if it were alone.
    on_cpus = launched > 1 and not torch.cuda.is_available() and not is_torch_xla_available()
    accelerator = Accelerator(cpu=True if on_cpus else None, mixed_precision="no", **options)
    if accelerator.device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    if accelerator.num_processes != launched and not is_torch_xla_available():
        raise SgdxError(f"launched as {launched} processes, found {accelerator.num_processes}")
    if on_cpus and os.environ.get("ACCELERATE_USE_FSDP") == "true":
        # Accelerate itself shards on accelerators only, although PyTorch does it on CPUs too.
        accelerator.state.distributed_type = DistributedType.FSDP
        accelerator.state.fsdp_plugin = FullyShardedDataParallelPlugin()
    return accelerator


def hardware(accelerator: Accelerator) -> str:
    """What a run computes on, as in ``2 processes, each on 4 threads of Intel Xeon``."""
    count = accelerator.num_processes
    many = f"{count} processes, each on" if count > 1 else "1 process on"
    device = accelerator.device
    if device.type == "cuda":
        return f"{many} {torch.cuda.get_device_name(device)}"
    if device.type != "cpu":
        return f"{many} {device.type}"
    threads = torch.get_num_threads()
    cpu = platform.processor() or platform.machine()  # where the system does not tell its name
    with suppress(OSError):
        told = Path("/proc/cpuinfo").read_text(errors="replace")
        found = re.search(r"^model name[^:\n]*:(.*)", told, re.MULTILINE)
        cpu = found[1].strip() if found else cpu
    return f"{many} {threads} thread{'s' if threads > 1 else ''} of {cpu}"


def quiet_transformers() -> None:
    """Silence transformers' bars for each file, and reports that the project turns into errors."""
    logging.disable_progress_bar()
    logging.set_verbosity_error()


def training_accelerator(settings: Settings, output: Path) -> Accelerator:
    """Create an ``Accelerator`` with the gradient accumulation and the loggers of a recipe."""
    for name in settings.log_with:
        if importlib.util.find_spec(name) is None:
            raise SgdxError(f"log_with: {name} is not installed; pip install {name}")
    spare_threads(settings.model)
    return make_accelerator(
        gradient_accumulation_steps=settings.accumulation,
        log_with=list(settings.log_with) or None,
        project_dir=output / "logs",
    )


def spare_threads(model: str | None) -> None:
    """Compute a tiny model on one CPU thread, unless ``OMP_NUM_THREADS`` says otherwise."""
    # Its operations are so short that two threads took nine times as long on a busy machine.
    if model == TINY and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)


def shows_no_bar(accelerator: Accelerator) -> bool | None:
    """The argument ``disable`` of tqdm: a bar in the first process alone, on a terminal alone."""
    return None if accelerator.is_main_process else True


def report(accelerator: Accelerator, line: str) -> None:
    """Print a line about progress where no bar shows it: when the output is not a terminal."""
    if accelerator.is_main_process and not sys.stderr.isatty():
        print(line, flush=True)


class Eta:
    """Estimates the time left until a count is reached, from the speed so far."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end
        self._since = time.perf_counter()

    def left(self, count: int) -> str:
        """The time left after ``count``, as in 1:02:03 or 04:05; ? before anything is done."""
        if count <= self.begin:
            return "?"
        seconds = time.perf_counter() - self._since
        rest = seconds * (self.end - count) / (count - self.begin)
        return str(tqdm.format_interval(rest))
