"""References for the command line: frame rows of Parquet files that were made from a release."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.schema import Service, read_service
from sgdx_metric.columns import column
from sgdx_metric.rows import REFERENCE
from sgdx_metric.scoring import CANONICAL
from sgdx_metric.variants import fingerprint, names_digest, schema_digest

from .references import OF_DIALOGUES, References, Turns, of_dialogue
from .row_files import open_row_files

# Columns that references need only where spans are predicted.
_OPTIONAL = ("slots", "utterance", "service_call", CANONICAL)


def open_folder(
    folder: Path,
    variants: Iterable[str],
    columns: pa.Schema = REFERENCE,
    split: str | None = None,
) -> References:
    """Open a folder with the `VARIANT.parquet` that `python -m sgdx_dataset frames` writes.

    The files of the variants are looked at now: they must be of one release, and of the split if
    one is given.
    """
    names = list(variants)
    files = open_row_files(
        folder,
        split,
        "frame",
        columns.names,
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
        lambda variant: files.facts(variant).data,
        lambda: first.release or None,
        str(folder),
        lambda variant: _schemas_in(folder / f"{variant}.parquet"),
        lambda: _turns_in(folder / f"{names[0]}.parquet"),
        files.available(names[0]),
    )


def _read_dialogue(folder: Path, variant: str, dialogue_id: str) -> pa.Table:
    """The frame rows of a dialogue in a variant's file."""
    path = folder / f"{variant}.parquet"
    file_columns = set(pq.read_schema(path).names)
    columns = [name for name in OF_DIALOGUES if name in file_columns]
    wanted = of_dialogue(pc.field("frame_id"), dialogue_id)
    try:
        return pq.read_table(path, columns=columns, filters=wanted)
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


def _schemas_in(path: Path) -> dict[str, Service]:
    """The schema of each service in a variant's file, by the service's original name."""
    if "schema" not in pq.read_schema(path).names:
        raise SgdxError(f"{path}: found no column schema, expected the words of the services")
    table = pq.read_table(path, columns=["service", "schema"])
    _, first = np.unique(column(table, "service").to_pylist(), return_index=True)
    try:
        return {
            schema["original_name"]: read_service(schema)
            for schema in table["schema"].take(pa.array(first)).to_pylist()
        }
    except (msgspec.ValidationError, KeyError) as error:
        raise SgdxError(f"{path}: schema: {error}, expected that of a frame row") from None


def _turns_in(path: Path) -> dict[str, Turns]:
    """The turns of every dialogue up to its last user turn, in a variant's file."""
    columns = ["dialogue_id", "turn", "history", "utterance"]
    if set(columns) - set(pq.read_schema(path).names):
        return {}
    turns: dict[str, Turns] = {}
    for row in pq.read_table(path, columns=columns).to_pylist():
        if row["turn"] + 1 > len(turns.get(row["dialogue_id"], [])):
            before = [(turn["speaker"], turn["utterance"]) for turn in row["history"]]
            turns[row["dialogue_id"]] = [*before, ("USER", row["utterance"])]
    return turns


def _read_variant(path: Path, columns: pa.Schema) -> pa.Table:
    """The frame rows in a variant's file, with some columns."""
    variant = path.stem
    try:
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
