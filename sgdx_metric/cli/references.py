"""References for the command line: frame rows of a release, or of Parquet files made from one."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.release.release import Release
from sgdx_dataset.release.remembered import announced_source, sources_named

from ..columns import column
from ..rows import REFERENCE
from ..scoring import CANONICAL
from ..variants import fingerprint, names_digest, schema_digest
from .row_files import open_row_files

# The name of the source that predictions were made from, and the digest of the data; None unstated.
Stated = tuple[str | None, str | None]

# Columns that references need only where spans are predicted.
_OPTIONAL = ("slots", "utterance", "service_call", CANONICAL)
_LATER = (CANONICAL,)  # columns that files of earlier versions lack
_OF_DIALOGUES = [*REFERENCE.names, "service_call", "history"]


@dataclass(frozen=True)
class References:
    """The references of a split.

    Attributes:
        frames: Makes the frame rows of a variant, with the columns of REFERENCE, or those that were
            asked for; raises SgdxError where they cannot be had.
        dialogue: Makes the frame rows of one dialogue, given a variant's name and the dialogue's
            id, without those of the others. They have the columns `history`, the turns before
            the frame's own (`speaker`, `utterance`, ...), and `service_call` besides, where the
            data has them.
        fingerprint: Makes the fingerprint of a variant's wording, given the variant's name and its
            frame rows.
        data: The digest of what a variant's rows are made from, as prediction files have it; None
            where it is unknown.
        find_release: Finds out `release`.
        available: How many dialogues the split has, where these are a choice of them; None where
            they are all.
    """

    frames: Callable[[str], pa.Table]
    dialogue: Callable[[str, str], pa.Table]
    fingerprint: Callable[[str, pa.Table], str]
    data: Callable[[str], str | None]
    find_release: Callable[[], str | None]
    available: int | None = None

    @cached_property
    def release(self) -> str | None:
        """The commit of the data, or a name of other data; None where it is unknown."""
        return self.find_release()


def open_references(
    source: str | None,
    split: str,
    own: Mapping[str, str],
    columns: pa.Schema = REFERENCE,
    stated: Mapping[str, Stated] | None = None,
) -> References:
    """Open the SGD release for its frame rows.

    Args:
        source: The release's directory or archive, or "sample"; None for `$SGDX_SOURCE` and, where
            that is unset, what `sgdx_dataset prepare` was given.
        split: "train", "validation" or "test".
        own: The user's own schema variants: a directory or an overlay by name.
        columns: The columns that frame rows are to have.
        stated: What the predictions of each variant say that they were made from. Where no source
            is given, and that of the default is other data, the one that they name is taken.

    Raises:
        SgdxError: The source or a variant of the user's own cannot be opened.
    """
    from sgdx_dataset import frame_tables  # Not needed for a folder.

    def frame_rows(variant: str) -> pa.Table:
        return frame_tables(release, split, variant, columns.names)

    @cache
    def narrowed(dialogue_id: str) -> Any:
        return _with_dialogue(release, split, dialogue_id)

    def dialogue(variant: str, dialogue_id: str) -> pa.Table:
        rows = frame_tables(narrowed(dialogue_id), split, variant, _OF_DIALOGUES)
        return rows.filter(_of_dialogue(rows["frame_id"], dialogue_id))

    def wording(variant: str, frames: pa.Table) -> str:
        scored_services = set(column(frames, "service").unique().to_pylist())
        services = (
            service
            for name in release.variants(variant)
            for service in release.schema(split, name).services
        )
        return fingerprint(
            schema_digest(msgspec.to_builtins(service))
            for service in services
            if service.service_name in scored_services
        )

    release = stated_release(source, split, own, stated or {})
    if gaps := release.gaps():
        print(f"note: {gaps}", file=sys.stderr)
    return References(
        frame_rows,
        dialogue,
        wording,
        partial(release.data_digest, split),
        lambda: release.version(split) or None,
    )


def stated_release(
    source: str | None, split: str, own: Mapping[str, str], stated: Mapping[str, Stated]
) -> Release:
    """Open the source that is named, else the one that predictions were made from.

    Args:
        source: The source that the user names; None for `$SGDX_SOURCE` and, where that is unset,
            what `sgdx_dataset prepare` was given, unless predictions were made from another.
        split: "train", "validation" or "test".
        own: The user's own schema variants: a directory or an overlay by name.
        stated: What the predictions of each variant say that they were made from. Those of earlier
            versions name a source and have no digest.

    Raises:
        SgdxError: The source cannot be opened.
    """
    from sgdx_dataset import open_release

    named = [name for name, _ in stated.values() if name]
    others = sources_named(named[0]) if named and source is None else []
    has_digests = any(data for _, data in stated.values())

    def is_stated(release: Release) -> bool:
        return _is_stated(release, split, stated) if has_digests else release.source in others

    if not others:
        return open_release(announced_source(source), own)
    # Nothing may have been prepared, or it may not be there any more.
    with suppress(SgdxError):
        if is_stated(default := open_release(source, own)):
            return default
    for name in others:
        release = open_release(name, own)
        if is_stated(release):
            print(
                f"note: the source is {escape_controls(name)}, which the predictions were made "
                "from; --source names another",
                file=sys.stderr,
            )
            return release
    return open_release(announced_source(source), own)


def _is_stated(release: Release, split: str, stated: Mapping[str, Stated]) -> bool:
    """Whether a release has the data that predictions were made from."""
    configs = release.configs()
    return all(
        variant in configs and release.data_digest(split, variant) == data
        for variant, (_, data) in stated.items()
        if data is not None
    )


def _with_dialogue(release: Any, split: str, dialogue_id: str) -> Any:
    """The release with those dialogue files alone whose text has an id, all of them if none has.

    Searching the bytes of the files takes a fraction of the time of parsing them.
    """
    files = release.dialogue_files(split)
    quoted = json.dumps(dialogue_id).encode()
    matching = {file for file in files if quoted in release.read(file)}
    return replace(release, files=release.files - (set(files) - matching)) if matching else release


def _of_dialogue(frame_ids: Any, dialogue_id: str) -> Any:
    """Which frame ids, an array or an expression, are of a dialogue."""
    return pc.starts_with(frame_ids, f"{dialogue_id}/")


def open_folder(
    folder: Path,
    variants: Iterable[str],
    columns: pa.Schema = REFERENCE,
    split: str | None = None,
) -> References:
    """Open a folder of the Parquet files that `python -m sgdx_dataset frames` writes.

    What a file says of its data counts only where the columns that are read have the digests that
    the file states; else, and where an earlier version stated none, its data are `unverified:`.

    Args:
        folder: Has `VARIANT.parquet` for each of `variants`.
        variants: The variants that will be asked for; their files are looked at now.
        columns: The columns that frame rows are to have.
        split: The split that the files must be of; None for any.

    Raises:
        SgdxError: A file is missing, is no Parquet file, lacks a column or is of another split; or
            the files are of different releases.
    """
    names = list(variants)
    files = open_row_files(
        folder,
        split,
        "frame",
        [name for name in columns.names if name not in _LATER],
        partial(_read_variant, columns=columns),
    )
    first = files.facts(names[0])
    for variant in names:
        facts = files.facts(variant)
        if (facts.release, facts.dialogues) != (first.release, first.dialogues):
            raise SgdxError(
                f"--references {folder}: {variant}.parquet is of release '{facts.release}', "
                f"expected '{first.release}' as the others are"
            )
    return References(
        files.table,
        partial(_read_dialogue, folder),
        partial(_fingerprint_in, folder),
        files.data,
        partial(files.release, names),
        files.available(names[0]),
    )


def _read_dialogue(folder: Path, variant: str, dialogue_id: str) -> pa.Table:
    """The frame rows of a dialogue in a variant's file."""
    path = folder / f"{variant}.parquet"
    file_columns = set(pq.read_schema(path).names)
    columns = [name for name in _OF_DIALOGUES if name in file_columns]
    of_dialogue = _of_dialogue(pc.field("frame_id"), dialogue_id)
    try:
        return pq.read_table(path, columns=columns, filters=of_dialogue)
    except (OSError, pa.ArrowException) as error:
        raise SgdxError(f"{path}: cannot be read as frame rows: {error}") from None


