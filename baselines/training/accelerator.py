"""The processes and the device, the attention on it, and weights that processes share."""

from __future__ import annotations

import copy
import importlib.util
import os
import platform
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin, is_torch_xla_available
from datasets.utils import tqdm
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
from transformers.utils import logging

from sgdx_dataset import SgdxError
from sgdx_dataset.io.progress import DELAY

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


class Shown:
    """How far a run is: a bar on a terminal, elsewhere the lines that it is given."""

    def __init__(
        self, accelerator: Accelerator, what: str, unit: str, end: int, begin: int = 0
    ) -> None:
        self.accelerator, self.unit = accelerator, unit
        self.begin, self.done, self.end = begin, begin, end
        self.since = time.perf_counter()
        # In the first process alone; None: on a terminal alone.
        disable = None if accelerator.is_main_process else True
        self.bar = tqdm(
            desc=what, unit=f" {unit}", initial=begin, total=end, delay=DELAY, disable=disable
        )

    def update(self, steps: int) -> None:
        """Move on."""
        self.done += steps
        self.bar.update(steps)

    @property
    def left(self) -> str:
        """The time left at the speed so far, as in 1:02:03 or 04:05; ? before anything is done."""
        if self.done == self.begin:
            return "?"
        seconds = time.perf_counter() - self.since
        rest = seconds * (self.end - self.done) / (self.done - self.begin)
        return str(tqdm.format_interval(rest))

    def line(self, text: str) -> None:
        """Print a line where no bar is shown: when the output is not a terminal."""
        if self.accelerator.is_main_process and not sys.stderr.isatty():
            print(text, flush=True)


ATTENTION = "sgdx_training"  # the name under which transformers knows the attention function


def train_with_matrix_products(model: nn.Module) -> None:
    """Let the encoders in a model use ``training_attention`` in place of PyTorch's fused one."""
    # Encoder-decoders and encoders that have an attention of their own, such as DeBERTa, are left
    # as they are. Nothing of it is saved with the model.
    for part in model.modules():
        if (
            isinstance(part, PreTrainedModel)
            and part.config._attn_implementation == "sdpa"
            and not part.config.is_encoder_decoder
        ):
            part.config._attn_implementation = ATTENTION


def training_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attend by matrix products if they are faster: [texts, queries, heads, size] in all."""
    # Queries are [texts, heads, queries, size], keys and values [texts, heads, keys, size]. The
    # mask [texts, 1, 1 or queries, keys] is true for yes, or numbers that are added to the scores.
    trained = query.requires_grad and query.device.type == "cpu" and query.dtype == torch.bfloat16
    plain = (
        not getattr(module, "is_causal", True) and getattr(module, "num_key_value_groups", 1) == 1
    )
    if not (trained and plain):
        attended: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, **options
        )
        return attended
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = (query * scale) @ key.transpose(-1, -2)
    if attention_mask is not None:
        if attention_mask.dtype == torch.bool:
            # Adding is faster than filling in, as one mask serves all heads and both directions.
            lowest = torch.finfo(scores.dtype).min
            attention_mask = scores.new_zeros(()).where(attention_mask, lowest)
        scores = scores + attention_mask.to(scores.dtype)
    # Autocast would turn the weights into float32, which takes longer and is no more exact: a
    # softmax of bfloat16 is computed in float32 within.
    with torch.autocast(query.device.type, enabled=False):
        weights = nn.functional.dropout(scores.softmax(-1), dropout)
    return (weights @ value).transpose(1, 2).contiguous(), None


AttentionInterface.register(ATTENTION, training_attention)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)


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
