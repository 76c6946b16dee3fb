"""Building a dataset repository for the Hugging Face Hub: Parquet files and a dataset card."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

from .card import FILE, corpus_of, write_card, write_leaderboards
from .columns import DIALOGUE_COLUMNS, FRAME_COLUMNS, VERSION
from .io.progress import progress
from .options import UploadOptions
from .push import Place, check_upload, publish
from .questions import FRAME_COLUMNS_READ, QUESTION_COLUMNS, question_table
from .release import Release
from .rows import in_groups, row_tables, split_rows, steps

# Rows in a row group, or a few more: some 20 MB of Arrow data, so that a stream's first row comes
# quickly.
DIALOGUES_PER_GROUP, FRAMES_PER_GROUP = 2000, 8000
_PARQUET: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 9,  # a tenth smaller than the default, and writing is not the bottleneck
    "dictionary_pagesize_limit": 1 << 16,  # give up early on utterances, which hardly repeat
    # Pages end where the content says so, so that the Hub stores once what the variants share, and
    # can read a page alone.
    "use_content_defined_chunking": True,
    "write_page_index": True,
}


def push(opened: Callable[[], Release], repo_id: str, options: UploadOptions) -> str | Path:
    """Build a dataset repository and upload it to the Hub as the user who is logged in.

    It has all configs of the release. ``v3`` has dialogues, ``v3-frames`` frame rows, and
    ``v3-questions`` those of the test split as questions in plain text. Each is
    ``data/CONFIG/SPLIT-00000-of-00001.parquet``. With an output, it is written there instead.
    The release is opened, or downloaded, once the Hub can take it.
    """
    place = Place(repo_id, "dataset", "dataset", options, tag=f"v{VERSION}")
    if options.output is None:
        check_upload(place)
    release = opened()
    release.check_dialogues("original")
    message = f"{corpus_of(release).name.partition(':')[0]}, version {VERSION}"
    return publish(lambda folder: _write(release, folder, repo_id), place, message)


def _write(release: Release, folder: Path, repo_id: str) -> None:
    """Write the files of a dataset repository."""
    configs = release.configs()
    tested = [config for config in configs if "test" in release.splits(config)]
    total = 2 * steps(release, configs) + steps(release, tested, ["test"])
    infos = {}
    try:
        with progress("Building", total):
            for config in configs:
                tables = {
                    split: (table for _, table in row_tables(release, split, config))
                    for split in release.splits(config)
                }
                infos[config] = _write_config(
                    folder, config, DIALOGUE_COLUMNS, tables, DIALOGUES_PER_GROUP
                )
            split_rows.cache_clear()  # of the dialogues, before that of the frames fills
            for config in configs:
                tables = {
                    split: (table for _, table in row_tables(release, split, config, "frames"))
                    for split in release.splits(config)
                }
                name = f"{config}-frames"
                infos[name] = _write_config(folder, name, FRAME_COLUMNS, tables, FRAMES_PER_GROUP)
            for config in tested:
                frames = row_tables(release, "test", config, "frames", FRAME_COLUMNS_READ)
                tables = {"test": (question_table(table) for _, table in frames)}
                name = f"{config}-questions"
                infos[name] = _write_config(
                    folder, name, QUESTION_COLUMNS, tables, FRAMES_PER_GROUP
                )
            write_card(release, folder, infos, repo_id)
            write_leaderboards(release, tested, folder)
    finally:
        split_rows.cache_clear()


def _write_config(
    folder: Path,
    config: str,
    columns: pa.Schema,
    tables: Mapping[str, Iterable[pa.Table]],
    rows_per_group: int,
) -> datasets.DatasetInfo:
    """Write a config's Parquet files, one for each split, of the tables of its rows."""
    features = datasets.Features.from_arrow_schema(columns)
    splits, download_size = datasets.SplitDict(), 0
    for split, parts in tables.items():
        file = folder / "data" / config / f"{split}{FILE}"
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = size = 0
        with pq.ParquetWriter(file, features.arrow_schema, **_PARQUET) as writer:
            for group in in_groups(parts, len, rows_per_group):
                writer.write_table(group, row_group_size=rows_per_group)
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
