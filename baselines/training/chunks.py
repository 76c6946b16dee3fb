"""Process examples in chunks and save each chunk's results, so that a killed run can resume."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from accelerate import Accelerator

from sgdx_dataset.io.files import write_bytes
from sgdx_dataset.io.progress import DELAY, moving

from .accelerator import Shown
from .batching import Ints

_Result = TypeVar("_Result")
_SECONDS = 30.0  # from a line of progress to the next


class _Predicting(Shown):
    """Prints a line now and then, too."""

    lines = 0

    def update(self, steps: int) -> None:
        """Move on, and show it."""
        super().update(steps)
        if steps and time.perf_counter() - self.since > DELAY + _SECONDS * self.lines:
            self.lines += 1
            self.line(f"{self.done} of {self.end} {self.unit}, {self.left} left")


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
    ends = np.cumsum([sizes[chunks[number]].sum() for number in missing]).tolist()
    shown = _Predicting(accelerator, "Predicting", unit, ends[-1] if ends else 0)
    if finished := len(numbers) - len(missing):
        shown.line(f"going on at chunk {finished} of {len(numbers)}")
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
