"""Frame rows for training and model selection; here evaluation schemas are kept out of training."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from datasets import Dataset, concatenate_datasets

from sgdx_dataset import SgdxError, frames, load, open_release
from sgdx_dataset.rewording.leaks import (
    Leak,
    copied_dialogues,
    copied_variants,
    find_leak,
    judging_words,
)
from sgdx_dataset.tracker_inputs import input_columns
from sgdx_eval.requested import RowsOf, frame_rows

from ..system import Predictions, System, model_provenance
from ..training.settings import Settings
from ..training.task import Provenance
from .augment import augmented, second_corpus


def track(tracker: System, rows: Dataset, chunks: Path) -> Predictions:
    """Predict with a tracker, which gets only the columns that it declares to read."""
    return checked(tracker, tracker.predict(input_columns(rows, tracker.READS), chunks))


def checked(system: System, predictions: Any) -> Predictions:
    """What a system has predicted, which may be somebody else's."""
    if not isinstance(predictions, Predictions):
        found = type(predictions).__name__
        raise SgdxError(f"{system.NAME}: predict returns {found}, expected baselines Predictions")
    return predictions


@dataclass(frozen=True)
class Training:
    """What a model is trained on."""

    rows: Dataset  # frame rows, or a generator's turn rows, with all columns
    provenance: Provenance  # of a model that is trained on them


def training_frames(settings: Settings, source: str | None, oracle: bool) -> Training:
    """Frame rows of the train split under the original schemas, then under the augmentation's."""
    return training_rows(settings, source, oracle, frame_rows)


def training_rows(
    settings: Settings, source: str | None, oracle: bool, rows_of: RowsOf
) -> Training:
    """Rows of the train split under the original schemas, then under the augmentation's."""
    # With ``train_dialogues``, only some dialogues are taken, the same ones under all schemas.
    starts = starting_provenances(settings, oracle)
    source_leak = original_leak(source, oracle)
    rows = rows_of(load("original", "train", source), "train", source)
    provenance = Provenance(
        tracker=settings.tracker,
        augment=settings.augment,
        overlaps=source_leak.overlaps,
        oracle=source_leak.oracle,
        seed=settings.seed,
    )
    if settings.augment is not None:
        more_rows, digest, more = augmented(settings.augment, source, rows_of)
        if more.oracle and not oracle:
            raise SgdxError(
                _leak_message(f"augment: {settings.augment.schemas} has", more.overlaps)
            )
        provenance = msgspec.structs.replace(
            provenance,
            train=("original", *more_rows.unique("variant")),
            schemas=digest,
            overlaps=source_leak.overlaps + more.overlaps,
            oracle=source_leak.oracle or more.oracle,
        )
        rows = concatenate_datasets([rows, more_rows])
    rows = random_dialogues(rows, settings)
    if settings.also is not None:
        second_rows, second = second_corpus(
            settings.also, source, len(rows), settings.seed, rows_of
        )
        if second.oracle and not oracle:
            raise SgdxError(_leak_message(f"also: {settings.also.source} has", second.overlaps))
        provenance = msgspec.structs.replace(
            provenance,
            also=settings.also,
            overlaps=provenance.overlaps + second.overlaps,
            oracle=provenance.oracle or second.oracle,
        )
        rows = concatenate_datasets([rows, second_rows])
    for start in starts:
        provenance = provenance.continued_from(start)
    return Training(rows, provenance)


def starting_provenances(settings: Settings, oracle: bool) -> list[Provenance]:
    """The provenances of the models that a recipe starts from, of those that have seen SGD."""
    names = (settings.model, *getattr(settings, "average", ()))
    starts = []
    for name in [name for name in names if name != "tiny"]:
        try:
            start = model_provenance(name, getattr(settings, "revision", None))
        except SgdxError as error:
            reason = str(error).removeprefix(f"{name}: ")
            raise SgdxError(f"{name}: model cannot be loaded: {reason}") from None
        if start is not None:
            if start.oracle and not oracle:
                raise SgdxError(_leak_message(f"model: {name} was trained on", start.overlaps))
            starts.append(start)
    return starts


def original_leak(source: str | None, oracle: bool) -> Leak:
    """What the train and dev splits of a source have in common with what models are judged on."""
    release = open_release(source)
    words, leak = judging_words(release), Leak(0, False)
    for split in ("train", "validation"):  # a model is chosen on dev
        if split in release.schema_splits("original"):
            found = find_leak({"original": release.schema(split, "original")}, words)
            if found.oracle and not oracle:
                culprit = f"{release.name}: {release.schema_file(split, 'original')} has"
                raise SgdxError(_leak_message(culprit, found.overlaps))
            overlaps = found.overlaps if split == "train" else 0
            leak = Leak(leak.overlaps + overlaps, leak.oracle or found.oracle)
    if copied := copied_dialogues(release, release):
        if not oracle:
            counts = ", ".join(f"{split} {count}" for split, count in copied.items())
            raise SgdxError(
                f"{release.name}: dialogues of test are in other splits ({counts}), expected none; "
                "for an upper bound that sees them, and says so, give --oracle"
            )
        leak = Leak(leak.overlaps, True)
    copies = copied_variants(release)
    if copies and not oracle:
        raise SgdxError(
            f"{release.name}: {', '.join(copies)} have the original schemas' texts, expected other "
            "words, because otherwise they measure no robustness; to train anyway, as an upper "
            "bound that every file states, give --oracle"
        )
    return Leak(leak.overlaps, leak.oracle or bool(copies))


def _leak_message(culprit: str, overlaps: int) -> str:
    return (
        f"{culprit} texts of variants that trackers are judged on ({overlaps}), expected none; for "
        "an upper bound that sees them, and says so, give --oracle"
    )


def random_dialogues(rows: Dataset, settings: Settings) -> Dataset:
    """The rows of as many random dialogues as the recipe asks for; they stay in order."""
    if settings.train_dialogues is None:
        return rows
    names = rows["dialogue_id"][:]
    dialogues = sorted(set(names))
    if len(dialogues) < settings.train_dialogues:
        raise SgdxError(
            f"train_dialogues: {settings.train_dialogues}, found {len(dialogues)} dialogues in "
            "train, expected at least as many"
        )
    order = np.random.default_rng(settings.seed).permutation(len(dialogues))
    drawn = {dialogues[number] for number in order[: settings.train_dialogues].tolist()}
    return rows.select([index for index, name in enumerate(names) if name in drawn])


def dev_frames(source: str | None) -> Dataset:
    """Frame rows of the dev split under the original schemas."""
    return frames(load("original", "validation", source))


def evenly_spaced(rows: Dataset, count: int) -> Dataset:
    """Select ``count`` evenly spaced frame rows, or all if there are fewer."""
    count = min(count, len(rows))
    return rows.select([len(rows) * i // count for i in range(count)])


def whole_dialogues(rows: Dataset, count: int) -> Dataset:
    """Select evenly spaced dialogues that have about ``count`` frame rows together."""
    ids = np.array(rows["dialogue_id"][:])
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    size = min(len(starts), max(1, round(len(starts) * count / len(rows))))
    picked = starts[np.arange(size) * len(starts) // size]
    return rows.select(np.flatnonzero(np.isin(ids, ids[picked])))


def describe(rows: Dataset) -> dict[str, Any]:
    """The number of frames and a SHA-256 of their identities, for the record of a run."""
    names = "\n".join(f"{v} {i}" for v, i in zip(rows["variant"][:], rows["frame_id"][:]))
    return {"frames": len(rows), "sha256": hashlib.sha256(names.encode()).hexdigest()}
