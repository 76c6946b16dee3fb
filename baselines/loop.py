"""The training loop that every system shares: one process or many, through Accelerate.

The batches, the learning rate and the random numbers of a step depend only on the settings, the
data and the number of the step. A run that was killed therefore continues from its last checkpoint
as an uninterrupted run would, although a checkpoint holds only the weights, the optimizer's state
and ``Progress``. On CPUs the result is the same bit for bit; on GPUs it differs by rounding, as it
does between any two runs, because some of CUDA's backward operations add up in changing order.
"""

from __future__ import annotations

import copy
import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, set_seed
from datasets import Dataset
from safetensors.torch import load_file, save_file
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.tensor import DTensor
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader
from transformers.optimization import Adafactor

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import Terminated

from . import checkpoint, xla
from .batching import Ints, share, training_batches
from .precision import autocast, train_in_bfloat16
from .predicting import Shown, predict_anew
from .processes import matrix_peak, over_processes
from .run_folder import append_log, trim_log
from .settings import TrainingSettings
from .tracker import Examples, Tracker

Batch = dict[str, torch.Tensor]
_WORKERS = min(16, os.cpu_count() or 1)  # processes that prepare batches ahead for a GPU
_AVERAGE = "average.safetensors"  # the file of a checkpoint with the mean of the weights


@dataclass
class Progress:
    """How far a training task has come."""

    step: int = 0  # number of optimizer steps taken
    best: float = -1.0  # best score on dev so far, in [0, 1]; -1 before the first evaluation
    best_step: int = 0  # step at which the best score was reached
    since_best: int = 0  # number of evaluations since the best one


def train(training: Training) -> Progress:
    """Train one model until its last step or an early stop."""
    settings, progress = training.settings, training.progress
    if training.accelerator.is_main_process:
        checkpoint.finish_replacing(training.output)
        trim_log(training.output, progress.step)
        if progress.step:
            print(f"going on at step {progress.step} of {settings.steps}", flush=True)
    batches = training.batches()
    patience = math.inf if settings.patience is None else settings.patience
    training.check_weights()  # so that XLA compiles this before the first step, not in the middle
    with training.shown.bar, _signals_noted(training.accelerator) as stops:
        while progress.step < settings.steps and progress.since_best < patience:
            training.step(batches)
            is_last = progress.step == settings.steps
            if is_last or progress.step % settings.log_every == 0:
                training.log()
            is_due = is_last or progress.step % settings.evaluate_every == 0
            if is_due or stops or progress.step % settings.save_every == 0:
                with training.meter.paused():
                    training.check_weights()
                    if is_due:
                        training.evaluate()
                    training.save()
                if stops:
                    break
    if stops:
        stop = KeyboardInterrupt() if stops[0] == signal.SIGINT else Terminated()
        what = f"at step {progress.step} of {settings.steps}, whose checkpoint is kept"
        stop.add_note(f"{what}; the same command with --resume goes on")
        raise stop
    return progress


