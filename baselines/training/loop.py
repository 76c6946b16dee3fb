"""The training loop that every tracker shares: one process or many, through Accelerate.

The batches, the learning rate and the random numbers of a step depend only on the settings, the
data and the number of the step. A run that was killed therefore continues from its last checkpoint
as an uninterrupted run would, although a checkpoint holds only the weights, the optimizer's state
and ``Progress``. On CPUs the result is the same bit for bit; on GPUs it differs by rounding, as it
does between any two runs, because some of CUDA's backward operations add up in changing order.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.distributed.tensor import DTensor
from torch.utils.data import DataLoader

from sgdx_dataset import SgdxError
from sgdx_dataset.io.console import Terminated

from . import checkpoint
from .accelerator import Shown, WholeModel, is_sharded, shard, train_with_matrix_products
from .batching import share, training_batches
from .optimizer import AveragedWeights, autocast, learning_rate, make_optimizer
from .run_folder import append_log, trim_log
from .task import Run, Task

Batch = dict[str, torch.Tensor]
_WORKERS = 4  # processes that prepare batches ahead for a GPU


@dataclass
class Progress:
    """How far a training task has come."""

    step: int = 0  # number of optimizer steps taken
    best: float = -1.0  # best score on dev so far, in [0, 1]; -1 before the first evaluation
    best_step: int = 0  # step at which the best score was reached
    since_best: int = 0  # number of evaluations since the best one
    oracle: bool = False  # whether the model is trained on schemas that it is evaluated on


@dataclass(frozen=True)
class _Training:
    """A training under way: what its steps, evaluations and checkpoints have in common."""

    accelerator: Accelerator
    task: Task
    model: Any  # as ``accelerator`` has prepared it
    optimizer: Any  # as ``accelerator`` has prepared it
    average: AveragedWeights
    progress: Progress
    meter: Meter
    shown: Shown
    whole: WholeModel
    output: Path  # folder for the log, the checkpoints and the best model


def last_checkpoint(run: Run[Any], task: str) -> Path | None:
    """The folder of the checkpoint that a task continues from; None if it starts from scratch."""
    folders = checkpoint.folders(run.output / task) if run.resume else []
    return folders[-1] if folders else None


def train(run: Run[Any], task: Task, name: str = "") -> Progress:
    """Train one model until its last step or an early stop."""
    accelerator, settings, output = run.accelerator, task.settings, run.output / name
    if settings.gradient_checkpointing:
        task.model.gradient_checkpointing_enable({"use_reentrant": False})
    train_with_matrix_products(task.model)
    whole = WholeModel(accelerator, task.model)
    if is_sharded(accelerator):
        shard(task.model.to(accelerator.device))
    model, optimizer = accelerator.prepare(
        task.model, make_optimizer(task.model, settings, accelerator.device)
    )
    progress, meter = Progress(oracle=run.provenance.oracle), Meter(accelerator)
    average = AveragedWeights(task.model, settings.ema)
    if last := last_checkpoint(run, name):
        state = checkpoint.load(last, model, optimizer.optimizer)
        average.load(last)
        progress = Progress(**state["progress"])
        meter = Meter(accelerator, **state["meter"])
    if accelerator.is_main_process:
        checkpoint.finish_replacing(output)
        trim_log(output, progress.step)
        if progress.step:
            print(f"going on at step {progress.step} of {settings.steps}", flush=True)
    shown = Shown(accelerator, "Training", "step", settings.steps, progress.step)
    training = _Training(
        accelerator, task, model, optimizer, average, progress, meter, shown, whole, output
    )
    batches = _batches(accelerator, task, progress.step)
    patience = math.inf if settings.patience is None else settings.patience
    with shown.bar, _signals_noted(accelerator) as stops:
        while progress.step < settings.steps and progress.since_best < patience:
            _step(training, batches)
            progress.step += 1
            average.update(progress.step)
            shown.update(1)
            if progress.step == settings.steps or progress.step % settings.log_every == 0:
                _log(training)
            is_due = progress.step == settings.steps or progress.step % settings.evaluate_every == 0
            if is_due or stops or progress.step % settings.save_every == 0:
                with meter.paused():
                    _check_weights(training)
                    ended = is_due and _evaluate(training)
                    _save(training)
                if ended or stops:
                    break
    if stops:
        stop = KeyboardInterrupt() if stops[0] == signal.SIGINT else Terminated()
        what = f"at step {progress.step} of {settings.steps}, whose checkpoint is kept"
        stop.add_note(f"{what}; the same command with --resume goes on")
        raise stop
    return progress


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

    def note(number: int, _: Any) -> None:
        stops.append(number)
        for noted, handler in before.items():
            signal.signal(noted, handler)

    for number, handler in before.items():
        if handler != signal.SIG_IGN:  # as SIGINT is where a shell starts a command in background
            signal.signal(number, note)
    try:
        yield stops
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _batches(accelerator: Accelerator, task: Task, step: int) -> Iterator[tuple[Batch, int]]:
    """The batches of this process from ``step`` on, each with its number of tokens."""
    settings = task.settings
    batches = training_batches(
        task.lengths,
        share(settings.batch_size, settings.accumulation, accelerator.num_processes),
        settings.token_budget,
        settings.seed,
        begin=step * settings.accumulation,
        end=settings.steps * settings.accumulation,
        process=accelerator.process_index,
        processes=accelerator.num_processes,
        whole=settings.static_shapes,
    )
    on_gpu = accelerator.device.type == "cuda"
    loader: DataLoader[Any] = DataLoader(
        batches,  # type: ignore[arg-type]  # a list of arrays serves as a dataset
        batch_size=None,
        collate_fn=task.collate,  # type: ignore[arg-type]
        pin_memory=on_gpu,
        num_workers=_WORKERS if on_gpu else 0,
        prefetch_factor=16 if on_gpu else None,
    )
    for examples, batch in zip(batches, loader):
        yield (
            {name: t.to(accelerator.device, non_blocking=True) for name, t in batch.items()},
            int(task.lengths[examples].sum()),
        )


def _step(training: _Training, batches: Iterator[tuple[Batch, int]]) -> None:
    """Take one optimizer step. Nothing in it makes the host wait for the device."""
    # The step does not depend on how its batches are divided into processes and accumulation, but
    # for rounding.
    accelerator, model, optimizer = training.accelerator, training.model, training.optimizer
    settings, step = training.task.settings, training.progress.step
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(step, settings)
    model.train()
    of_step = list(islice(batches, settings.accumulation))
    scales = _scales(accelerator, [batch.pop("weight", None) for batch, _ in of_step])
    for number, ((batch, tokens), scale) in enumerate(zip(of_step, scales)):
        # The number of the batch among those of all processes in this step.
        position = number * accelerator.num_processes + accelerator.process_index
        set_seed(int(np.random.SeedSequence((settings.seed, step, position)).generate_state(1)[0]))
        with accelerator.accumulate(model):
            with autocast(settings.precision, accelerator.device):
                loss = model(**batch).loss * scale
            accelerator.backward(loss)
            if accelerator.sync_gradients and settings.clip is not None:
                accelerator.clip_grad_norm_(model.parameters(), settings.clip)
            optimizer.step()
            optimizer.zero_grad()
        training.meter.add(loss, tokens)


def _scales(
    accelerator: Accelerator, weights: list[torch.Tensor | None]
) -> list[torch.Tensor] | list[float]:
    """What to multiply the loss of each batch of a step by, so that the step's loss is weighted."""
    # The gradients of all batches of all processes are averaged, each batch counting the same. With
    # these factors a batch counts in proportion to its weight. All processes call it together.
    tensors = [weight for weight in weights if weight is not None]
    if not tensors:
        return [1.0] * len(weights)
    total = accelerator.reduce(torch.stack(tensors).sum(), "sum")
    count = len(tensors) * accelerator.num_processes
    return [weight * count / total for weight in tensors]