def _fingerprint_in(folder: Path, variant: str, frames: pa.Table) -> str:
    """The fingerprint of the wording in a variant's Parquet file."""
    path = folder / f"{variant}.parquet"
    _, first = np.unique(column(frames, "service").to_pylist(), return_index=True)
    if "schema" in pq.read_schema(path).names:
        schemas = pq.read_table(path, columns=["schema"])["schema"].take(pa.array(first))
        return fingerprint(map(schema_digest, schemas.to_pylist()))
    rows = frames.take(pa.array(first)).to_pylist()
    return fingerprint(
        names_digest(row["service"], [slot["name"] for slot in row["schema_slots"]]) for row in rows
    )


def _read_variant(path: Path, columns: pa.Schema) -> pa.Table:
    """The frame rows in a variant's file, with some columns."""
    variant = path.stem
    try:
        in_file = set(pq.read_schema(path).names)
        columns = pa.schema([c for c in columns if c.name in in_file or c.name not in _LATER])
        table = pq.read_table(path, columns=columns.names).select(columns.names)
        table = table.replace_schema_metadata().cast(columns)
    except (OSError, pa.ArrowException) as error:
        raise SgdxError(f"{path}: cannot be read as frame rows: {error}") from None
    variants = column(table, "variant").unique().to_pylist()
    if variants != [variant]:
        names = ", ".join(map(str, variants)) or "no rows"
        raise SgdxError(f"{path}: found variant {names}, expected {variant}")
    for name in columns.names:
        if name not in _OPTIONAL and (row := _first_null(column(table, name))) is not None:
            raise SgdxError(f"{path}: row {row}: found no value in {name}, expected one")
    return table


def _first_null(array: pa.Array) -> int | None:
    """The first row of a column that is null or has a null inside; None where there is none."""
    null = array.is_null().to_numpy(zero_copy_only=False)
    if null.any():
        return int(np.flatnonzero(null)[0])
    if pa.types.is_list(array.type):
        inside = _first_null(array.flatten())
        return None if inside is None else int(pc.list_parent_indices(array)[inside].as_py())
    if pa.types.is_struct(array.type):
        field_rows = (_first_null(pc.struct_field(array, i)) for i in range(array.type.num_fields))
        return min((row for row in field_rows if row is not None), default=None)
    return None
