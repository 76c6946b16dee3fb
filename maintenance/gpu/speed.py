"""Tokens a second of models of well-known shapes: ``python -m maintenance.gpu.speed FILE SECONDS``.

Weights are random. Beside tokens a second stand the share of the device's bfloat16 peak, which a
large matrix product in the same run measures, and the peak memory.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel, T5Config, T5ForConditionalGeneration

from baselines.run_folder import write_json

WIDTH, TARGET = 256, 32  # tokens of an input, and of what T5 answers
_LARGE: Any = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16}
_T5: Any = {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
_T5 |= {"decoder_start_token_id": 0}
SHAPES: dict[str, Callable[[], Any]] = {
    "T5-Base": lambda: T5ForConditionalGeneration(T5Config(**_T5)),
    "BERT-Base": lambda: BertModel(BertConfig()),
    "RoBERTa-Large": lambda: BertModel(
        BertConfig(vocab_size=50265, intermediate_size=4096, **_LARGE)
    ),
}
Figures = dict[str, Any]


def main() -> None:
    """Measure until the time is over; what is measured is written at once."""
    path, seconds = Path(sys.argv[1]), float(sys.argv[2])
    end, each = time.monotonic() + seconds, seconds / 20  # seconds of one measurement
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    size, batch = (8192, 64) if device.type == "cuda" else (1024, 1)
    a, b = torch.randn(2, size, size, device=device, dtype=torch.bfloat16)
    peak = 2 * size**3 * a_second(lambda: a @ b, device, each)
    figures: Figures = {"peak_tflops": peak / 1e12}
    write_json(path, figures)
    for name, make in SHAPES.items():
        with device:
            model = make()
        for work in ("training", "prediction"):
            if time.monotonic() < end - each:
                try:
                    figures[f"{name} {work}"] = measured(model, work, batch, device, each, peak)
                except Exception as error:  # the others are measured all the same
                    figures[f"{name} {work}"] = f"{type(error).__name__}: {error}"[:500]
                write_json(path, figures)


def measured(
    model: Any, work: str, batch: int, device: torch.device, seconds: float, peak: float
) -> Figures:
    """The figures of one model at one kind of work."""
    is_t5, learns = model.config.is_encoder_decoder, work == "training"
    inputs = {"input_ids": torch.randint(5, 30000, (batch, WIDTH), device=device)}
    labels = {"labels": inputs["input_ids"][:, :TARGET].contiguous()} if is_t5 else {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)

    def learn() -> None:
        with torch.autocast(device.type, torch.bfloat16):
            output = model(**inputs, **labels)
            loss = output.loss if is_t5 else output.last_hidden_state.float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    @torch.inference_mode()
    def predict() -> None:
        with torch.autocast(device.type, torch.bfloat16):
            if is_t5:
                model.generate(**inputs, max_new_tokens=TARGET, min_new_tokens=TARGET)
            else:
                model(**inputs)

    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    speed = a_second(learn if learns else predict, device, seconds)
    # Two operations a weight and token, and as many twice for the gradients; embeddings have none.
    weights = {n: p.numel() for n, p in model.named_parameters() if "embeddings" not in n}
    answers = sum(count for name, count in weights.items() if name.startswith("decoder"))
    inputs_only = sum(weights.values()) - answers - weights.pop("shared.weight", 0)
    operations = 2 * batch * (inputs_only * WIDTH + answers * TARGET) * (3 if learns else 1)
    return {
        "batch": batch,
        "tokens_per_second": round(speed * batch * (WIDTH + TARGET * is_t5)),
        "share_of_peak": round(speed * operations / peak, 4),
        "peak_memory": torch.cuda.max_memory_allocated() if device.type == "cuda" else 0,
    }


def a_second(work: Callable[[], object], device: torch.device, seconds: float) -> float:
    """How often some work is done in a second, after it was done twice."""
    wait: Any = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    for _ in range(2):
        work()
    wait()
    began, count = time.perf_counter(), 0
    while count == 0 or time.perf_counter() - began < seconds:
        work()
        wait()
        count += 1
    return count / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