def _log(training: _Training) -> None:
    """Write the mean loss and the speed since the last time to the log, and show them."""
    progress, shown = training.progress, training.shown
    loss, speed, seconds = training.meter.read()
    if not math.isfinite(loss):
        raise _diverged(progress, f"the loss is {loss}")
    shown.bar.set_postfix_str(f"loss {loss:.3f}")  # more would not fit into 80 columns
    figures = f"loss {loss:.4f}, {speed:.0f} tokens/s, {shown.left} left"
    shown.line(f"step {progress.step} of {shown.end}: {figures}")
    figures_of_time = {"tokens_per_second": round(speed), "seconds": round(seconds, 2)}
    _record(training, {"loss": loss, **figures_of_time})


def _evaluate(training: _Training) -> bool:
    """Score the model on dev, keep it if it is the best so far, and say whether to end."""
    accelerator, task, progress = training.accelerator, training.task, training.progress
    with training.average.in_place(), training.whole.of(training.model) as model:
        model.eval()
        with autocast(task.settings.precision, accelerator.device):
            score, chosen_config, ended = task.evaluate(model)
        for name, value in chosen_config.items():
            setattr(model.config, name, value)
        progress.since_best += 1
        if score > progress.best:
            progress.best, progress.best_step, progress.since_best = score, progress.step, 0
            if accelerator.is_main_process:
                weights = model.state_dict()
                checkpoint.replace_files(
                    training.output, lambda folder: task.save(folder, model, weights)
                )
    measure = task.measure.replace("_", " ")
    best_so_far = " (the best so far)" if progress.since_best == 0 else ""
    training.shown.line(f"step {progress.step}: {measure} {score:.4f}{best_so_far}")
    _record(training, {task.measure: score})
    return ended


