"""What is written: scores.json and per-frame scores; a file appears whole or not at all."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..columns import Floats
from ..rows import ScoreError
from ..scoring import METRICS, FrameScores
from ..units import places

PER_FRAME = (".parquet", ".jsonl")


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """Give a path beside `target` to write a file or a folder to.

    What is written there takes the place of `target` at the end of the block. If the block fails,
    it is removed and `target` stays as it was. The folder of `target` is made where it lacks.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield beside
        beside.replace(target)
    finally:
        if beside.is_dir():
            shutil.rmtree(beside, ignore_errors=True)
        else:
            beside.unlink(missing_ok=True)


def check_output(option: str, output: Path, suffixes: tuple[str, ...] = ()) -> None:
    """Refuse a file that could not be written, before any work is done.

    Args:
        option: The command's option that names the file, for the error message.
        output: The file to be written.
        suffixes: The endings that its name may have; any if empty.

    Raises:
        ScoreError: The file's folder can be neither written to nor made, or the file's name is a
            folder's or has another ending.
    """
    if output.is_dir():
        raise ScoreError(f"{option} {output}: found a folder, expected a file")
    check_folder(option, output.parent)
    if suffixes and output.suffix not in suffixes:
        raise ScoreError(f"{option} {output}: expected a name ending in {' or '.join(suffixes)}")


def check_folder(option: str, folder: Path) -> None:
    """Refuse a folder that could not be made or written to, before any work is done.

    Args:
        option: The command's option that names the folder, or a file in it, for the error message.
        folder: The folder, which need not exist.

    Raises:
        ScoreError: A file has the name of the folder or of one above it, or may not be written to.
    """
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not nearest.is_dir():
        raise ScoreError(f"{option} {folder}: {nearest} is a file, expected a folder")
    if not os.access(nearest, os.W_OK):
        raise ScoreError(f"{option} {folder}: found no right to write to {nearest}")


def write_scores(
    result: Mapping[str, Any], variants: Mapping[str, FrameScores], output: Path
) -> None:
    """Write scores.json: a report and, in one line at its end, `paired`, which `compare` reads."""
    text = _indented(result).removesuffix("\n}")
    line = msgspec.json.encode(paired(variants)).decode()
    with whole(output) as path:
        path.write_text(f'{text},\n  "paired": {line}\n}}\n', encoding="utf-8")


def write_json(result: Mapping[str, Any], output: Path) -> None:
    """Write indented JSON, for people and for programs."""
    with whole(output) as path:
        path.write_text(_indented(result) + "\n", encoding="utf-8")


def paired(variants: Mapping[str, FrameScores]) -> dict[str, Any]:
    """Every frame's joint goal accuracy, which `compare` pairs with another system's.

    Returns:
        `frame_id`; `seen`, the seen services by their original names; and `joint_goal_accuracy`, by
        variant, in the order of `frame_id`, None where undefined.
    """
    first = next(iter(variants.values()))
    place = places(first.frame_id, first.seen)
    return {
        "frame_id": first.frame_id.to_pylist(),
        "seen": sorted(set(place.service[first.seen])),
        "joint_goal_accuracy": {
            name: _numbers(frames.scores["joint_goal_accuracy"])
            for name, frames in variants.items()
        },
    }


def write_per_frame(variants: Mapping[str, FrameScores], output: Path) -> None:
    """Write one row per variant and frame, with all metrics, as Parquet or JSON Lines.

    The columns are `frame_id`, `variant`, `service` (under the variant's name), `seen`, and the
    metrics, which are null where undefined.
    """
    with whole(output) as path:
        if output.suffix == ".parquet":
            pq.write_table(pa.concat_tables(_table(*item) for item in variants.items()), path)
            return
        with path.open("wb") as file:
            for item in variants.items():
                file.write(msgspec.json.Encoder().encode_lines(_table(*item).to_pylist()))


def _table(variant: str, frames: FrameScores) -> pa.Table:
    """One variant's rows of the per-frame file."""
    columns = {
        "frame_id": frames.frame_id,
        "variant": pa.array([variant] * len(frames.seen), pa.string()),
        "service": frames.service,
        "seen": frames.seen,
    }
    scores = {metric: pa.array(frames.scores[metric], from_pandas=True) for metric in METRICS}
    return pa.table(columns | scores)


def _numbers(scores: Floats) -> list[float | None]:
    """Scores as JSON numbers; 0 and 1 are written without a decimal point."""
    numbers = scores.astype(object)
    for number in (0, 1):
        numbers[scores == number] = number
    numbers[np.isnan(scores)] = None
    listed: list[float | None] = numbers.tolist()
    return listed


def _indented(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, allow_nan=False)
