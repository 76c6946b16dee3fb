"""Building a dataset repository for the Hugging Face Hub: Parquet files and a dataset card."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq

from .card import write_card, write_leaderboards
from .columns import DIALOGUE_COLUMNS, VERSION
from .io.errors import SgdxError
from .io.files import staged
from .io.progress import progress
from .push import check_upload, upload
from .release import Release
from .rows import in_groups, row_tables, split_rows, steps

# Of a dataset repository.
_FILES = ("README.md", "eval.yaml", "data/*/*.parquet")
# Rows in a row group, or a few more: some 20 MB of Arrow data, so that a stream's first row comes
# quickly.
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
    release.check_dialogues("original")
    try:
        with staged(output) as staging, progress("Building", steps(release, release.configs())):
            staging.mkdir()
            infos = {
                config: _write_config(release, config, staging) for config in release.configs()
            }
            write_card(release, staging, infos, repo_id)
            write_leaderboards(release, staging)
    finally:
        split_rows.cache_clear()
    return output


def push(release: Release, repo_id: str, private: bool = False) -> str:
    """Build a dataset repository and upload it to the Hub as the user who is logged in."""
    check_upload(repo_id)
    with tempfile.TemporaryDirectory(prefix="sgdx-") as folder:
        return upload(
            build(release, Path(folder) / "sgdx", repo_id=repo_id),
            repo_id,
            "dataset",
            own=_FILES,
            mark="data/original/*",
            message=f"SGD and SGD-X, version {VERSION}",
            private=private,
            tag=f"v{VERSION}",
        )


def _write_config(release: Release, config: str, folder: Path) -> datasets.DatasetInfo:
    """Write a config's Parquet files, one for each split."""
    features = datasets.Features.from_arrow_schema(DIALOGUE_COLUMNS)
    splits, download_size = datasets.SplitDict(), 0
    for split in release.splits(config):
        file = folder / "data" / config / f"{split}-00000-of-00001.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = size = 0
        tables = (table for _, table in row_tables(release, split, config))
        with pq.ParquetWriter(file, features.arrow_schema, **_PARQUET) as writer:
            for group in in_groups(tables, len, ROWS_PER_GROUP):
                writer.write_table(group, row_group_size=ROWS_PER_GROUP)
                rows, size = rows + len(group), size + group.nbytes
        splits.add(datasets.SplitInfo(name=split, num_bytes=size, num_examples=rows))
        download_size += file.stat().st_size
    return datasets.DatasetInfo(
        features=features,
        splits=splits,
        download_size=download_size,
        dataset_size=sum(info.num_bytes for info in splits.values()),
        config_name=config,
    )
