"""Frame rows and turn rows as Parquet files, one for each config."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..io.files import staged
from ..io.progress import progress
from ..release.release import Release
from ..release.schema import split_name
from .columns import FRAME_COLUMNS, TURN_COLUMNS
from .dialogue_rows import steps
from .features import FRAME_ROW, TURN_ROW
from .frame_rows import frame_parts
from .turn_rows import turn_parts


def write_frames(
    release: Release,
    split: str,
    configs: Sequence[str],
    output: Path,
    dialogue_ids: Sequence[str] | None = None,
) -> list[Path]:
    """Write the frame rows of a split as ``CONFIG.parquet`` files, each whole or not at all."""

    def parts(config: str) -> Iterator[pa.Table]:
        for part in frame_parts(release, split, config):
            yield _of_dialogues(part, part["dialogue_id"], dialogue_ids)

    version = release.version(split_name(split))
    schema = FRAME_COLUMNS.with_metadata({**FRAME_ROW.arrow_schema.metadata, "release": version})
    return _write(release, split, configs, output, schema, parts, dialogue_ids)


def write_turns(
    release: Release,
    split: str,
    configs: Sequence[str],
    output: Path,
    dialogue_ids: Sequence[str] | None = None,
) -> list[Path]:
    """Write the turn rows of a split as ``CONFIG.parquet`` files, each whole or not at all."""

    def parts(config: str) -> Iterator[pa.Table]:
        for part in turn_parts(release, split, config):
            dialogues = pc.replace_substring_regex(part["turn_id"], "/[^/]*$", "")
            yield _of_dialogues(part, dialogues, dialogue_ids)

    version = release.version()
    schema = TURN_COLUMNS.with_metadata({**TURN_ROW.arrow_schema.metadata, "release": version})
    return _write(release, split, configs, output, schema, parts, dialogue_ids)


def _of_dialogues(
    rows: pa.Table, dialogues: pa.ChunkedArray, dialogue_ids: Sequence[str] | None
) -> pa.Table:
    """The rows of some dialogues; of all where there are no ids."""
    if dialogue_ids is None:
        return rows
    return rows.filter(pc.is_in(dialogues, value_set=pa.array(dialogue_ids, pa.string())))


def _write(
    release: Release,
    split: str,
    configs: Sequence[str],
    output: Path,
    schema: pa.Schema,
    parts: Callable[[str], Iterator[pa.Table]],
    dialogue_ids: Sequence[str] | None,
) -> list[Path]:
    """Write the parts of each config as one file, with what they were made from as metadata."""
    split = split_name(split)
    for config in configs:
        release.check_dialogues(config, split)
    files = [output / f"{config}.parquet" for config in configs]
    with progress("Writing rows", steps(release, configs, [split])):
        for config, file in zip(configs, files, strict=True):
            with (
                staged(file) as staging,
                pq.ParquetWriter(staging, schema, compression="zstd") as writer,
            ):
                for part in parts(config):
                    writer.write_table(part.replace_schema_metadata(schema.metadata))
                facts = {"data": release.data_digest(split, config), "split": split}
                if dialogue_ids is not None:
                    facts["dialogues"] = str(release.count_dialogues(split))
                writer.add_key_value_metadata(facts)
    return files
