"""The dialogues that a command is asked to predict, and their rows under any variant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from sgdx_dataset import VARIANTS, frames, load, open_release
from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.release import Release
from sgdx_dataset.subset import check_dialogue_ids, read_dialogue_ids
from sgdx_metric.signature import dialogues_mark
from sgdx_metric.variants import fingerprint, schema_digest

# Makes the rows that a system reads, given dialogue rows, their split, and where SGD is.
RowsOf = Callable[[Dataset, str, str | None], Dataset]
DEFAULT_CONFIGS = ("original", *VARIANTS)  # the variants of SGD-X, which the demos predict


@dataclass(frozen=True)
class RequestedData:
    """The dialogues to predict."""

    source: str | None  # where SGD is, as for ``sgdx_dataset.load``
    split: str  # ``train``, ``validation`` or ``test``
    variants: Mapping[str, str] = field(default_factory=dict)  # the user's own, as for ``load``
    dialogues: Path | None = None  # file with the ids of those to predict; None for the split
    limit: int | None = None  # predict only so many, the first of the split; None for no limit

    @cached_property
    def release(self) -> Release:
        """The source, opened once."""
        return open_release(self.source, self.variants)

    @cached_property
    def ids(self) -> list[str] | None:
        """The ids of the dialogues that are chosen; None for all."""
        ids = read_dialogue_ids(self.dialogues, self.split) if self.dialogues else None
        if self.limit is None:
            return ids
        variant = next(iter(self.release.scored_variants()))
        of_split = load(variant, self.split, self.source, self.variants)["dialogue_id"]
        return [name for name in of_split if ids is None or name in ids][: self.limit]

    def check(self, configs: Sequence[str]) -> None:
        """Refuse variants and dialogues that the source lacks."""
        for config in configs:
            self.release.check_dialogues(config, self.split)
        if self.dialogues:
            ids = read_dialogue_ids(self.dialogues, self.split)
            check_dialogue_ids(self.release, self.split, ids, str(self.dialogues))

    def rows(self, config: str, rows_of: RowsOf) -> Dataset:
        """The rows under a schema variant."""
        dialogues = load(config, self.split, self.source, self.variants)
        if self.ids is not None:
            chosen = set(self.ids)
            names = enumerate(dialogues["dialogue_id"])
            dialogues = dialogues.select([place for place, name in names if name in chosen])
        rows = rows_of(dialogues, self.split, self.source)
        if not len(rows):
            found = f"found no labels of the split {self.split}, expected some"
            raise SgdxError(f"{self.release.public_name}: {found}; 'sgdx track' needs none")
        return rows

    def facts(self, config: str) -> dict[str, Any]:
        """What the header of a schema variant's prediction file says about the data."""
        # The source is named without its folders, which are nobody else's business.
        facts = {"source": self.release.public_name, "split": self.split}
        if self.ids is not None:
            facts["dialogues"] = dialogues_mark(self.ids)
        facts["data"] = self.release.data_digest(self.split, config)
        if config in self.variants:
            rows = frames(load(config, self.split, self.source, self.variants))
            _, first = np.unique(rows["service"], return_index=True)
            schemas = rows.select_columns(["schema"]).select(first)
            facts["words"] = fingerprint(schema_digest(row["schema"]) for row in schemas)
        return facts


def frame_rows(dialogues: Dataset, split: str, source: str | None) -> Dataset:
    """The frame rows of dialogue rows; a ``RowsOf``, which does not need the last two arguments."""
    return frames(dialogues)
