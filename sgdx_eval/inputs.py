"""What is scored against what, and how: what the options of `score` and `explain` say."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_metric.signature import OFFICIAL, Rules, dialogues_mark
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .predictions import Predictions, prediction_paths
from .references import References


@dataclass(frozen=True)
class Inputs:
    """What is scored against what, and how."""

    # Prediction files by variant, or one folder that has them.
    predictions: Mapping[str, Path] | Path
    split: str = "test"
    # Where the references come from, as `sgdx_dataset.open_release` takes it, or a folder of
    # VARIANT.parquet instead.
    source: str | None = None
    references: Path | None = None
    # Schema variants of the user's own, as paths by name.
    own_variants: Mapping[str, str] | None = None
    # A file with the ids of the dialogues to score; None for those that the predictions name.
    dialogues: Path | None = None
    # How many of these, the first ones of the references, are scored; None for all.
    limit: int | None = None
    # The original names of the services to score; none for all.
    services: Sequence[str] = ()
    rules: Rules = OFFICIAL
    # Whether the tracker was given the system's dialogue acts: "yes", "no" or None for unknown.
    acts: str | None = None

    def prediction_paths(self) -> dict[str, Path]:
        """The prediction files by variant."""
        if self.references and (self.source or self.own_variants):
            raise SgdxError(
                f"--references {self.references}: found --source or --variant too, expected one "
                "way to have the references"
            )
        return prediction_paths(self.predictions, self.variants())

    def variants(self) -> list[str]:
        """The variants whose words are known."""
        variants = [ORIGINAL, *PAPER_VARIANTS, *(self.own_variants or {})]
        if self.references:
            files = self.references.glob("*.parquet")
            variants += sorted({file.stem for file in files} - {*variants})
        return variants

    def chosen(
        self, predictions: Mapping[str, Predictions], references: References, variant: str
    ) -> list[str]:
        """The ids of the dialogues to score, each once: those of the file, or those stated."""
        if self.dialogues:
            return read_dialogue_ids(self.dialogues, self.split)
        headers = {name: of_variant.header for name, of_variant in predictions.items()}
        stated = {name: h.dialogues for name, h in headers.items() if h.dialogues is not None}
        ids: list[str] = []
        for name, mark in stated.items():
            ids = sorted(_dialogue_ids(predictions[name].rows))
            if mark != dialogues_mark(ids):
                raise SgdxError(
                    f"predictions for {name}: found rows of the dialogues {dialogues_mark(ids)}, "
                    f"expected {mark} as their first line says (how many @ a digest of the ids); "
                    "name the dialogues to score with --dialogues FILE"
                )
        if len(set(stated.values())) > 1:
            marks = ", ".join(f"{mark} for {name}" for name, mark in stated.items())
            raise SgdxError(
                f"predictions: found other dialogues for each variant ({marks}), expected "
                "the same; name the dialogues to score with --dialogues FILE"
            )
        if self.limit:
            known = _dialogue_ids(references.rows(variant))
            ids = [name for name in known if name in ids or not ids][: self.limit]
        return ids


def _dialogue_ids(rows: pa.Table) -> list[str]:
    """The dialogues of frames or turns, each once, in the order of the rows."""
    # A frame's id ends in /TURN/SERVICE, and a turn's in /TURN.
    column, levels = ("frame_id", 2) if "frame_id" in rows.column_names else ("turn_id", 1)
    ids = dict.fromkeys(item.rsplit("/", levels)[0] for item in rows[column].to_pylist())
    return list(ids)


def check_services(chosen: Sequence[str], services: Iterable[str]) -> None:
    """Refuse services that are none of those."""
    known = sorted({*services})
    if lacking := sorted({*chosen} - {*known}):
        raise SgdxError(
            f"--service {lacking[0]}: found nothing of it, expected one of {', '.join(known)}"
        )


def note_subset(dialogues: int, available: int) -> None:
    """Say on standard error that only the dialogues that the predictions name are looked at."""
    print(
        f"note: only the {dialogues} of {available} dialogues that the predictions name are used; "
        "to choose others, give --dialogues FILE",
        file=sys.stderr,
    )
