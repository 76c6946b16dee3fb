"""``python -m benchmarks.encoders``: tokens per second of an encoder, by precision and dropout.

The encoder reads random tokens without padding, in one thread per core that torch may use
(``OMP_NUM_THREADS``). Attention that drops none of its weights runs as one fused operation.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from transformers import PreTrainedModel

from baselines.encoders.load import load_encoder
from baselines.encoders.tiny import tiny_encoder
from baselines.training.accelerator import make_accelerator
from baselines.training.precision import autocast
from baselines.training.settings import Precision


def speed(work: Callable[[], None], tokens: int, seconds: float) -> float:
    """Tokens per second in the fastest of several calls that read ``tokens`` each.

    The fastest call is the one that other work on the machine disturbs least.

    Args:
        work: The call.
        tokens: Number of tokens that a call reads.
        seconds: Time to repeat it for.
    """
    work()  # the first call sets up kernels
    _finish()
    fastest, until = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < until:
        begin = time.perf_counter()
        work()
        _finish()
        fastest = min(fastest, time.perf_counter() - begin)
    return tokens / fastest


def _finish() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


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
    table = Table("precision", "attention dropout", "inference, tokens/s", "training, tokens/s")
    precisions: tuple[Precision, ...] = ("fp32", "bf16")
    for precision in precisions:
        for dropout in (None, 0.0):
            encoder = load_encoder(name, dropout)[0].to(device)
            shape = (options.sequences, options.tokens)
            ids = torch.randint(0, encoder.config.vocab_size, shape, device=device)
            both = [
                speed(lambda: work(encoder, ids, precision), ids.numel(), options.seconds)  # noqa: B023
                for work in (inference, training)
            ]
            own = "the encoder's" if dropout is None else str(dropout)
            table.add_row(precision, own, *(f"{each:,.0f}" for each in both))
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
    parser.add_argument("--seconds", type=float, default=5.0, help="for each measurement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


if __name__ == "__main__":
    main()
