"""``python -m benchmarks.encoders``: tokens per second of an encoder, by precision and attention.

The encoder reads random tokens without padding, in one thread per core that torch may use
(``OMP_NUM_THREADS``). On CPUs, tokens are counted per second of CPU time of all threads together,
so that other work on the machine does not change the figures much. Each figure is that of the
fastest of several calls. Training is measured with PyTorch's attention, which is one fused
operation where it drops none of its weights, and with the project's (``training/attention.py``).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from transformers import PreTrainedModel

from baselines.encoders.load import load_encoder
from baselines.encoders.tiny import tiny_encoder
from baselines.training.accelerator import make_accelerator
from baselines.training.attention import train_with_matrix_products
from baselines.training.precision import autocast
from baselines.training.settings import Precision
from benchmarks.clock import timed


def training(model: PreTrainedModel, ids: torch.Tensor, precision: Precision) -> None:
    """One step of training without an optimizer: forward and backward."""
    model.train()
    with autocast(precision, ids.device):
        loss = model(input_ids=ids).last_hidden_state.float().square().mean()
    loss.backward()
    model.zero_grad()


@torch.inference_mode()
def inference(model: PreTrainedModel, ids: torch.Tensor, precision: Precision) -> None:
    """One batch of prediction."""
    model.train(False)
    with autocast(precision, ids.device):
        model(input_ids=ids)


def measure(options: argparse.Namespace, folder: Path) -> None:
    """Print a table."""
    name = options.model
    if name == "tiny":
        name = str(folder)
        for made in tiny_encoder(["a few words"]):
            made.save_pretrained(folder)
    device = make_accelerator().device
    shape = (options.sequences, options.tokens)
    precisions: tuple[Precision, ...] = ("fp32", "bf16")
    cases = [(precision, dropout) for precision in precisions for dropout in (None, 0.0)]
    fused, products = (
        [load_encoder(name, dropout)[0].to(device) for _, dropout in cases] for _ in range(2)
    )
    for encoder in products:
        train_with_matrix_products(encoder)
    ids = torch.randint(0, fused[0].config.vocab_size, shape, device=device)
    # The cases alternate, as other work on the machine comes and goes. The first round, which sets
    # up kernels, is left out below.
    rounds = [
        [
            [
                timed(inference, with_fused, ids, precision)[0],
                timed(training, with_fused, ids, precision)[0],
                timed(training, with_products, ids, precision)[0],
            ]
            for with_fused, with_products, (precision, _) in zip(fused, products, cases)
        ]
        for _ in range(options.rounds + 1)
    ]
    headings = ("inference, tokens/s", "training, PyTorch's attention", "the project's")
    table = Table("precision", "attention dropout", *headings)
    for (precision, dropout), fastest in zip(cases, np.array(rounds[1:]).min(0)):
        own = "the encoder's" if dropout is None else str(dropout)
        table.add_row(precision, own, *(f"{ids.numel() / seconds:,.0f}" for seconds in fastest))
    console = Console()
    threads = torch.get_num_threads()
    console.print(
        f"{options.model} on {device}, {threads} threads, {options.sequences} x {options.tokens}"
    )
    console.print(table)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m benchmarks.encoders", description=__doc__)
    parser.add_argument("--model", default="tiny", help="an encoder's name or folder")
    parser.add_argument("--sequences", type=int, default=32, help="in a batch")
    parser.add_argument("--tokens", type=int, default=128, help="in a sequence")
    parser.add_argument("--rounds", type=int, default=10, help="the fastest of which is shown")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


if __name__ == "__main__":
    main()
