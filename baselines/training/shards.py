"""Process examples in shards and save each shard's results, so that a killed run can resume."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from accelerate import Accelerator
from datasets.utils import tqdm

from .accelerator import report, shows_no_bar
from .batching import Ints
from .pace import Pace
from .run_folder import write_bytes

_Result = TypeVar("_Result")
_SECONDS = 30.0  # from one line about progress to the next, where there is no bar


def run_shards(
    accelerator: Accelerator,
    shards: Sequence[Ints],
    work: Callable[[Ints], list[_Result]],
    folder: Path,
) -> list[_Result]:
    """Process all shards, which the processes take in turn, and collect the results.

    The results of a shard are written to a file. If a killed run is started again with the same
    ``folder``, it processes only the shards whose files are missing.

    Args:
        accelerator: The processes.
        shards: Indices of the examples of each shard; together they are 0, 1, ..., each once.
        work: Returns the results of a shard's examples, as JSON values.
        folder: Folder for the files, on a disk that all processes share. It must be used for
            nothing else.

    Returns:
        The result of each example in order, the same in every process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    numbers = range(accelerator.process_index, len(shards), accelerator.num_processes)
    quiet = shows_no_bar(accelerator)
    missing = [number for number in numbers if not (folder / f"{number:06d}.json").exists()]
    if found := len(numbers) - len(missing):
        report(accelerator, f"going on at shard {found} of {len(numbers)}")
    pace, spoken = Pace(0, len(missing)), time.perf_counter()
    bar = tqdm(missing, desc="Predicting", unit=" shards", disable=quiet, delay=2)
    for done, number in enumerate(bar, 1):
        write_bytes(folder / f"{number:06d}.json", msgspec.json.encode(work(shards[number])))
        if time.perf_counter() - spoken > _SECONDS:
            spoken = time.perf_counter()
            report(accelerator, f"shard {done} of {len(missing)}: {pace.left(done)} left")
    accelerator.wait_for_everyone()
    results: dict[int, _Result] = {}
    for number, shard in enumerate(shards):
        found = msgspec.json.decode((folder / f"{number:06d}.json").read_bytes())
        results.update(zip(shard.tolist(), found, strict=True))
    accelerator.wait_for_everyone()
    return [results[index] for index in range(len(results))]
