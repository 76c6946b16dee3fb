"""The gold side: the rows of a split, frames or turns, of a release or of a folder of Parquet."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sgdx_dataset.io.console import escape_controls
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.io.files import note_read
from sgdx_dataset.release import Release, open_release
from sgdx_dataset.rows import Kind, frame_tables, read_dialogues, whole_table
from sgdx_dataset.schema import Service, read_service
from sgdx_dataset.source import resolve_source, sources_named
from sgdx_metric.columns import column
from sgdx_metric.rows import PREDICTION, REFERENCE, Prediction
from sgdx_metric.variants import (
    ORIGINAL,
    fingerprint,
    names_digest,
    own_variants,
    schema_digest,
)

from .predictions import Header

# The speaker and the utterance of each turn of a dialogue.
Turns = list[tuple[str, str]]

OF_DIALOGUES = [*REFERENCE.names, "service_call", "history"]


class Rows(NamedTuple):
    """What a task reads."""

    # The type of a line of predictions and its columns, of which the first is the item's id.
    prediction: type[msgspec.Struct] = Prediction
    predicted: pa.Schema = PREDICTION
    # The rows of the data that it is scored against, "frames" or "turns", and their columns.
    references: pa.Schema = REFERENCE
    kind: Literal["frames", "turns"] = "frames"
    # The variants whose rows are scored against; empty for those that are predicted.
    variants: Sequence[str] = ()


STATES = Rows()


class Gold(ABC):
    """The rows of a split, frames or turns, and where they come from."""

    # What the user calls the data, and the commit or name of it; None where that is unknown.
    name: str
    split: str
    release: str | None
    # How many dialogues the split has, where these are a choice of them.
    available: int | None = None

    @abstractmethod
    def rows(self, variant: str) -> pa.Table:
        """The rows of a variant, with the columns that were asked for."""

    @abstractmethod
    def data(self, variant: str) -> str | None:
        """The digest of what a variant's rows are made from; None where it is unknown."""

    @abstractmethod
    def fingerprint(self, variant: str) -> str:
        """The fingerprint of a variant's variant, of the services of the split's frames."""

    def marks(self, variants: Mapping[str, Any] | list[str]) -> dict[str, str]:
        """The fingerprints of those variants that are the user's own."""
        return {name: self.fingerprint(name) for name in own_variants(variants)}

    @abstractmethod
    def dialogue(self, variant: str, dialogue_id: str) -> pa.Table:
        """The frame rows of one dialogue, with `history` and `service_call` where there are."""

    @abstractmethod
    def schemas(self, variant: str) -> Mapping[str, Service]:
        """The schema of each service under a variant, by the service's original name."""

    @abstractmethod
    def turns(self) -> dict[str, Turns]:
        """The turns of every dialogue, by its id; {} where the data has not all of them."""


class ReleaseGold(Gold):
    """The rows of a release."""

    def __init__(self, opened: Release, split: str, columns: Sequence[str], kind: Kind) -> None:
        self.opened, self.split, self._kind = opened, split, kind
        # The joined schemas of every turn would take longer than all else.
        self._columns = [name for name in columns if kind == "frames" or name != "schemas"]
        self.name = opened.name

    @cached_property
    def release(self) -> str | None:  # type: ignore[override]
        """The commit of the data, or a name of other data."""
        return self.opened.version(self.split) or None

    def rows(self, variant: str) -> pa.Table:
        """Frames or turns, as `sgdx_dataset` makes them."""
        return whole_table(self.opened, self.split, variant, self._kind, self._columns)

    def data(self, variant: str) -> str | None:
        return self.opened.data_digest(self.split, variant)

    @cache  # noqa: B019 - a process opens few releases
    def fingerprint(self, variant: str) -> str:
        frames = frame_tables(self.opened, self.split, variant, ["service"])
        scored_services = set(frames["service"].unique().to_pylist())
        return fingerprint(
            schema_digest(msgspec.to_builtins(service))
            for name in self.opened.variants(variant)
            for service in self.opened.schema(self.split, name)
            if service.service_name in scored_services
        )

    def dialogue(self, variant: str, dialogue_id: str) -> pa.Table:
        opened = self._with_dialogue(dialogue_id)
        rows = frame_tables(opened, self.split, variant, OF_DIALOGUES)
        return rows.filter(of_dialogue(rows["frame_id"], dialogue_id))

    @cache  # noqa: B019 - likewise
    def _with_dialogue(self, dialogue_id: str) -> Release:
        return self.opened.with_dialogue(self.split, dialogue_id)

    def schemas(self, variant: str) -> dict[str, Service]:
        originals = self.opened.schema(self.split, ORIGINAL)
        services = self.opened.schema(self.split, variant)
        return {o.service_name: service for o, service in zip(originals, services, strict=True)}

    def turns(self) -> dict[str, Turns]:
        return {
            dialogue["dialogue_id"]: [
                (turn["speaker"], turn["utterance"]) for turn in dialogue["turns"]
            ]
            for _, dialogues in read_dialogues(self.opened, self.split)
            for dialogue in dialogues
        }


