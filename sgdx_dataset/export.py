"""Writing rows as files: a config as the release's JSON, and frames or turns as Parquet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Literal

import pyarrow.parquet as pq
from datasets import Features

from .configs import BACKTRANS, SPLITS, split_name
from .io.errors import SgdxError
from .io.files import staged
from .io.json import pretty_json
from .io.progress import progress
from .release import Release
from .row_datasets import release_dialogue
from .rows import COLUMNS, read_dialogues, row_tables, steps


def export(
    release: Release,
    config: str,
    output: Path,
    splits: Iterable[str] | None = None,
    dialogue_ids: Collection[str] | None = None,
) -> list[Path]:
    """Write a config's dialogues and schemas as ``output/{train,dev,test}/*.json``."""
    # For ``original`` this is the release's JSON, for ``v1``..``v5`` what its converter
    # (``sgd_x/generate_sgdx_dialogues.py``, fixed version of 2023-08-07) makes, value for value.
    # ``backtrans`` has every dialogue once per language, as in ``output/backtrans-zh/train``.
    release.check_dialogues(config)
    splits = [split_name(split) for split in splits or release.splits(config)]
    folders = {
        (variant, split): Path(variant if config == BACKTRANS else "", SPLITS[split])
        for variant in release.variants(config)
        for split in splits
    }
    for folder in folders.values():
        if (output / folder).exists():
            expected = "expected a new folder to export to"
            raise SgdxError(f"{output / folder}: exists already, {expected}")
    # A new output appears when all is there; in one that exists, each split appears whole.
    place = nullcontext(output) if output.exists() else staged(output)
    with progress("Exporting", steps(release, [config], splits)), place as whole:
        for split in splits:
            release.check_dialogues(config, split)
            made: dict[str, dict[str, bytes]] = {}  # files by variant and name
            for file, table in row_tables(release, split, config, dialogue_ids=dialogue_ids):
                if len(table):
                    rows = table.to_pylist()
                    dialogues = [release_dialogue(row) for row in rows]
                    files = made.setdefault(rows[0]["variant"], {})
                    files[Path(file).name] = pretty_json(dialogues, 2, "sorted")
            for variant in release.variants(config):
                files = made.get(variant, {})
                files["schema.json"] = pretty_json(release.schema(split, variant), 2)
                with staged(whole / folders[variant, split]) as staging:
                    staging.mkdir()
                    for name, content in files.items():
                        (staging / name).write_bytes(content)
    return [output / folder for folder in folders.values()]


def write_rows(
    kind: Literal["frames", "turns"],
    release: Release,
    split: str,
    configs: Sequence[str],
    output: Path,
    dialogue_ids: Sequence[str] | None = None,
) -> list[Path]:
    """Write the rows of some dialogues, or all, as ``VARIANT.parquet``, whole or not at all."""
    split = split_name(split)
    for config in configs:
        release.check_dialogues(config, split)
    schema = Features.from_arrow_schema(COLUMNS[kind]).arrow_schema
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
                for _, table in row_tables(release, split, config, kind, None, dialogue_ids):
                    writer.write_table(table.replace_schema_metadata(schema.metadata))
                facts = {"data": release.data_digest(split, config), "split": split}
                if dialogue_ids is not None:  # of how many in the split these are
                    count = sum(len(dialogues) for _, dialogues in read_dialogues(release, split))
                    facts["dialogues"] = str(count)
                writer.add_key_value_metadata(facts)
    return files
