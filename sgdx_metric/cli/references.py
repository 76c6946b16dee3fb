"""References for the command line: frame rows of a release, or of Parquet files made from one."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ..columns import column
from ..rows import REFERENCE, ScoreError


@dataclass(frozen=True)
class References:
    """The references of a split.

    Attributes:
        of: Makes the frame rows of a variant, with the columns of REFERENCE; raises ScoreError
            where they cannot be had.
        release: The commit of the data, or a name of other data; None where it is unknown.
    """

    of: Callable[[str], pa.Table]
    release: str | None


def open_references(source: str | None, split: str, own: Mapping[str, str]) -> References:
    """Open the SGD release for its frame rows.

    Args:
        source: The release's directory or archive, or "sample"; None for `$SGDX_SOURCE` and, where
            that is unset, the pinned download.
        split: "train", "validation" or "test".
        own: The user's own schema variants: a directory or an overlay by name.

    Raises:
        ScoreError: The source or a variant of the user's own cannot be opened.
    """
    from sgdx_dataset import SgdxError, frame_tables, open_release  # Not needed for a folder.

    def frame_rows(variant: str) -> pa.Table:
        try:
            return frame_tables(release, split, variant, REFERENCE.names)
        except SgdxError as error:
            raise ScoreError(str(error)) from None

    try:
        release = open_release(source, own)
        lacking = release.missing()
    except SgdxError as error:
        raise ScoreError(str(error)) from None
    if lacking:
        print(f"note: a partial copy of SGD: {lacking}", file=sys.stderr)
    return References(frame_rows, release.version() or None)


def open_folder(folder: Path, variants: Iterable[str]) -> References:
    """Open a folder of the Parquet files that `python -m sgdx_dataset frames` writes.

    Args:
        folder: Has `VARIANT.parquet` for each of `variants`.
        variants: The variants that will be asked for; their files are looked at now.

    Raises:
        ScoreError: A file is missing, is no Parquet file, or lacks a column; or the files are of
            different releases.
    """
    releases = {}
    for variant in variants:
        path = folder / f"{variant}.parquet"
        if not path.is_file():
            raise ScoreError(
                f"--references {folder}: found no {path.name}, expected the frame rows of "
                f"{variant} as 'python -m sgdx_dataset frames' writes them"
            )
        releases[variant] = _release_of(path)
    names = list(releases.values())
    if odd := [variant for variant, release in releases.items() if release != names[0]]:
        raise ScoreError(
            f"--references {folder}: {odd[0]}.parquet is of release '{releases[odd[0]]}', expected "
            f"'{names[0]}' as the others are"
        )
    return References(partial(_read_variant, folder), names[0])


def _release_of(path: Path) -> str | None:
    """What data a file of frame rows is of, from its schema's metadata; None if it has none."""
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise ScoreError(f"{path}: not a Parquet file: {error}") from None
    if lacking := [name for name in REFERENCE.names if name not in schema.names]:
        raise ScoreError(f"{path}: found no column {', '.join(lacking)}, expected frame rows")
    release = (schema.metadata or {}).get(b"release", b"")
    return release.decode() or None


def _read_variant(folder: Path, variant: str) -> pa.Table:
    """The frame rows in a variant's file, with the columns of REFERENCE."""
    path = folder / f"{variant}.parquet"
    try:
        table = pq.read_table(path, columns=REFERENCE.names).select(REFERENCE.names)
        table = table.replace_schema_metadata().cast(REFERENCE)
    except (OSError, pa.ArrowException) as error:
        raise ScoreError(f"{path}: cannot be read as frame rows: {error}") from None
    found = column(table, "variant").unique().to_pylist()
    if found != [variant]:
        names = ", ".join(map(str, found)) or "no rows"
        raise ScoreError(f"{path}: found variant {names}, expected {variant}")
    return table