class Training:
    """A training under way: the model, its optimizer, and how far they are."""

    def __init__(
        self,
        accelerator: Accelerator,
        model: Tracker,
        examples: Examples,
        dev: Dataset,
        output: Path,
        last: Path | None = None,
    ) -> None:
        """Prepare a model with its recipe; ``last`` is the checkpoint from which it goes on."""
        self.accelerator, self.output, self.examples, self.dev = accelerator, output, examples, dev
        self.settings = settings = model.planned(examples.lengths, accelerator.num_processes)
        self.tracker, device = model, accelerator.device
        self.peak = matrix_peak(device, settings.precision)
        self.operations = operations_of_token(model)
        # Calls of a sharded model need all processes, which evaluate alone: they get a copy of it.
        is_sharded = accelerator.distributed_type == DistributedType.FSDP
        self.whole = copy.deepcopy(model).cpu() if is_sharded else None
        if settings.gradient_checkpointing:
            model.gradient_checkpointing_enable(  # type: ignore[no-untyped-call]
                {"use_reentrant": False}
            )
        if settings.precision == "bf16" and device.type == "cpu" and self.whole is None:
            train_in_bfloat16(model)
        if self.whole is not None:
            checkpoint.shard(model.to(device))
        else:
            xla.move(model, device)
        self.compiled = xla.programs(device)
        self.size = share(settings.batch_size, settings.accumulation, accelerator.num_processes)
        optimizer = make_optimizer(model, settings, device)
        parameters = [list(group["params"]) for group in optimizer.param_groups]
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        if self.whole is not None:
            # Accelerate looks up sharded parameters by their address, which is 0 for all of which
            # this process has no part, such as a bias that is shorter than there are processes.
            for group, own in zip(optimizer.param_groups, parameters):
                group["params"] = own
        self.average = average_of(model, settings.ema) if settings.ema is not None else None
        self.progress, self.meter = Progress(), Meter(self.accelerator)
        if last is not None:
            state = checkpoint.load(last, self.model, self.optimizer.optimizer)
            self.progress = Progress(**state["progress"])
            self.meter = Meter(self.accelerator, **state["meter"])
            if self.average is not None:
                self.average.module.load_state_dict(load_file(last / _AVERAGE))
                self.average.n_averaged += self.progress.step
        elif xla.is_xla(device) and settings.optimizer == "adamw":
            xla.start_moments(self.optimizer.optimizer)
        first = accelerator.is_main_process
        self.shown = Shown(first, "Training", "step", settings.steps, self.progress.step)

    @cached_property
    def shapes(self) -> list[tuple[int, int]]:
        """The rows and tokens that XLA gets."""
        lengths, budget = self.examples.lengths, self.settings.token_budget
        return xla.training_shapes(lengths, self.size, budget)

    def batches(self) -> Iterator[tuple[Batch, int]]:
        """The batches of this process from its step on, each with its number of tokens."""
        accelerator, lengths = self.accelerator, self.examples.lengths
        place = accelerator.process_index, accelerator.num_processes
        batches = training_batches(self.settings, lengths, self.progress.step, *place)
        self.examples.require(batches)
        on_gpu = accelerator.device.type == "cuda"
        loader: DataLoader[Any] = DataLoader(
            batches,  # type: ignore[arg-type]  # a list of arrays serves as a dataset
            batch_size=None,
            collate_fn=self.collate,  # type: ignore[arg-type]
            pin_memory=on_gpu,
            num_workers=_WORKERS if on_gpu else 0,
            prefetch_factor=16 if on_gpu else None,
        )
        for examples, batch in zip(batches, loader):
            on_device = {n: t.to(accelerator.device, non_blocking=True) for n, t in batch.items()}
            yield on_device, int(lengths[examples].sum())

    def collate(self, examples: Ints) -> Batch:
        """A batch on the CPU, which XLA gets in few shapes."""
        batch = self.examples.batch(examples)
        if not xla.is_xla(self.accelerator.device):
            return batch
        longest = self.examples.lengths[examples].max()
        rows, width = next(shape for shape in self.shapes if shape[1] >= longest)
        return self.examples.fill(batch, rows, width)

    def step(self, batches: Iterator[tuple[Batch, int]]) -> None:
        """Take one optimizer step. Nothing in it makes the host wait for the device."""
        # The step does not depend on how its batches are divided into processes and accumulation,
        # but for rounding.
        accelerator, settings = self.accelerator, self.settings
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.progress.step, settings)
        self.model.train()
        of_step = list(islice(batches, settings.accumulation))
        scales = self._scales([batch.pop("weight", None) for batch, _ in of_step])
        for number, ((batch, tokens), scale) in enumerate(zip(of_step, scales)):
            # The number of the batch among those of all processes in this step.
            position = number * accelerator.num_processes + accelerator.process_index
            seeds = np.random.SeedSequence((settings.seed, self.progress.step, position))
            set_seed(int(seeds.generate_state(1)[0]))
            with accelerator.accumulate(self.model):
                with self._weights_of_step():
                    with autocast(settings.precision, accelerator.device):
                        loss = self.model(**batch).loss * scale
                    accelerator.backward(loss)
                if accelerator.sync_gradients and settings.clip is not None:
                    accelerator.clip_grad_norm_(self.model.parameters(), settings.clip)
                self.optimizer.step()
                self.optimizer.zero_grad()
            self.meter.add(loss, tokens)
            xla.end_program(accelerator.device)
        self.progress.step += 1
        if self.average is not None:
            self.average.update_parameters(self.tracker)
            xla.end_program(accelerator.device)
        self.shown.update(1)

    def _weights_of_step(self) -> AbstractContextManager[None]:
        """The weights that a step computes with: rounded ones in the last steps of some recipes."""
        settings: Any = self.settings
        last = getattr(settings, "rounded", 0.0) * settings.steps
        if not settings.steps - self.progress.step <= last:
            return nullcontext()
        from .packing import rounded

        return rounded(self.tracker, settings.bits)

    def _scales(self, weights: list[torch.Tensor | None]) -> list[torch.Tensor] | list[float]:
        """What to multiply the loss of each batch of a step by, so that it counts by its weight."""
        # The gradients of all batches of all processes are averaged, each batch counting the same.
        # All processes call it together.
        tensors = [weight for weight in weights if weight is not None]
        if not tensors:
            return [1.0] * len(weights)
        total = over_processes(self.accelerator, torch.stack(tensors).sum(), "sum")
        count = len(tensors) * self.accelerator.num_processes
        return [weight * count / total for weight in tensors]

    def log(self) -> None:
        """Write the mean loss and the speed since the last time to the log, and show them."""
        loss, speed, seconds = self.meter.read()
        self.meter = Meter(self.accelerator)
        if not math.isfinite(loss):
            raise self._diverged(f"the loss is {loss}")
        self.shown.bar.set_postfix_str(f"loss {loss:.3f}")  # more would not fit into 80 columns
        figures = {"loss": loss, "tokens_per_second": round(speed), "seconds": round(seconds, 2)}
        of_peak = ""
        if self.peak:
            share = self.operations * speed / (self.peak * self.accelerator.num_processes)
            figures["share_of_peak"] = round(share, 3)
            of_peak = f" ({100 * share:.0f} % of peak)"
        words = f"loss {loss:.4f}, {speed:.0f} tokens/s{of_peak}, {self.shown.left} left"
        self.shown.line(f"step {self.progress.step} of {self.shown.end}: {words}")
        self._record(figures)

    def evaluate(self) -> None:
        """Score the model on dev, and keep it if it is the best so far."""
        settings, progress, accelerator = self.settings, self.progress, self.accelerator
        with self._whole_model() as own:
            model: Any = own if self.average is None else self.average.module
            weights = checkpoint.weights_of(model)
            if bits := getattr(settings, "bits", None):  # what is scored is what is kept
                from .packing import packed_copy

                model, weights = packed_copy(model, bits)
            model.eval()
            with autocast(settings.precision, accelerator.device):
                score, chosen_config = model.score(
                    self.dev,
                    lambda: predict_anew(model, self.dev, self.output / "dev", accelerator),
                )
            for one in (own, model):
                for name, value in chosen_config.items():
                    setattr(one.config, name, value)
            progress.since_best += 1
            if score > progress.best:
                progress.best, progress.best_step, progress.since_best = score, progress.step, 0
            if progress.since_best == 0 and accelerator.is_main_process:
                checkpoint.replace_files(
                    self.output, lambda folder: model.save_pretrained(folder, state_dict=weights)
                )
        best_so_far = " (the best so far)" if progress.since_best == 0 else ""
        self.shown.line(f"step {progress.step}: {self.tracker.in_words(score)}{best_so_far}")
        self._record({self.tracker.MEASURE: score})

    def check_weights(self) -> None:
        """Refuse to evaluate and to keep weights that are not numbers."""
        # Each process looks at its own part of sharded weights; all call it together.
        parameters = self.model.parameters()
        local = [p.to_local() if isinstance(p, DTensor) else p for p in parameters]
        finite = torch.stack([p.detach().isfinite().all() for p in local]).all().float()
        if over_processes(self.accelerator, finite, "mean").item() < 1:
            raise self._diverged("weights are not finite")

    def _diverged(self, why: str) -> SgdxError:
        return SgdxError(
            f"step {self.progress.step}: the training has diverged, {why}; lower learning_rate, "
            "set clip or raise warmup, and start again"
        )

    def _record(self, figures: dict[str, float]) -> None:
        """Add a line to ``log.jsonl`` and to the loggers of Accelerate.

        On XLA it has the number of programs that were compiled since the line before.
        """
        if xla.is_xla(self.accelerator.device):
            before, self.compiled = self.compiled, xla.programs(self.accelerator.device)
            figures = figures | {"compiled": self.compiled - before}
        self.accelerator.log(figures, step=self.progress.step)
        if self.accelerator.is_main_process:
            append_log(self.output, {"step": self.progress.step, **figures})

    def save(self) -> None:
        """Write a checkpoint, from which the training can be resumed."""
        state = checkpoint.optimizer_state(self.model, self.optimizer.optimizer)
        numbers = {"progress": asdict(self.progress), "meter": self.meter.state()}
        with self._whole_model() as model:
            if self.accelerator.is_main_process:
                weights = checkpoint.weights_of(model)

                def write(staging: Path) -> None:
                    model.save_pretrained(staging, state_dict=weights)
                    if self.average is not None:
                        means = checkpoint.weights_of(self.average.module)
                        mean = {name: tensor.clone() for name, tensor in means.items()}
                        save_file(mean, staging / _AVERAGE)

                folder = self.output / "checkpoints" / f"step-{self.progress.step:08d}"
                checkpoint.save(folder, numbers, state, write)
        self.accelerator.wait_for_everyone()

    @contextmanager
    def _whole_model(self) -> Iterator[Any]:
        """The model with whole weights on the device; all processes enter the context together."""
        if self.whole is None:
            yield self.accelerator.unwrap_model(self.model)
            return
        options = StateDictOptions(full_state_dict=True)
        self.whole.load_state_dict(get_model_state_dict(self.model, options=options))
        yield self.whole.to(self.accelerator.device)
        self.whole.cpu()  # its memory on the device is needed for training


