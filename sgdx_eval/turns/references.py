"""The turns that are scored, from a release or from Parquet files made of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from sgdx_dataset import frame_tables, turn_tables
from sgdx_dataset.release.release import Release
from sgdx_eval.references import Stated, stated_release
from sgdx_eval.row_files import RowFiles, open_row_files
from sgdx_metric.rows import ScoreError
from sgdx_metric.variants import fingerprint, own_wordings, schema_digest
from sgsacc_metric.rows import Service, Turn, trimmed

# What is read of a turn row, beside the schemas.
_COLUMNS = [name for name in Turn.__struct_fields__ if name not in ("schemas", "wording")]


@dataclass(frozen=True)
class References:
    """Where the turns of a split come from; one of the two is given.

    Attributes:
        split: `train`, `validation` or `test`.
        release: The open release.
        files: Parquet files of turn rows, as `python -m sgdx_dataset turns` writes them.
    """

    split: str
    release: Release | None = None
    files: RowFiles | None = None

    def version(self, variants: Sequence[str]) -> str | None:
        """The commit of the data, or the name of other data; None where it is unknown."""
        if self.files:
            return self.files.facts(variants[0]).release or None
        return self.release.version(self.split) or None if self.release else None

    def data(self, variant: str) -> str | None:
        """The digest of what a variant's turns are made from, as prediction files have it.

        None where it is unknown, as where a folder has no file for the variant.
        """
        if self.files:
            return self.files.facts(variant).data if self.files.has(variant) else None
        return self.release.data_digest(self.split, variant) if self.release else None

    def available(self, variant: str) -> int | None:
        """How many dialogues the split has, where a folder's are a choice of them; else None."""
        return self.files.available(variant) if self.files else None

    def turns(self, variant: str) -> list[Turn]:
        """All turns of the split under a variant's wording, sorted by their ids.

        Raises:
            ScoreError: The folder has no such file, or it is not one of turn rows.
            SgdxError: The release has no such variant or is at fault.
        """
        turns: list[Turn] = []
        if self.release:
            self.release.check_dialogues(variant, self.split)
            schemas = self._schemas(self.release, variant)
            rows = turn_tables(self.release, self.split, variant, _COLUMNS).to_pylist()
            for row in rows:
                turn = msgspec.convert({**row, "schemas": []}, Turn)
                services = [turn.service, *(action.service for action in turn.actions)]
                of_turn = [schemas[name] for name in dict.fromkeys(services)]
                turns.append(msgspec.structs.replace(turn, schemas=of_turn))
        elif self.files:
            turns = _turns_in(self.files.table(variant), self.files.folder, variant)
        return sorted(turns, key=lambda turn: turn.turn_id)

    def fingerprints(self, variants: list[str]) -> dict[str, str]:
        """The fingerprint of each of some variants that is the user's own.

        Of a release it is of the services of the split's frames, as headers of predictions have it:
        a partial copy has dialogues of some of its services alone.
        """
        fingerprints = {}
        for variant in own_wordings(variants):
            if self.release:
                schemas = self._schemas(self.release, variant)
                frames = frame_tables(self.release, self.split, variant, ["service"])
                names = frames["service"].unique().to_pylist()
                digests = {schema_digest(msgspec.to_builtins(schemas[name])) for name in names}
                fingerprints[variant] = fingerprint(digests)
            elif self.files:
                fingerprints[variant] = fingerprint(_digests(self.files.table(variant)))
        return fingerprints

    def _schemas(self, release: Release, variant: str) -> dict[str, Service]:
        services = release.schema(self.split, variant).services
        return {
            service.service_name: msgspec.convert(msgspec.to_builtins(service), Service)
            for service in services
        }


def open_references(
    source: str | None,
    folder: Path | None,
    split: str,
    own: Mapping[str, str],
    stated: Mapping[str, Stated] | None = None,
) -> References:
    """Open what the turns come from.

    Args:
        source: The release's directory or archive, or "sample"; None for `$SGDX_SOURCE` and, where
            that is unset, what `sgdx_dataset prepare` was given.
        folder: Instead of a source, a folder of Parquet files of turn rows.
        split: `train`, `validation` or `test`.
        own: The user's own schema variants: a directory or an overlay by name.
        stated: What the predictions of each variant say that they were made from. Where no source
            is given, and that of the default is other data, the one that they name is taken.
    """
    if folder is None:
        return References(split, stated_release(source, split, own, stated or {}))
    if source or own:
        raise ScoreError(
            f"--references {folder}: found --source or --variant too, expected one way to have the"
            " references"
        )
    if not folder.is_dir():
        raise ScoreError(f"--references {folder}: found no folder, expected VARIANT.parquet in one")
    columns = [*_COLUMNS, "schemas"]
    return References(split, files=open_row_files(folder, split, "turn", columns, _read))


def _turns_in(table: pa.Table, folder: Path, variant: str) -> list[Turn]:
    """The turns of a file of turn rows, which must be of one variant."""
    path = folder / f"{variant}.parquet"
    try:
        rows = (row for batch in table.to_batches(1000) for row in batch.to_pylist())
        turns = [trimmed(msgspec.convert(row, Turn)) for row in rows]
    except msgspec.ValidationError as error:
        raise ScoreError(f"{path}: {error}, expected turn rows") from None
    if others := {turn.variant for turn in turns} - {variant}:
        raise ScoreError(f"{path}: found variant {min(others)}, expected {variant}")
    return turns


def _digests(table: pa.Table) -> set[str]:
    """The digests of all schemas in a file of turn rows."""
    batches = (row for batch in table["schemas"].chunks for row in batch.to_pylist())
    return {schema_digest(service) for row in batches for service in row}


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path, columns=[*_COLUMNS, "schemas"])
    except (OSError, pa.ArrowException) as error:
        raise ScoreError(f"{path}: cannot be read as turn rows: {error}") from None