class _Facts(msgspec.Struct):
    """What a file of rows says in its metadata; None where it does not."""

    release: str | None = None
    # The digest of what the rows are made from.
    data: str | None = None
    split: str | None = None
    # Of how many dialogues the file's are a choice.
    dialogues: str | None = None
    # The columns that it has.
    columns: list[str] = []


class FolderGold(Gold):
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
        import pyarrow.parquet as pq  # It takes a while to import.

        path = self._path(variant)
        if not path.is_file():
            raise SgdxError(
                f"--references {self._folder}: found no {path.name}, expected the "
                f"{self._kind[:-1]} rows of {variant} as 'sgdx export {self._kind}' "
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
        stated = msgspec.convert({**texts, "columns": schema.names}, _Facts)
        if self._split and stated.split not in (None, self._split):
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
        import pyarrow.parquet as pq

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
        if "schema" in self._facts(variant).columns:
            taken = self._read(path, ["schema"])["schema"].take(pa.array(first))
            return fingerprint(map(schema_digest, taken.to_pylist()))
        return fingerprint(
            names_digest(row["service"], [slot["name"] for slot in row["schema_slots"]])
            for row in frames.take(pa.array(first)).to_pylist()
        )

    def dialogue(self, variant: str, dialogue_id: str) -> pa.Table:
        path = self._path(variant)
        columns = [name for name in OF_DIALOGUES if name in self._facts(variant).columns]
        return self._read(path, columns, of_dialogue(pc.field("frame_id"), dialogue_id))

    def schemas(self, variant: str) -> dict[str, Service]:
        path = self._path(variant)
        if "schema" not in self._facts(variant).columns:
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
        if set(columns) - set(self._facts(self._first).columns):
            return {}
        turns: dict[str, Turns] = {}
        for row in self._read(path, columns).to_pylist():
            if row["turn"] + 1 > len(turns.get(row["dialogue_id"], [])):
                before = [(turn["speaker"], turn["utterance"]) for turn in row["history"]]
                turns[row["dialogue_id"]] = [*before, ("USER", row["utterance"])]
        return turns


def open_gold(
    source: str | None,
    split: str | None,
    own: Mapping[str, str] | None = None,
    rows: Rows = STATES,
    headers: Mapping[str, Header] = MappingProxyType({}),
    folder: Path | None = None,
) -> Gold:
    """Open the SGD release, or a folder of Parquet files instead, for the rows of a split.

    The source is a release's directory or archive, or "sample"; None is `$SGDX_SOURCE` and, where
    that is unset, what `sgdx_dataset prepare` was given. Where that is other data than the
    headers of the predictions of each variant say that they were made from, the source that they
    name is taken. `own` are the user's own schema variants: a directory or an overlay by name.
    """
    if folder:
        names = rows.variants or [*headers]
        return FolderGold(folder, split, names, rows.references, rows.kind)
    split = split or "test"

    def is_stated(release: Release) -> bool:
        """Whether a release has the data that predictions were made from."""
        configs = release.configs()
        return all(
            variant in configs and release.data_digest(split, variant) == header.data
            for variant, header in headers.items()
            if header.data is not None
        )

    found: Release | None = None
    named = [of.source for of in headers.values() if of.source and of.data]
    others = sources_named(named[0]) if named and source is None else []
    # Nothing may have been prepared, or it may not be there any more.
    with suppress(SgdxError):
        if others and is_stated(default := open_release(source, own)):
            found = default
    for name in () if found else others:
        if is_stated(release := open_release(name, own)):
            made_from = f"{escape_controls(name)}, which the predictions were made from"
            print(f"note: the source is {made_from}; --source names another", file=sys.stderr)
            found = release
            break
    found = found or open_release(resolve_source(source, announce=True), own)
    if gaps := found.gaps():
        print(f"note: {gaps}", file=sys.stderr)
    return ReleaseGold(found, split, rows.references.names, rows.kind)


def of_dialogue(frame_ids: Any, dialogue_id: str) -> Any:
    """Which frame ids, an array or an expression, are of a dialogue."""
    return pc.starts_with(frame_ids, f"{dialogue_id}/")