def make_optimizer(
    model: nn.Module, settings: TrainingSettings, device: torch.device
) -> torch.optim.Optimizer:
    """Create AdamW, or Adafactor without relative steps."""
    # Biases and the weights of norms, which have one dimension, get no weight decay.
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if settings.optimizer == "adamw":
        fused = device.type in ("cpu", "cuda")
        return torch.optim.AdamW(
            groups, lr=settings.learning_rate, eps=settings.epsilon, fused=fused
        )
    if isinstance(parameters[0], DTensor):
        raise SgdxError("optimizer: adafactor keeps whole matrices, expected adamw under FSDP")
    return Adafactor(
        groups,
        lr=settings.learning_rate,
        scale_parameter=settings.multiply_by_parameter_scale,
        relative_step=False,
    )


def operations_of_token(model: nn.Module) -> int:
    """Floating-point operations of one token's step: its matrix products but those of attention."""
    # A product and a sum for each weight going forward, and twice as many going back.
    linear = [part.weight for part in model.modules() if isinstance(part, nn.Linear)]
    return sum((6 if weight.requires_grad else 2) * weight.numel() for weight in linear)


def learning_rate(step: int, settings: TrainingSettings) -> float:
    """The learning rate of a step: linear warm-up, then as the recipe's schedule says."""
    warmup = int(settings.warmup * settings.steps)
    if step < warmup:
        return settings.learning_rate * (step + 1) / warmup
    if settings.schedule == "constant":
        return settings.learning_rate
    left = (settings.steps - step) / max(1, settings.steps - warmup)
    if settings.schedule == "cosine":
        left = (1 - math.cos(math.pi * left)) / 2
    return settings.learning_rate * left


