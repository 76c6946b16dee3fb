"""What is written: scores.json and per-frame scores; a file appears whole or not at all."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import staged
from sgdx_metric.scoring import FrameScores
from sgdx_metric.units import ScoredFrames

# The files that are read in a folder of a release, or of predictions in its layout.
_LAYOUT = ("schema.json", "dialogues_*.json")


def check_output(option: str, output: Path, suffixes: tuple[str, ...] = ()) -> None:
    """Refuse a file that could not be written, before any work is done.

    Args:
        option: The command's option that names the file, for the error message.
        output: The file to be written.
        suffixes: The endings that its name may have; any if empty.

    Raises:
        SgdxError: The file's folder can be neither written to nor made, the file's name is that of
            a folder or of something else that is no regular file, or it has another ending.
    """
    try:
        if output.is_dir():
            raise SgdxError(f"{option} {output}: found a folder, expected a file")
        if output.exists() and not output.is_file():
            raise SgdxError(f"{option} {output}: found no regular file there, expected a file")
    except OSError as error:  # such as a name that is too long
        raise SgdxError(f"{option} {output}: {error.strerror}") from None
    check_folder(option, output.parent)
    if suffixes and output.suffix not in suffixes:
        raise SgdxError(f"{option} {output}: expected a name ending in {' or '.join(suffixes)}")


def check_apart(outputs: Mapping[str, Path | None], inputs: Iterable[Path]) -> None:
    """Refuse to write a file that is read, or two outputs to one file.

    Args:
        outputs: The files to be written, by the option that names them; None for none.
        inputs: The files that are read, and folders of a release or of predictions in its layout.

    Raises:
        SgdxError: An output is one of the inputs, or another output.
    """
    taken = list(inputs)
    for option, output in outputs.items():
        if output is None:
            continue
        if any(_is_read(output, path) for path in taken):
            raise SgdxError(
                f"{option} {output}: found a file that the command reads or writes already, "
                "expected another name"
            )
        taken.append(output)


def _is_read(output: Path, source: Path) -> bool:
    """Whether a file is the one that is given, or is read where a folder is given."""
    if output.resolve() == source.resolve():
        return True
    if not output.exists():
        return False
    if source.is_dir():
        return any(output.samefile(file) for name in _LAYOUT for file in source.rglob(name))
    return source.exists() and output.samefile(source)


def check_folder(option: str, folder: Path) -> None:
    """Refuse a folder that could not be made or written to, before any work is done.

    Args:
        option: The command's option that names the folder, or a file in it, for the error message.
        folder: The folder, which need not exist.

    Raises:
        SgdxError: A file has the name of the folder or of one above it, or may not be written to.
    """
    try:
        nearest = next(path for path in (folder, *folder.parents) if path.exists())
    except OSError as error:  # such as a name that is too long
        raise SgdxError(f"{option} {folder}: {error.strerror}") from None
    if not nearest.is_dir():
        raise SgdxError(f"{option} {folder}: {nearest} is a file, expected a folder")
    if not os.access(nearest, os.W_OK):
        raise SgdxError(f"{option} {folder}: found no right to write to {nearest}")


def write_scores(scores: Mapping[str, Any], output: Path) -> None:
    """Write scores.json, with `paired`, which `compare` reads, in one line at its end."""
    text = _indented({k: v for k, v in scores.items() if k != "paired"}).removesuffix("\n}")
    line = msgspec.json.encode(scores["paired"]).decode()
    with staged(output) as path:
        path.write_text(f'{text},\n  "paired": {line}\n}}\n', encoding="utf-8")


def write_json(result: Mapping[str, Any], output: Path) -> None:
    """Write indented JSON, for people and for programs."""
    with staged(output) as path:
        path.write_text(_indented(result) + "\n", encoding="utf-8")


def write_per_frame(variants: Mapping[str, ScoredFrames], output: Path) -> None:
    """Write one row per variant and frame, with all metrics, as Parquet or JSON Lines.

    The columns are `frame_id`, `variant`, `service` (under the variant's name), `seen`, and the
    metrics, which are null where undefined.
    """
    with staged(output) as path:
        if output.suffix == ".parquet":
            import pyarrow.parquet as pq  # It takes a while to import.

            pq.write_table(pa.concat_tables(_table(*item) for item in variants.items()), path)
            return
        with path.open("wb") as file:
            for item in variants.items():
                file.write(msgspec.json.Encoder().encode_lines(_table(*item).to_pylist()))


def _table(variant: str, frames: ScoredFrames) -> pa.Table:
    """One variant's rows of the per-frame file."""
    columns = {
        "frame_id": frames.frame_id,
        "variant": pa.array([variant] * len(frames.seen), pa.string()),
        **({"service": frames.service} if isinstance(frames, FrameScores) else {}),
        "seen": frames.seen,
    }
    scores = {metric: pa.array(frames.scores[metric], from_pandas=True) for metric in frames.scores}
    return pa.table(columns | scores)


def _indented(value: Mapping[str, Any]) -> str:
    # The encoder of the standard library is slow when it indents.
    return msgspec.json.format(json.dumps(value, allow_nan=False), indent=2)
