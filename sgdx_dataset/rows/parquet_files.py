"""Frame rows and turn rows as Parquet files, one for each config."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pyarrow.parquet as pq

from ..configs import split_name
from ..io.files import staged
from ..io.progress import progress
from ..release.release import Release
from .dialogue_rows import steps
from .features import FRAME_ROW, TURN_ROW
from .frame_rows import frame_parts
from .turn_rows import turn_parts


def write_rows(
    kind: Literal["frames", "turns"],
    release: Release,
    split: str,
    configs: Sequence[str],
    output: Path,
    dialogue_ids: Sequence[str] | None = None,
) -> list[Path]:
    """Write the rows of some dialogues, or all, as ``CONFIG.parquet``, each whole or not at all."""
    split = split_name(split)
    for config in configs:
        release.check_dialogues(config, split)
    parts_of = frame_parts if kind == "frames" else turn_parts
    schema = (FRAME_ROW if kind == "frames" else TURN_ROW).arrow_schema
    # Whether a turn's domain is a seen one depends on all of the release.
    version = release.version(split if kind == "frames" else None)
    schema = schema.with_metadata({**schema.metadata, "release": version})
    files = [output / f"{config}.parquet" for config in configs]
    with progress("Writing rows", steps(release, configs, [split])):
        for config, file in zip(configs, files, strict=True):
            with (
                staged(file) as staging,
                pq.ParquetWriter(staging, schema, compression="zstd") as writer,
            ):
                for part in parts_of(release, split, config, dialogue_ids):
                    writer.write_table(part.replace_schema_metadata(schema.metadata))
                facts = {"data": release.data_digest(split, config), "split": split}
                if dialogue_ids is not None:  # of how many in the split these are
                    facts["dialogues"] = str(release.count_dialogues(split))
                writer.add_key_value_metadata(facts)
    return files