def average_of(model: nn.Module, ema: float) -> AveragedModel:
    """The running mean of a model's weights, in which the past counts ``ema`` after some steps."""
    if any(isinstance(p, DTensor) for p in model.parameters()):
        raise SgdxError("ema: found sharded weights (FSDP), expected whole ones")

    def move(means: Any, weights: Any, step: Any) -> None:
        past = min(ema, (1 + int(step)) / (10 + int(step)))
        torch._foreach_lerp_(means, weights, 1 - past)

    average = AveragedModel(model, multi_avg_fn=move)
    average.n_averaged += 1  # the first weights count, as those of step 0
    return average


class Meter:
    """Sums loss, tokens and seconds since it was made; the loss stays on the device."""

    def __init__(self, accelerator: Accelerator, total: float = 0.0, batches: int = 0) -> None:
        """Begin anew, or with the losses that ``state`` gave."""
        self.accelerator = accelerator
        # Of the batches' losses [1]. XLA takes a scalar of 0 for a constant, with which the step
        # after each reading would be another program.
        self.total = torch.tensor([total]).to(accelerator.device)
        self.batches, self.tokens = batches, 0
        self.since = time.perf_counter()

    def add(self, loss: torch.Tensor, tokens: int) -> None:
        """Count one batch."""
        self.total += loss.detach()
        self.batches += 1
        self.tokens += tokens

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time while the context is open."""
        began = time.perf_counter()
        yield
        self.since += time.perf_counter() - began

    def state(self) -> dict[str, float]:
        """The sum of losses, so that a resumed training's log is that of an unbroken one."""
        # All processes must call this together.
        total = over_processes(self.accelerator, self.total, "mean").item()
        return {"total": total, "batches": self.batches}

    def read(self) -> tuple[float, float, float]:
        """Mean loss and tokens per second over all processes, and seconds."""
        # All processes must call this together.
        loss = self.state()["total"] / max(1, self.batches)
        seconds = time.perf_counter() - self.since
        return loss, self.tokens * self.accelerator.num_processes / seconds, seconds


@contextmanager
def _signals_noted(accelerator: Accelerator) -> Iterator[list[int]]:
    """Note the first Ctrl-C or SIGTERM, so that its step and checkpoint are finished first.

    A second one acts at once. Of several processes each may be in another step, so that the last
    checkpoint that they wrote together counts.
    """
    stops: list[int] = []
    if accelerator.num_processes > 1 or threading.current_thread() != threading.main_thread():
        yield stops
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, _: Any) -> None:
        stops.append(number)
        restore()

    for number, handler in before.items():
        if handler != signal.SIG_IGN:  # as SIGINT is where a shell starts a command in background
            signal.signal(number, note)
    try:
        yield stops
    finally:
        restore()
