"""``python -m benchmarks.sgd_baseline --source PATH``: the SGD baseline's speed and its bound.

The weights are untrained, so no score means anything. Slots that are active alone are asked for
spans, so statuses are set: to none active, and to all, the worst there is; in the sample's gold one
free slot in nine is. The bound is the turn encoder alone on the same batches.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from datasets import Dataset, concatenate_datasets
from rich.console import Console
from rich.table import Table as Lines

from baselines.data.frames import input_columns, training_columns
from baselines.encoders.load import load_encoder
from baselines.encoders.tiny import corpus_texts, tiny_encoder
from baselines.sgd_baseline.batches import TurnExamples
from baselines.sgd_baseline.labels import ACTIVE, UNCHANGED
from baselines.sgd_baseline.model import SgdProvenance, new_model
from baselines.sgd_baseline.modeling import ENCODER_INPUTS
from baselines.sgd_baseline.settings import SgdOptions
from baselines.sgd_baseline.tracker import SgdTracker
from baselines.training.batching import by_length, training_batches
from benchmarks.clock import timed
from sgdx_dataset import VARIANTS, frames, load

CONFIGS = ["original", *VARIANTS]
Report = Callable[[str, float, str, float], None]


def rows_of(config: str, split: str, options: argparse.Namespace) -> Dataset:
    """Frame rows of the first dialogues."""
    return frames(load(config, split, options.source).select(range(options.dialogues)))


def predicting(tracker: SgdTracker, options: argparse.Namespace, report: Report) -> None:
    """Measure predicting six variants in one pass, and one after the other."""
    tracker.model.to(tracker.accelerator.device).train(False)
    parts = [rows_of(config, "test", options) for config in CONFIGS]
    together = concatenate_datasets(parts)

    def read(rows: Dataset) -> TurnExamples:
        return tracker.read_inputs(input_columns(rows, tracker.READS))

    def predict(examples: TurnExamples) -> int:
        return len(tracker.track(tracker.model, examples, Path(tempfile.mkdtemp())))

    cold, examples = timed(read, together)
    report("read and embed, six variants, empty cache", len(together), "frames", cold)
    warm, _ = timed(read, together)
    report("the same, embeddings kept", len(together), "frames", warm)
    set_status(tracker, ACTIVE)
    report("predict six, every slot active", len(together), "frames", timed(predict, examples)[0])
    set_status(tracker, UNCHANGED)
    report("predict six in one pass", len(together), "frames", timed(predict, examples)[0])
    apart, _ = timed(lambda: [predict(part) for part in map(read, parts)])
    report("read and predict them one by one", len(together), "frames", apart)
    alone, _ = timed(encode_all, tracker, examples, options)
    report("bound: the turn encoder alone, once", len(together), "frames", alone)


def set_status(tracker: SgdTracker, status: int) -> None:
    """Make the model predict one status for every slot."""
    for name in ("categorical_status", "free_status"):
        last: Any = tracker.model.heads[name]
        torch.nn.init.zeros_(last.out.weight)
        last.out.bias.data = torch.eye(3, device=tracker.model.device)[status]


@torch.inference_mode()
def encode_all(tracker: SgdTracker, examples: TurnExamples, options: argparse.Namespace) -> None:
    """Run every distinct turn through the encoder, and do nothing else."""
    for batch in by_length(examples.lengths, options.batch, tracker.options.token_budget):
        inputs = examples.turns.batch(examples.texts[batch].tolist())
        tracker.model.encode(**{n: t.to(tracker.model.device) for n, t in inputs.items()})


def training(tracker: SgdTracker, options: argparse.Namespace, report: Report) -> None:
    """Measure reading labels, steps of 32 turns, and the same steps of the turn encoder alone.

    The two kinds of steps alternate batch by batch, so that other work of the machine slows both.
    The ratio is the median over the batches.
    """
    rows = training_columns(rows_of("original", "train", options), tracker.READS)
    seconds, examples = timed(tracker.read_examples, rows)
    report("read, embed and label to train", len(rows), "frames", seconds)
    batches = training_batches(examples.lengths, 32, 2560, 0, begin=0, end=options.steps)
    turns = sum(map(len, batches))
    model = tracker.model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

    def step(indices: Any, loss: Callable[[dict[str, torch.Tensor]], torch.Tensor]) -> None:
        batch = examples.training_batch(indices.tolist())
        torch.autograd.backward(loss({n: t.to(model.device) for n, t in batch.items()}))
        optimizer.step()
        optimizer.zero_grad()

    def whole(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        loss: torch.Tensor = model(**batch).loss
        return loss

    def encoder(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        pooled, tokens = model.encode(**{n: batch[n] for n in ENCODER_INPUTS if n in batch})
        return torch.stack([pooled.sum(), tokens.sum()]).sum()

    for loss in (whole, encoder):
        step(batches[0], loss)  # the first step is slower
    taken = np.array(
        [[timed(step, batch, loss)[0] for loss in (whole, encoder)] for batch in batches]
    )
    report("train", turns, "turns", taken[:, 0].sum())
    report("bound: the turn encoder alone", turns, "turns", taken[:, 1].sum())
    ratio = np.median(taken[:, 0] / taken[:, 1])
    print(f"training takes {ratio:.3f} times as long as the turn encoder alone")


def main() -> None:
    """Run all and print a table."""
    parser = argparse.ArgumentParser("python -m benchmarks.sgd_baseline", description=__doc__)
    parser.add_argument("--source", default="sample")
    parser.add_argument("--model", default="tiny", help="an encoder's name or folder, or tiny")
    parser.add_argument("--dialogues", type=int, default=36, help="of each split")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=128, help="turns, to predict")
    options = parser.parse_args()
    if options.model == "tiny":
        texts = rows_of("original", "train", options)
        columns = texts.select_columns(["history", "utterance", "schema"])
        encoder, tokenizer = tiny_encoder(corpus_texts(columns), hidden=128)
    else:
        encoder, tokenizer = load_encoder(options.model)  # type: ignore[assignment]
    provenance = SgdProvenance(tracker=SgdTracker.NAME, max_turn=80)
    own = SgdOptions(batch_size=options.batch, cache=tempfile.mkdtemp())
    tracker = SgdTracker(new_model(encoder, provenance), tokenizer, provenance, own, Accelerator())
    lines = Lines("what", "count", "of", "seconds", "per second", title="Untrained heads")

    def report(what: str, count: float, unit: str, seconds: float) -> None:
        lines.add_row(what, str(count), unit, f"{seconds:.2f}", f"{count / seconds:.0f}")

    predicting(tracker, options, report)
    training(tracker, options, report)
    Console().print(lines)


if __name__ == "__main__":
    main()
