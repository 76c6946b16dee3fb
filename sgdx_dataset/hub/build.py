"""Building a dataset repository for the Hugging Face Hub: Parquet files and a dataset card."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

from ..io.errors import SgdxError
from ..io.files import staged
from ..io.progress import advance, progress
from ..release.release import Release
from ..rows.dialogue_rows import dialogue_tables, read_split, steps
from ..rows.features import DIALOGUE_ROW
from ..sgdx_dataset import VERSION
from .benchmark import write_benchmark
from .card import write_card
from .upload import check_upload, folder_files, upload

# Of a dataset repository.
_FILES = ("README.md", "eval.yaml", "data/*/*.parquet")
# Bytes of Arrow data in a Parquet file, as is the default of datasets; compressed it is a tenth.
MAX_SHARD_BYTES = 500_000_000
# Rows in a row group: about 20 MB of Arrow data, so that a stream's first row comes quickly.
ROWS_PER_GROUP = 2000
_PARQUET: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 9,  # a tenth smaller than the default, and writing is not the bottleneck
    "dictionary_pagesize_limit": 1 << 16,  # give up early on utterances, which hardly repeat
}


def build(release: Release, output: Path, repo_id: str = "YOU/sgdx") -> Path:
    """Write a dataset repository with all configs that the release has."""
    if output.exists():
        raise SgdxError(f"{output}: exists already, expected a new folder to build in")
    release.check_any_dialogues("original")
    try:
        with staged(output) as staging, progress("Building", steps(release, release.configs())):
            staging.mkdir()
            infos = _write_configs(release, staging)
            write_card(release, staging, infos, repo_id)
            write_benchmark(release, staging)
    finally:
        read_split.cache_clear()
    return output


def push(release: Release, repo_id: str, private: bool = False) -> str:
    """Build a dataset repository and upload it to the Hub as the user who is logged in."""
    check_upload(repo_id)
    with tempfile.TemporaryDirectory(prefix="sgdx-") as folder:
        built = build(release, Path(folder) / "sgdx", repo_id=repo_id)
        return upload(
            folder_files(built, _FILES),
            repo_id,
            "dataset",
            own=_FILES,
            mark="data/original/*",
            message=f"SGD and SGD-X, version {VERSION}",
            private=private,
            tag=f"v{VERSION}",
        )


def _write_configs(release: Release, folder: Path) -> dict[str, datasets.DatasetInfo]:
    """Write every config's Parquet files, two splits at a time."""
    jobs = [(config, split) for config in release.configs() for split in release.splits(config)]
    for split in release.splits("original"):
        read_split(release, split)

    def write(job: tuple[str, str]) -> datasets.SplitInfo:
        return _write_split(release, *job, folder)

    written = []
    pool = ThreadPoolExecutor(2)
    try:
        for (config, split), info in zip(jobs, pool.map(write, jobs)):
            written.append(info)
            advance(len(release.variants(config)) * len(release.dialogue_files(split)))
    finally:  # a build that is stopped does not wait for what has not begun
        pool.shutdown(cancel_futures=True)
    infos = {}
    for config in release.configs():
        splits = {info.name: info for (c, _), info in zip(jobs, written) if c == config}
        files = (folder / "data" / config).iterdir()
        infos[config] = datasets.DatasetInfo(
            features=DIALOGUE_ROW,
            splits=datasets.SplitDict(splits),
            download_size=sum(file.stat().st_size for file in files),
            dataset_size=sum(info.num_bytes for info in splits.values()),
            config_name=config,
        )
    return infos


def _write_split(release: Release, config: str, split: str, folder: Path) -> datasets.SplitInfo:
    config_folder = folder / "data" / config
    config_folder.mkdir(parents=True, exist_ok=True)
    shards = [config_folder / f"{split}-0"]
    rows = size = 0
    for shard in _shards(_row_groups(release, config, split)):
        with pq.ParquetWriter(shards[-1], DIALOGUE_ROW.arrow_schema, **_PARQUET) as writer:
            for table in shard:
                writer.write_table(table, row_group_size=ROWS_PER_GROUP)
                rows, size = rows + table.num_rows, size + table.nbytes
        shards.append(config_folder / f"{split}-{len(shards)}")
    for index, path in enumerate(shards[:-1]):
        path.rename(config_folder / f"{split}-{index:05d}-of-{len(shards) - 1:05d}.parquet")
    return datasets.SplitInfo(name=split, num_bytes=size, num_examples=rows)


def _row_groups(release: Release, config: str, split: str) -> Iterator[pa.Table]:
    """The split's rows in tables of at least ``ROWS_PER_GROUP``; the last may be smaller."""
    pending: list[pa.Table] = []
    for _, table in dialogue_tables(release, split, config):
        pending.append(table)
        if sum(part.num_rows for part in pending) >= ROWS_PER_GROUP:
            yield pa.concat_tables(pending)
            pending = []
    if pending:
        yield pa.concat_tables(pending)


def _shards(groups: Iterator[pa.Table]) -> Iterator[Iterator[pa.Table]]:
    """Divide tables into shards of ``MAX_SHARD_BYTES`` or more; the last may be smaller."""

    def shard(table: pa.Table) -> Iterator[pa.Table]:
        size = table.nbytes
        yield table
        while size < MAX_SHARD_BYTES and (table := next(groups, None)) is not None:
            size += table.nbytes
            yield table

    for first in groups:
        yield shard(first)
