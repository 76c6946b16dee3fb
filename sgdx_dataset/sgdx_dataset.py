"""SGD and SGD-X as a builder of ``datasets``, with a config for each schema variant.

With ``datasets`` < 4 it is a loading script:
``load_dataset("path/to/sgdx_dataset", "v3", data_dir=SOURCE, trust_remote_code=True)``.
``datasets`` runs a copy of this file alone, which imports the rest from the installed package: that
is why the imports below are absolute.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from sgdx_dataset.cache import dataset_info
from sgdx_dataset.columns import VERSION
from sgdx_dataset.configs import CONFIGS
from sgdx_dataset.release import Release, open_release
from sgdx_dataset.rows import row_tables
from sgdx_dataset.source import resolve_source


class SGDX(datasets.ArrowBasedBuilder):  # type: ignore[misc]  # datasets is not typed
    """Dialogues under the schemas of a config, with the schemas joined into each row."""

    BUILDER_CONFIGS: ClassVar = [datasets.BuilderConfig(name=c, version=VERSION) for c in CONFIGS]
    DEFAULT_CONFIG_NAME = "original"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Take what ``DatasetBuilder`` takes, of which ``data_dir`` is the source."""
        # As ``data_dir`` it is part of the cache's folder name, so that sources do not mix.
        if not options.get("data_dir"):
            options["data_dir"] = resolve_source(None)
        super().__init__(*arguments, **options)

    def _info(self) -> datasets.DatasetInfo:
        return dataset_info(self.config.name)

    def _split_generators(
        self, dl_manager: datasets.DownloadManager
    ) -> list[datasets.SplitGenerator]:
        release = open_release(self.config.data_dir)
        self.info.description = dataset_info(self.config.name, release).description
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"release": release, "split": split})
            for split in release.splits(self.config.name)
        ]

    def _generate_tables(
        self, release: Release, split: str
    ) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        for index, (_, table) in enumerate(row_tables(release, split, self.config.name)):
            yield (0, index), table
