"""The processes of a run and their device, through Accelerate."""

from __future__ import annotations

import math
import os
import platform
import re
import time
from contextlib import nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin, is_torch_xla_available
from transformers.utils import logging

from sgdx_dataset import SgdxError
from sgdx_dataset.io.waiting import waiting_for

from .settings import TINY, Precision

# Settings of Accelerate's launcher that would change a training behind its recipe, with the values
# that change nothing. Others are recorded.
_HARMLESS = {
    "ACCELERATE_MIXED_PRECISION": ("no", "the recipe's precision"),
    "ACCELERATE_GRADIENT_ACCUMULATION_STEPS": ("1", "the recipe's accumulation"),
    "ACCELERATE_DYNAMO_BACKEND": ("no", "no compiler"),
    "ACCELERATE_USE_DEEPSPEED": ("false", "DDP or FSDP"),
    "ACCELERATE_USE_MEGATRON_LM": ("false", "DDP or FSDP"),
}


def make_accelerator(model: str | None = None, **options: Any) -> Accelerator:
    """Create an ``Accelerator`` that joins all launched processes, also on CPUs.

    A ``tiny`` model is computed on one CPU thread, unless ``OMP_NUM_THREADS`` says otherwise.
    """
    quiet_transformers()
    # Its operations are so short that two threads took nine times as long on a busy machine.
    if model == TINY and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    # Its mixed precision is off: ``precision`` decides. On GPUs, matrix products of float32 use
    # TensorFloat-32, whose results differ from exact ones by about 0.1 %.
    launched = _launched()
    # Without cpu=True, each of several processes without a GPU would run as if it were alone.
    on_cpus = launched > 1 and not torch.cuda.is_available() and not is_torch_xla_available()
    place = ":".join(os.environ.get(name, "?") for name in ("MASTER_ADDR", "MASTER_PORT"))
    others = f"the other processes of this launch ({launched} in all), at {place}"
    try:
        with waiting_for(others) if launched > 1 else nullcontext():
            accelerator = Accelerator(
                cpu=True if on_cpus else None, mixed_precision="no", **options
            )
    except (RuntimeError, ValueError, OSError) as error:  # such as a port that is taken
        if launched == 1:
            raise
        reason = str(error).split("\n")[0]
        raise SgdxError(f"found not {others}: {reason}") from None
    if accelerator.device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    if accelerator.num_processes != launched and not is_torch_xla_available():
        raise SgdxError(f"launched as {launched} processes, found {accelerator.num_processes}")
    if on_cpus and os.environ.get("ACCELERATE_USE_FSDP") == "true":
        # Accelerate itself shards on accelerators only, although PyTorch does it on CPUs too.
        accelerator.state.distributed_type = DistributedType.FSDP
        accelerator.state.fsdp_plugin = FullyShardedDataParallelPlugin()
    return accelerator


def _launched() -> int:
    """How many processes were launched together, by the variables that launchers set."""
    numbers = dict[str, int]()
    for name, default in (("WORLD_SIZE", "1"), ("RANK", "0")):
        text = os.environ.get(name, default)
        if not (text.isascii() and text.isdigit()):
            raise SgdxError(f"{name}: found {text!r}, expected the number that a launcher sets")
        numbers[name] = int(text)
    if numbers["RANK"] >= numbers["WORLD_SIZE"]:
        raise SgdxError(f"RANK: found {numbers['RANK']}, expected less than WORLD_SIZE")
    return numbers["WORLD_SIZE"]


def launch_settings() -> dict[str, str]:
    """What the launcher has set, for the record; what would change the recipe is refused."""
    found = {n: v for n, v in os.environ.items() if n.startswith(("ACCELERATE_", "FSDP_"))}
    for name, (harmless, instead) in _HARMLESS.items():
        if found.get(name, harmless).lower() != harmless:
            raise SgdxError(f"{name} is {found[name]}, expected {harmless}: {instead} counts")
    return dict(sorted(found.items()))


def over_processes(accelerator: Accelerator, tensor: torch.Tensor, how: str) -> torch.Tensor:
    """The ``sum`` or the ``mean`` of a tensor over all processes, which call it together."""
    # For one process Accelerate would end XLA's program here and have another one copy the tensor.
    return accelerator.reduce(tensor, how) if accelerator.num_processes > 1 else tensor


def quiet_transformers() -> None:
    """Silence transformers' bars for each file, and reports that the project turns into errors."""
    logging.disable_progress_bar()
    logging.set_verbosity_error()


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


@cache
def matrix_peak(device: torch.device, precision: Precision) -> float | None:
    """Floating-point operations a second of large matrix products, measured in a moment."""
    if device.type not in ("cpu", "cuda"):
        return None
    size, rounds = (8192, 20) if device.type == "cuda" else (768, 5)
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    own = torch.Generator(device).manual_seed(0)  # the training's random numbers are left alone
    matrix = torch.rand(size, size, device=device, generator=own).to(kind)
    wait = torch.cuda.synchronize if device.type == "cuda" else torch.cpu.synchronize
    # Of a CPU the seconds that its threads worked: others may use the cores in this moment.
    clock, threads = time.perf_counter, 1
    if device.type == "cpu":
        clock, threads = time.process_time, torch.get_num_threads()
    best = math.inf
    for _ in range(rounds):
        start = clock()
        matrix @ matrix
        wait()
        best = min(best, (clock() - start) / threads)
    return 2 * size**3 / best
