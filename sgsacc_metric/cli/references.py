"""The turns that are scored, from a release or from Parquet files made of one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from sgdx_dataset import open_release, turn_tables
from sgdx_dataset.release.release import Release
from sgdx_dataset.release.remembered import resolve_source
from sgdx_metric.rows import ScoreError
from sgdx_metric.variants import fingerprint, own_wordings, schema_digest

from ..rows import Service, Turn, trimmed

# What is read of a turn row, beside the schemas.
_COLUMNS = [name for name in Turn.__struct_fields__ if name not in ("schemas", "wording")]


@dataclass(frozen=True)
class References:
    """Where the turns of a split come from; one of the two is given.

    Attributes:
        split: `train`, `validation` or `test`.
        release: The open release.
        folder: A folder of `VARIANT.parquet`, as `python -m sgdx_dataset turns` writes them.
    """

    split: str
    release: Release | None = None
    folder: Path | None = None

    @property
    def version(self) -> str | None:
        """The commit of the data, or the name of other data; None where it is unknown."""
        if self.release:
            return self.release.version() or None
        paths = sorted((self.folder or Path()).glob("*.parquet"))
        metadata = pq.read_schema(paths[0]).metadata if paths else None
        return (metadata or {}).get(b"release", b"").decode() or None

    def turns(self, variant: str) -> list[Turn]:
        """All turns of the split under a variant's wording, sorted by their ids.

        Raises:
            ScoreError: The folder has no such file, or it is not one of turn rows.
            SgdxError: The release has no such variant or is at fault.
        """
        if self.release:
            self.release.check_dialogues(variant, self.split)
            schemas = self._schemas(self.release, variant)
            rows = turn_tables(self.release, self.split, variant, _COLUMNS).to_pylist()
            turns = []
            for row in rows:
                turn = msgspec.convert({**row, "schemas": []}, Turn)
                services = [turn.service, *(action.service for action in turn.actions)]
                of_turn = [schemas[name] for name in dict.fromkeys(services)]
                turns.append(msgspec.structs.replace(turn, schemas=of_turn))
        else:
            turns = _read_turns((self.folder or Path()) / f"{variant}.parquet", variant)
        return sorted(turns, key=lambda turn: turn.turn_id)

    def fingerprints(self, variants: list[str]) -> dict[str, str]:
        """The fingerprint of each of some variants that is the user's own."""
        fingerprints = {}
        for variant in own_wordings(variants):
            if self.release:
                services = self._schemas(self.release, variant).values()
                digests = {schema_digest(msgspec.to_builtins(service)) for service in services}
            else:
                digests = _digests((self.folder or Path()) / f"{variant}.parquet")
            fingerprints[variant] = fingerprint(digests)
        return fingerprints

    def _schemas(self, release: Release, variant: str) -> dict[str, Service]:
        services = release.schema(self.split, variant).services
        return {
            service.service_name: msgspec.convert(msgspec.to_builtins(service), Service)
            for service in services
        }


def open_references(
    source: str | None, folder: Path | None, split: str, own: Mapping[str, str]
) -> References:
    """Open what the turns come from.

    Args:
        source: The release's directory or archive, or "sample"; None for `$SGDX_SOURCE` and, where
            that is unset, what `sgdx_dataset prepare` was given.
        folder: Instead of a source, a folder of Parquet files of turn rows.
        split: `train`, `validation` or `test`.
        own: The user's own schema variants: a directory or an overlay by name.

    Raises:
        ScoreError: Both a source and a folder are given, or the folder does not exist.
        SgdxError: The source or a variant of the user's own cannot be opened.
    """
    if folder is None:
        return References(split, open_release(resolve_source(source), own))
    if source or own:
        raise ScoreError(
            f"--references {folder}: found --source or --variant too, expected one way to have the"
            " references"
        )
    if not folder.is_dir():
        raise ScoreError(f"--references {folder}: found no folder, expected VARIANT.parquet in one")
    return References(split, folder=folder)


def _read_turns(path: Path, variant: str) -> list[Turn]:
    table = _read(path, [*_COLUMNS, "schemas"])
    try:
        rows = (row for batch in table.to_batches(1000) for row in batch.to_pylist())
        turns = [trimmed(msgspec.convert(row, Turn)) for row in rows]
    except msgspec.ValidationError as error:
        raise ScoreError(f"{path}: {error}, expected turn rows") from None
    if others := {turn.variant for turn in turns} - {variant}:
        raise ScoreError(f"{path}: found variant {min(others)}, expected {variant}")
    return turns


def _digests(path: Path) -> set[str]:
    """The digests of all schemas in a file of turn rows."""
    schemas = _read(path, ["schemas"])["schemas"]
    batches = (row for batch in schemas.chunks for row in batch.to_pylist())
    return {schema_digest(service) for row in batches for service in row}


def _read(path: Path, columns: list[str]) -> pa.Table:
    if not path.is_file():
        raise ScoreError(
            f"--references {path.parent}: found no {path.name}, expected the turn rows of"
            f" {path.stem} as 'python -m sgdx_dataset turns' writes them"
        )
    try:
        names = pq.read_schema(path).names
        if missing := [name for name in columns if name not in names]:
            raise ScoreError(f"{path}: found no column {', '.join(missing)}, expected turn rows")
        return pq.read_table(path, columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise ScoreError(f"{path}: cannot be read as turn rows: {error}") from None
