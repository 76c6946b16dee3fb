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
from sgdx_metric.subset import dialogues_mark
from sgdx_metric.variants import fingerprint, schema_digest

from .augment import RowsOf

DEFAULT_CONFIGS = ("original", *VARIANTS)  # the wordings of SGD-X, which the demos predict


@dataclass(frozen=True)
class RequestedData:
    """The dialogues to predict.

    Attributes:
        source: Where SGD is, as for ``sgdx_dataset.load``.
        split: ``train``, ``validation`` or ``test``.
        variants: The user's own wordings: a folder or a file by name, as for ``sgdx_dataset.load``.
        dialogues: File with the ids of the dialogues to predict; None for the whole split.
    """

    source: str | None
    split: str
    variants: Mapping[str, str] = field(default_factory=dict)
    dialogues: Path | None = None

    @cached_property
    def release(self) -> Release:
        """The source, opened once."""
        return open_release(self.source, self.variants)

    def rows(self, config: str, rows_of: RowsOf) -> Dataset:
        """The rows under a schema variant.

        Args:
            config: Name of the variant, one of SGD-X or of ``variants``.
            rows_of: Makes the rows of the dialogues, such as ``frame_rows``.

        Raises:
            SgdxError: The source, the variant or the file of dialogues cannot be used.
        """
        dialogues = load(config, self.split, self.source, self.variants)
        if self.dialogues is not None:
            dialogues = dialogues.select(_places(dialogues, self.dialogues, self.split))
        return rows_of(dialogues, self.split, self.source)

    def facts(self, config: str) -> dict[str, Any]:
        """What the header of a schema variant's prediction file says about the data.

        ``source`` is the source without its folders, which are nobody else's business, and ``data``
        the digest of all that the rows are made from (``Release.data_digest``). ``dialogues`` is
        present if only some are predicted, and ``wording`` if it is the user's own. They identify
        both as the signature of a score does.
        """
        facts = {"source": self.release.public_name, "split": self.split}
        if self.dialogues is not None:
            facts["dialogues"] = dialogues_mark(read_dialogue_ids(self.dialogues, self.split))
        facts["data"] = self.release.data_digest(self.split, config)
        return facts | self._wording(config)

    def _wording(self, config: str) -> dict[str, str]:
        if config not in self.variants:
            return {}
        rows = frames(load(config, self.split, self.source, self.variants))
        _, first = np.unique(rows["service"], return_index=True)
        schemas = rows.select_columns(["schema"]).select(first)
        return {"wording": fingerprint(schema_digest(row["schema"]) for row in schemas)}


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
