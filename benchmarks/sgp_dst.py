"""``python -m benchmarks.sgp_dst``: the speed of SGP-DST's training and tracking.

Weights are untrained: what is tracked is not to be scored. As hardly a threshold is met, states
stay small, and there are somewhat more candidates to copy than a trained tracker has.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from rich.console import Console
from rich.table import Table

from baselines.data.frames import learnable, visible
from baselines.encoders.tiny import corpus_texts, tiny_encoder
from baselines.sgp_dst.batches import (
    READS,
    ExampleColumns,
    TrainingData,
    epoch_examples,
    part_examples,
)
from baselines.sgp_dst.dialogues import read_dialogues
from baselines.sgp_dst.submodels import PARTS, About, SubModel, new_part
from baselines.sgp_dst.tracker import SgpOptions, SgpTracker, track_dialogues
from baselines.training.accelerator import make_accelerator
from baselines.training.batching import epoch
from sgdx_dataset import frames, load

_LIMITS = {"intent": 196, "combine": 144, "copy": 160, "cross": 160}


@contextmanager
def clock(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Add the time that a block takes; on a GPU, until its work is done."""
    start = time.perf_counter()
    yield
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start


def train_speed(sub: SubModel, rows: Dataset, steps: int) -> tuple[float, float, float]:
    """Examples made, batches made and examples trained on, each in examples per second."""
    seconds: dict[str, float] = {}
    with clock(seconds, "make"):
        data = TrainingData(ExampleColumns(part_examples(sub.about.part, rows)), sub)
    chosen = epoch_examples(data.kinds, 1.0, 0, 0)
    batches = epoch(data.sequences.lengths[chosen], 32, 6272, 0, 0)[:steps]
    optimizer = torch.optim.AdamW(sub.model.parameters(), lr=2e-5)
    sub.model.train()
    for places in batches:
        with clock(seconds, "batch"):
            batch = data.batch(chosen[places])
        with clock(seconds, "step"):
            on = {name: tensor.to(sub.model.device) for name, tensor in batch.items()}
            sub.model(**on).loss.backward()
            torch.nn.utils.clip_grad_norm_(sub.model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    count = sum(map(len, batches))
    return (
        len(data.kinds) / seconds["make"],
        count / seconds["batch"],
        count / (seconds["batch"] + seconds["step"]),
    )


def track_speed(tracker: SgpTracker, rows: Dataset, dialogues: int) -> tuple[int, float, float]:
    """Frames; frames per second, and the share of the time that the four encoders take."""
    seconds: dict[str, float] = {}
    for sub in tracker.parts.values():
        sub.model.train(False)
        sub.model.register_forward_pre_hook(lambda *_: begin.append(time.perf_counter()))
        sub.model.register_forward_hook(lambda *_: end.append(time.perf_counter()))
    begin: list[float] = []
    end: list[float] = []
    with clock(seconds, "all"):
        read = list(read_dialogues(visible(rows, READS)))[:dialogues]
        states = track_dialogues(tracker, read)
    count = sum(map(len, states))
    inside = float(np.sum(end) - np.sum(begin))
    return count, count / seconds["all"], inside / seconds["all"]


def measure(options: argparse.Namespace, folder: Path) -> None:
    """Print a table."""
    rows = frames(load("original", "train", options.source))
    rows = learnable(rows.select(range(min(len(rows), options.frames))), READS)
    name = options.model
    if name == "tiny":
        name = str(folder)
        for made in tiny_encoder(corpus_texts(rows)):
            made.save_pretrained(folder)
    accelerator = make_accelerator()
    device = accelerator.device
    parts = {}
    table = Table("part", "examples made/s", "batches made, examples/s", "trained, examples/s")
    for part in PARTS:
        sub = new_part(name, About(part=part, max_tokens=_LIMITS[part], model=name), seed=0)
        sub.model.to(device)
        parts[part] = sub
        speeds = train_speed(parts[part], rows, options.steps)
        table.add_row(part, *(f"{speed:,.0f}" for speed in speeds))
    console = Console()
    console.print(f"{options.model} on {device}, {torch.get_num_threads()} threads; untrained")
    console.print(table)
    test = frames(load("original", "test", options.source))
    count, speed, inside = track_speed(
        SgpTracker(parts, SgpOptions(), accelerator), test, options.dialogues
    )
    console.print(f"tracked {count} frames, {speed:,.1f} frames/s; encoders: {inside:.0%} of it")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m benchmarks.sgp_dst", description=__doc__)
    parser.add_argument("--source", default="sample", help="as of python -m sgdx_dataset prepare")
    parser.add_argument("--model", default="tiny", help="an encoder's name or folder")
    parser.add_argument("--frames", type=int, default=20000, help="of train, to make examples of")
    parser.add_argument("--steps", type=int, default=20, help="of training, for each part")
    parser.add_argument("--dialogues", type=int, default=512, help="of test, to track")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


if __name__ == "__main__":
    main()
