"""Long work in shards, whose results are saved one by one, so that a killed run goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from accelerate import Accelerator
from datasets.utils import tqdm

from .accelerator import shows_no_bar
from .batching import Ints
from .run_folder import write_bytes

_Result = TypeVar("_Result")


def run_shards(
    accelerator: Accelerator,
    shards: Sequence[Ints],
    work: Callable[[Ints], list[_Result]],
    folder: Path,
) -> list[_Result]:
    """Work on shards, dealt to the processes in turn; each is kept in a file when it is done.

    A run that was killed and is begun again with the same ``folder`` does only the shards that are
    not there. Processes meet in ``folder``: all must see it, as they must see a model.

    Args:
        accelerator: Knows the processes.
        shards: Indices of examples; together each of 0, 1, ... once.
        work: The results, which JSON can hold, of the examples of a shard.
        folder: For the shards' files; for this work alone.

    Returns:
        A result per example, in every process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mine = range(accelerator.process_index, len(shards), accelerator.num_processes)
    quiet = shows_no_bar(accelerator)
    for number in tqdm(mine, desc="Predicting", unit=" shards", disable=quiet, delay=2):
        path = folder / f"{number:06d}.json"
        if not path.exists():
            write_bytes(path, msgspec.json.encode(work(shards[number])))
    accelerator.wait_for_everyone()
    results: dict[int, _Result] = {}
    for number, shard in enumerate(shards):
        found = msgspec.json.decode((folder / f"{number:06d}.json").read_bytes())
        results.update(zip(shard.tolist(), found, strict=True))
    accelerator.wait_for_everyone()
    return [results[index] for index in range(len(results))]
