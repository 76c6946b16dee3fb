"""Folders of Parquet files of rows, as `python -m sgdx_dataset frames` and `turns` write them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from sgdx_dataset.io.errors import SgdxError
from sgdx_metric.signature import split_name


class FileFacts(msgspec.Struct):
    """What a file of rows says in its metadata; None where it does not."""

    release: str | None = None
    # The digest of what the rows are made from.
    data: str | None = None
    split: str | None = None
    # Of how many dialogues the file's are a choice.
    dialogues: str | None = None


@dataclass(frozen=True)
class RowFiles:
    """The files `VARIANT.parquet` of a folder."""

    folder: Path
    # What the file of a variant says of itself, and those of its columns that are read.
    facts: Callable[[str], FileFacts]
    table: Callable[[str], pa.Table]

    def has(self, variant: str) -> bool:
        """Whether there is a file for a variant."""
        return (self.folder / f"{variant}.parquet").is_file()

    def available(self, variant: str) -> int | None:
        """How many dialogues the split has, where the file's are a choice; None where all."""
        stated = self.facts(variant).dialogues or ""
        return int(stated) if stated.isdecimal() else None


def open_row_files(
    folder: Path, split: str | None, kind: str, columns: list[str], read: Callable[[Path], pa.Table]
) -> RowFiles:
    """Open a folder of Parquet files of "frame" or "turn" rows, which are looked at when asked for.

    Each must be of the split, if one is given, and have the columns, which `read` reads.
    """

    @cache
    def facts(variant: str) -> FileFacts:
        path = folder / f"{variant}.parquet"
        if not path.is_file():
            raise SgdxError(
                f"--references {folder}: found no {path.name}, expected the {kind} rows of "
                f"{variant} as 'python -m sgdx_dataset {kind}s' writes them"
            )
        stated = _facts_of(path, kind, columns)
        if split and stated.split not in (None, split_name(split)):
            raise SgdxError(f"{path}: is of {stated.split}, expected {split}")
        return stated

    @cache
    def table(variant: str) -> pa.Table:
        facts(variant)
        return read(folder / f"{variant}.parquet")

    return RowFiles(folder, facts, table)


def _facts_of(path: Path, kind: str, columns: list[str]) -> FileFacts:
    """What a file of rows says of itself, if it has the columns."""
    try:
        schema = pq.read_schema(path)
        metadata = {**(schema.metadata or {}), **(pq.read_metadata(path).metadata or {})}
    except (OSError, pa.ArrowException) as error:
        raise SgdxError(f"{path}: not a Parquet file: {error}") from None
    if lacking := [name for name in columns if name not in schema.names]:
        raise SgdxError(f"{path}: found no column {', '.join(lacking)}, expected {kind} rows")
    texts = {
        key.decode(errors="replace"): text.decode(errors="replace")
        for key, text in metadata.items()
    }
    return msgspec.convert(texts, FileFacts)
