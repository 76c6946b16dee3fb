"""What is scored against what: the paths that `score`, `calls` and `explain` are given."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sgdx_dataset.io.errors import SgdxError
from sgdx_dataset.subset import read_dialogue_ids
from sgdx_metric.rows import REFERENCE
from sgdx_metric.subset import dialogues_mark
from sgdx_metric.variants import ORIGINAL, PAPER_VARIANTS

from .predictions import Predictions, Rows, note_unscored, prediction_paths
from .references import References, open_references


@dataclass(frozen=True)
class Inputs:
    """What is scored against what.

    Attributes:
        predictions: Prediction files by variant, or one folder that has them.
        split: "train", "validation" or "test".
        source: Where the references come from, as `sgdx_dataset.open_release` takes it.
        references: Instead of a source, a folder of `VARIANT.parquet`; None for none.
        own_variants: Schema variants of the user's own, as paths by name.
        dialogues: A file with the ids of the dialogues to score; None for those that the
            predictions say they are of.
        services: The original names of the services to score; none for all.
        without_errata: Whether to leave out the slots of frames whose annotations in SGD contradict
            each other.
    """

    predictions: Mapping[str, Path] | Path
    split: str
    source: str | None
    references: Path | None
    own_variants: Mapping[str, str]
    dialogues: Path | None = None
    services: Sequence[str] = ()
    without_errata: bool = False

    def prediction_paths(self) -> dict[str, Path]:
        """The prediction files by variant.

        Raises:
            SgdxError: The references are given twice, or a file is missing.
        """
        if self.references and (self.source or self.own_variants):
            raise SgdxError(
                f"--references {self.references}: found --source or --variant too, expected one "
                "way to have the references"
            )
        return prediction_paths(self.predictions, self._variants())

    def _variants(self) -> list[str]:
        """The variants whose wordings are known."""
        variants = [ORIGINAL, *PAPER_VARIANTS, *self.own_variants]
        if self.references:
            files = self.references.glob("*.parquet")
            variants += sorted({file.stem for file in files} - {*variants})
        return variants

    def read(
        self, read_file: Callable[[Path, str, str], Predictions[pa.Table]]
    ) -> dict[str, Predictions[pa.Table]]:
        """The predictions by variant.

        Args:
            read_file: Reads a prediction file, given its path, the split and the variant.

        Raises:
            SgdxError: A file is missing or malformed.
        """
        paths = self.prediction_paths()
        note_unscored(self.predictions, self._variants())
        return {name: read_file(path, self.split, name) for name, path in paths.items()}

    def named_dialogues(self) -> list[str]:
        """The ids of the dialogues in the file of `dialogues`, each once; none without a file.

        Raises:
            SgdxError: The file cannot be read.
        """
        return read_dialogue_ids(self.dialogues, self.split) if self.dialogues else []

    def name_of_dialogues(self, variant: str) -> str:
        """Where the ids of the dialogues to score are from, for an error message."""
        return str(self.dialogues or f"predictions for {variant}")

    def files(self) -> list[Path]:
        """Every file and folder that is read."""
        predictions = self.prediction_paths()
        paths = [*predictions.values(), *map(Path, self.own_variants.values())]
        if self.references:
            paths += [self.references / f"{variant}.parquet" for variant in predictions]
        elif source := self.source or os.environ.get("SGDX_SOURCE"):
            paths.append(Path(source))
        return paths + ([self.dialogues] if self.dialogues else [])

    def open_references(
        self, predictions: Mapping[str, Predictions[pa.Table]], columns: pa.Schema = REFERENCE
    ) -> References:
        """Open the references of the variants that are predicted.

        Args:
            predictions: The predictions, which may say what source they were made from.
            columns: The columns that frame rows are to have.

        Raises:
            ScoreError, SgdxError: They cannot be opened.
        """
        if self.references:
            from .reference_folder import open_folder  # Parquet takes a while to import.

            return open_folder(self.references, predictions, columns, self.split)
        stated = {
            name: (variant.header.source, variant.header.data)
            for name, variant in predictions.items()
        }
        return open_references(self.source, self.split, self.own_variants, columns, stated)


def stated_dialogues(
    predictions: Mapping[str, Predictions[Rows]], dialogues_of: Callable[[Rows], Collection[str]]
) -> list[str]:
    """The dialogues that predictions say they are of.

    Args:
        predictions: The predictions by variant.
        dialogues_of: Finds the ids of the dialogues that rows are of.

    Returns:
        The ids of the dialogues, each once; none where the predictions do not name a subset.

    Raises:
        SgdxError: The predictions state other dialogues than those that they have, or not all the
            same.
    """
    stated = {
        name: of_variant.header.dialogues
        for name, of_variant in predictions.items()
        if of_variant.header.dialogues is not None
    }
    ids: list[str] = []
    for name, mark in stated.items():
        ids = sorted(dialogues_of(predictions[name].rows))
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
    return ids
