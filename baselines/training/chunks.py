"""Process examples in chunks and save each chunk's results, so that a killed run can resume."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from accelerate import Accelerator
from datasets.utils import tqdm

from sgdx_dataset.io.files import write_bytes
from sgdx_dataset.io.progress import moving

from .accelerator import Eta, report, shows_no_bar
from .batching import Ints

_Result = TypeVar("_Result")
_FIRST, _SECONDS = 2.0, 30.0  # until the first sign of progress; from a line to the next


class _Shown:
    """How far the chunks are: a bar on a terminal, elsewhere a line now and then."""

    def __init__(self, accelerator: Accelerator, total: int, unit: str) -> None:
        self.accelerator, self.unit = accelerator, unit
        self.done, self.total, self.eta = 0, total, Eta(0, total)
        self.next = time.monotonic() + _FIRST
        disable = shows_no_bar(accelerator)
        self.bar = tqdm(
            total=total, desc="Predicting", unit=f" {unit}", delay=_FIRST, disable=disable
        )

    def update(self, n: int) -> None:
        """Move on, and show it."""
        self.done += n
        self.bar.update(n)
        if n and time.monotonic() > self.next:
            self.next = time.monotonic() + _SECONDS
            left = self.eta.left(self.done)
            report(self.accelerator, f"{self.done} of {self.total} {self.unit}, {left} left")


def run_chunks(
    accelerator: Accelerator,
    chunks: Sequence[Ints],
    work: Callable[[Ints], list[_Result]],
    folder: Path,
    sizes: Ints,
    unit: str,
) -> list[_Result]:
    """Process all chunks, which the processes take in turn, and collect the results.

    ``sizes`` says of how many units each example is [examples]; ``work`` may ``advance`` by them.
    """
    # A killed run that is started again processes only the chunks whose files are missing.
    folder.mkdir(parents=True, exist_ok=True)
    numbers = range(accelerator.process_index, len(chunks), accelerator.num_processes)
    missing = [number for number in numbers if not (folder / f"{number:06d}.json").exists()]
    if finished := len(numbers) - len(missing):
        report(accelerator, f"going on at chunk {finished} of {len(numbers)}")
    ends = np.cumsum([sizes[chunks[number]].sum() for number in missing]).tolist()
    shown = _Shown(accelerator, ends[-1] if ends else 0, unit)
    with moving(shown), shown.bar:
        for number, end in zip(missing, ends):
            write_bytes(folder / f"{number:06d}.json", msgspec.json.encode(work(chunks[number])))
            shown.update(end - shown.done)
    accelerator.wait_for_everyone()
    results: dict[int, _Result] = {}
    for number, chunk in enumerate(chunks):
        of_chunk = msgspec.json.decode((folder / f"{number:06d}.json").read_bytes())
        results.update(zip(chunk.tolist(), of_chunk, strict=True))
    accelerator.wait_for_everyone()
    return [results[index] for index in range(len(results))]
