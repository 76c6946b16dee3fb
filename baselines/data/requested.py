"""The dialogues that a command is asked to predict, and their rows under any wording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from sgdx_dataset import VARIANTS, SgdxError, frames, load, open_release
from sgdx_dataset.release.release import Release
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_metric.signature import dialogues_mark
from sgdx_metric.variants import fingerprint, schema_digest

from .augment import RowsOf

DEFAULT_CONFIGS = ("original", *VARIANTS)  # the wordings of SGD-X, which the demos predict


@dataclass(frozen=True)
class RequestedData:
    """The dialogues to predict."""

    source: str | None  # where SGD is, as for ``sgdx_dataset.load``
    split: str  # ``train``, ``validation`` or ``test``
    variants: Mapping[str, str] = field(default_factory=dict)  # the user's own, as for ``load``
    dialogues: Path | None = None  # file with the ids of those to predict; None for the split

    @cached_property
    def release(self) -> Release:
        """The source, opened once."""
        return open_release(self.source, self.variants)

    def rows(self, config: str, rows_of: RowsOf) -> Dataset:
        """The rows under a schema variant."""
        dialogues = load(config, self.split, self.source, self.variants)
        if self.dialogues is not None:
            dialogues = dialogues.select(_places(dialogues, self.dialogues, self.split))
        return rows_of(dialogues, self.split, self.source)

    def facts(self, config: str) -> dict[str, Any]:
        """What the header of a schema variant's prediction file says about the data."""
        # The source is named without its folders, which are nobody else's business.
        facts = {"source": self.release.public_name, "split": self.split}
        if self.dialogues is not None:
            facts["dialogues"] = dialogues_mark(read_dialogue_ids(self.dialogues, self.split))
        facts["data"] = self.release.data_digest(self.split, config)
        if config in self.variants:
            rows = frames(load(config, self.split, self.source, self.variants))
            _, first = np.unique(rows["service"], return_index=True)
            schemas = rows.select_columns(["schema"]).select(first)
            facts["wording"] = fingerprint(schema_digest(row["schema"]) for row in schemas)
        return facts


def _places(dialogues: Dataset, path: Path, split: str) -> list[int]:
    """The indices of the dialogues of a split that a file names."""
    requested = set(read_dialogue_ids(path, split))
    dialogue_ids = list(dialogues["dialogue_id"])
    places = [index for index, name in enumerate(dialogue_ids) if name in requested]
    lacking = sorted(requested - set(dialogue_ids))
    if lacking:
        raise SgdxError(
            f"{path}: {len(lacking)} of {len(requested)} dialogues are not in the split, the first "
            f"is {lacking[0]}; is the list for another split?"
        )
    return places
