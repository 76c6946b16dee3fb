"""References in Parquet files, as `sgdx export frames` and `turns` write them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import note_read
from sgdx_dataset.schema import Service, read_service
from sgdx_metric.columns import column
from sgdx_metric.rows import REFERENCE
from sgdx_metric.signature import split_name
from sgdx_metric.variants import fingerprint, names_digest, schema_digest

from .references import OF_DIALOGUES, References, Turns, of_dialogue


class _Facts(msgspec.Struct):
    """What a file of rows says in its metadata; None where it does not."""

    release: str | None = None
    # The digest of what the rows are made from.
    data: str | None = None
    split: str | None = None
    # Of how many dialogues the file's are a choice.
    dialogues: str | None = None


class FolderReferences(References):
    """A folder with `VARIANT.parquet` of frame rows or turn rows."""

    def __init__(
        self,
        folder: Path,
        split: str | None,
        variants: Iterable[str] = (),
        columns: pa.Schema = REFERENCE,
        kind: str = "frames",
    ) -> None:
        """The files of some variants are looked at now: they must be of one release."""
        if not folder.is_dir():
            raise SgdxError(f"--references {folder}: found no folder, expected VARIANT.parquet")
        self._folder, self._columns, self._kind = folder, columns, kind
        self.name, self.split = str(folder), split or "test"
        self._split = split
        names = list(variants)
        for variant in names:
            first, facts = self._facts(names[0]), self._facts(variant)
            if (facts.release, facts.dialogues) != (first.release, first.dialogues):
                raise SgdxError(
                    f"--references {folder}: {variant}.parquet is of release '{facts.release}', "
                    f"expected '{first.release}' as the others are"
                )
        self._first = names[0] if names else ""
        self.release = self._facts(names[0]).release or None if names else None
        stated = (self._facts(names[0]).dialogues if names else "") or ""
        self.available = int(stated) if stated.isdecimal() else None

    def _path(self, variant: str) -> Path:
        return self._folder / f"{variant}.parquet"

    @cache  # noqa: B019 - a process opens few folders
    def _facts(self, variant: str) -> _Facts:
        """What a variant's file says of itself; it must have the columns."""
        path = self._path(variant)
        if not path.is_file():
            raise SgdxError(
                f"--references {self._folder}: found no {path.name}, expected the "
                f"{self._kind[:-1]} rows of {variant} as 'python -m sgdx_dataset {self._kind}' "
                "writes them"
            )
        try:
            schema = pq.read_schema(path)
            metadata = {**(schema.metadata or {}), **(pq.read_metadata(path).metadata or {})}
        except (OSError, pa.ArrowException) as error:
            raise SgdxError(f"{path}: not a Parquet file: {error}") from None
        if lacking := [name for name in self._columns.names if name not in schema.names]:
            raise SgdxError(
                f"{path}: found no column {', '.join(lacking)}, expected {self._kind[:-1]} rows"
            )
        texts = {
            k.decode(errors="replace"): v.decode(errors="replace") for k, v in metadata.items()
        }
        stated = msgspec.convert(texts, _Facts)
        if self._split and stated.split not in (None, split_name(self._split)):
            raise SgdxError(f"{path}: is of {stated.split}, expected {self._split}")
        return stated

    @cache  # noqa: B019 - likewise
    def rows(self, variant: str) -> pa.Table:
        """The rows in a variant's file."""
        self._facts(variant)
        path = self._path(variant)
        table = self._read(path, self._columns.names).select(self._columns.names)
        if self._kind == "frames":  # what turns have in their columns, msgspec checks row by row
            try:
                table = table.replace_schema_metadata().cast(self._columns)
            except pa.ArrowException as error:
                raise SgdxError(f"{path}: cannot be read as frame rows: {error}") from None
        variants = column(table, "variant").unique().to_pylist()
        if variants != [variant]:
            names = ", ".join(map(str, variants)) or "no rows"
            raise SgdxError(f"{path}: found variant {names}, expected {variant}")
        return table

    def _read(self, path: Path, names: list[str], wanted: pc.Expression | None = None) -> pa.Table:
        try:
            note_read(path)
            return pq.read_table(path, columns=names, filters=wanted)
        except (OSError, pa.ArrowException) as error:
            raise SgdxError(f"{path}: cannot be read as {self._kind[:-1]} rows: {error}") from None

    def data(self, variant: str) -> str | None:
        return self._facts(variant).data if self._path(variant).is_file() else None

    def fingerprint(self, variant: str) -> str:
        path = self._path(variant)
        if self._kind == "turns":
            schemas = self._read(path, ["schemas"])["schemas"]
            services = (
                service for chunk in schemas.chunks for row in chunk.to_pylist() for service in row
            )
            return fingerprint(map(schema_digest, services))
        frames = self.rows(variant)
        _, first = np.unique(column(frames, "service").to_pylist(), return_index=True)
        if "schema" in pq.read_schema(path).names:
            taken = self._read(path, ["schema"])["schema"].take(pa.array(first))
            return fingerprint(map(schema_digest, taken.to_pylist()))
        return fingerprint(
            names_digest(row["service"], [slot["name"] for slot in row["schema_slots"]])
            for row in frames.take(pa.array(first)).to_pylist()
        )

    def dialogue(self, variant: str, dialogue_id: str) -> pa.Table:
        path = self._path(variant)
        columns = [name for name in OF_DIALOGUES if name in pq.read_schema(path).names]
        return self._read(path, columns, of_dialogue(pc.field("frame_id"), dialogue_id))

    def schemas(self, variant: str) -> dict[str, Service]:
        path = self._path(variant)
        if "schema" not in pq.read_schema(path).names:
            raise SgdxError(f"{path}: found no column schema, expected the words of the services")
        table = self._read(path, ["service", "schema"])
        _, first = np.unique(column(table, "service").to_pylist(), return_index=True)
        try:
            return {
                schema["original_name"]: read_service(schema)
                for schema in table["schema"].take(pa.array(first)).to_pylist()
            }
        except (msgspec.ValidationError, KeyError) as error:
            raise SgdxError(f"{path}: schema: {error}, expected that of a frame row") from None

    def turns(self) -> dict[str, Turns]:
        """The turns of every dialogue up to its last user turn, in the first file."""
        path = self._path(self._first)
        columns = ["dialogue_id", "turn", "history", "utterance"]
        if set(columns) - set(pq.read_schema(path).names):
            return {}
        turns: dict[str, Turns] = {}
        for row in self._read(path, columns).to_pylist():
            if row["turn"] + 1 > len(turns.get(row["dialogue_id"], [])):
                before = [(turn["speaker"], turn["utterance"]) for turn in row["history"]]
                turns[row["dialogue_id"]] = [*before, ("USER", row["utterance"])]
        return turns
