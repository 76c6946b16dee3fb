"""Prediction files: JSON Lines of prediction rows behind a line of metadata; work in shards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from datasets.utils import tqdm

from sgdx_dataset import SgdxError

if TYPE_CHECKING:  # what learns nothing runs without them
    from accelerate import Accelerator

    from .batching import Ints

_Result = TypeVar("_Result")


def write_predictions(path: Path, metadata: dict[str, Any], rows: Iterable[dict[str, Any]]) -> Path:
    """Write a header line ``{"metadata": ...}`` and a line per prediction row.

    Args:
        path: Where to; it appears whole, or not at all.
        metadata: What made the rows: at least ``model``, ``split``, ``variant``, ``system_acts``.
        rows: ``frame_id``, ``variant``, ``active_intent``, ``requested_slots``, ``slot_values``.
    """
    encoder = msgspec.json.Encoder()
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(f".{path.name}.incomplete")
    with staging.open("wb") as file:
        for line in ({"metadata": metadata}, *rows):
            file.write(encoder.encode(line) + b"\n")
    staging.replace(path)
    return path


def check_predictions(path: Path, making: dict[str, Any]) -> None:
    """Check that a file, if it is there, holds predictions of the same making.

    Args:
        path: Of ``write_predictions``.
        making: What its metadata must say.

    Raises:
        SgdxError: It says otherwise.
    """
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            found = msgspec.json.decode(file.readline(), type=dict[str, dict[str, Any]])
        metadata = found.get("metadata", {})
    except msgspec.DecodeError:
        metadata = {}
    for key, value in msgspec.json.decode(msgspec.json.encode(making)).items():
        if metadata.get(key) != value:
            raise SgdxError(
                f"{path}: holds another run's predictions: {key} is {metadata.get(key)!r}, "
                f"expected {value!r}; give another --output"
            )


def _quiet(accelerator: Accelerator) -> bool | None:
    """For a progress bar: one process shows it, if bars are shown at all."""
    return None if accelerator.is_main_process else True


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
    for number in tqdm(mine, desc="Predicting", unit=" shards", disable=_quiet(accelerator)):
        path = folder / f"{number:06d}.json"
        if not path.exists():
            staging = path.with_suffix(".incomplete")
            staging.write_bytes(msgspec.json.encode(work(shards[number])))
            staging.replace(path)
    accelerator.wait_for_everyone()
    results: dict[int, _Result] = {}
    for number, shard in enumerate(shards):
        found = msgspec.json.decode((folder / f"{number:06d}.json").read_bytes())
        results.update(zip(shard.tolist(), found, strict=True))
    accelerator.wait_for_everyone()
    return [results[index] for index in range(len(results))]
