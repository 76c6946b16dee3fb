"""Process examples in chunks and save each chunk's results, so that a killed run can resume."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from accelerate import Accelerator
from datasets.utils import tqdm

from sgdx_dataset.io.files import write_bytes

from .accelerator import Eta, report, shows_no_bar
from .batching import Ints

_Result = TypeVar("_Result")
_SECONDS = 30.0  # from one line about progress to the next, where there is no bar
_FEW = 50  # examples, such as those of one dialogue, that are done before a bar helps


def run_chunks(
    accelerator: Accelerator,
    chunks: Sequence[Ints],
    work: Callable[[Ints], list[_Result]],
    folder: Path,
) -> list[_Result]:
    """Process all chunks, which the processes take in turn, and collect the results."""
    # A killed run that is started again processes only the chunks whose files are missing.
    folder.mkdir(parents=True, exist_ok=True)
    numbers = range(accelerator.process_index, len(chunks), accelerator.num_processes)
    quiet = shows_no_bar(accelerator)
    missing = [number for number in numbers if not (folder / f"{number:06d}.json").exists()]
    if finished := len(numbers) - len(missing):
        report(accelerator, f"going on at chunk {finished} of {len(numbers)}")
    eta, reported = Eta(0, len(missing)), time.perf_counter()
    # A bar that waits is drawn after its first chunk, which may take a minute.
    delay = 2.0 if sum(len(chunks[number]) for number in missing) < _FEW else 0.0
    bar = tqdm(missing, desc="Predicting", unit=" chunks", disable=quiet, delay=delay)
    for done, number in enumerate(bar, 1):
        write_bytes(folder / f"{number:06d}.json", msgspec.json.encode(work(chunks[number])))
        if time.perf_counter() - reported > _SECONDS:
            reported = time.perf_counter()
            report(accelerator, f"chunk {done} of {len(missing)}: {eta.left(done)} left")
    accelerator.wait_for_everyone()
    results: dict[int, _Result] = {}
    for number, chunk in enumerate(chunks):
        of_chunk = msgspec.json.decode((folder / f"{number:06d}.json").read_bytes())
        results.update(zip(chunk.tolist(), of_chunk, strict=True))
    accelerator.wait_for_everyone()
    return [results[index] for index in range(len(results))]