def _check_weights(training: _Training) -> None:
    """Refuse to evaluate and to keep weights that are not numbers."""
    # Each process looks at its own part of sharded weights; all call it together.
    parameters = training.model.parameters()
    local = [p.to_local() if isinstance(p, DTensor) else p for p in parameters]
    finite = torch.stack([p.detach().isfinite().all() for p in local]).all().float()
    if training.accelerator.reduce(finite, "mean").item() < 1:
        raise _diverged(training.progress, "weights are not finite")


def _diverged(progress: Progress, why: str) -> SgdxError:
    return SgdxError(
        f"step {progress.step}: the training has diverged, {why}; lower learning_rate, set clip or "
        "raise warmup, and start again"
    )


def _record(training: _Training, figures: dict[str, float]) -> None:
    """Add a line to ``log.jsonl`` and to the trackers of Accelerate."""
    step = training.progress.step
    training.accelerator.log(figures, step=step)
    if training.accelerator.is_main_process:
        append_log(training.output, {"step": step, **figures})


def _save(training: _Training) -> None:
    """Write a checkpoint, from which the training can be resumed."""
    progress, task = training.progress, training.task
    state = checkpoint.optimizer_state(training.model, training.optimizer.optimizer)
    numbers = {"progress": asdict(progress), "meter": training.meter.state()}
    with training.whole.of(training.model) as model:
        if training.accelerator.is_main_process:
            weights = model.state_dict()

            def write(staging: Path) -> None:
                task.save(staging, model, weights)
                training.average.save(staging)

            folder = training.output / "checkpoints" / f"step-{progress.step:08d}"
            checkpoint.save(folder, numbers, state, write)
    training.accelerator.wait_for_everyone()


class Meter:
    """Sums loss, tokens and seconds since the last reading; the loss stays on the device."""

    def __init__(self, accelerator: Accelerator, total: float = 0.0, batches: int = 0) -> None:
        """Begin anew, or with the losses that ``state`` gave."""
        self.accelerator = accelerator
        self.total = torch.full((), total, device=accelerator.device)  # of the batches' losses
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
        total = self.accelerator.reduce(self.total, "mean").item()
        return {"total": total, "batches": self.batches}

    def read(self) -> tuple[float, float, float]:
        """Mean loss and tokens per second over all processes, and seconds; then begin anew."""
        # All processes must call this together.
        loss = self.accelerator.reduce(self.total / max(1, self.batches), "mean").item()
        seconds = time.perf_counter() - self.since
        speed = self.tokens * self.accelerator.num_processes / seconds
        self.total.zero_()
        self.batches = self.tokens = 0
        self.since = time.perf_counter()
        return loss, speed, seconds
