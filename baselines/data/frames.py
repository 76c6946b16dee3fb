"""Frame rows for training, model selection and prediction, and which columns a tracker sees.

This is the only place that decides which columns reach a tracker. It guards against three leaks:
gold states in prediction, system dialogue acts in a tracker that does not declare to read them, and
evaluation schemas in training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset, DatasetInfo, Features, Value, concatenate_datasets

from sgdx_dataset import SgdxError, frames, load, open_release
from sgdx_dataset.rewording.leaks import Leak, copied_variants, find_leak

from ..system import Predictions, System, model_provenance
from ..training.settings import Settings
from ..training.task import Provenance
from .augment import RowsOf, augmented

IDENTITY = ("frame_id", "variant", "dialogue_id", "turn", "service")  # visible to every tracker
SYSTEM_ACTS = "system_acts"  # the dialogue acts of the system turns, which are part of the history
INPUTS = ("history", "utterance", "schema", SYSTEM_ACTS)  # what a tracker may declare to read
GOLD = ("active_intent", "requested_slots", "slot_values", "slots")  # visible in training only
_TEXT_FIELDS = {"speaker": pa.string(), "utterance": pa.string()}  # of a turn without its acts


def input_columns(rows: Dataset, reads: Sequence[str]) -> Dataset:
    """Frame rows with only the columns that identify a frame and those that a tracker reads."""
    return _selected(rows, reads, ())


def track(tracker: System, rows: Dataset, chunks: Path) -> Predictions:
    """Predict with a tracker, which gets only the columns that it declares to read."""
    return tracker.predict(input_columns(rows, tracker.READS), chunks)


def training_columns(rows: Dataset, reads: Sequence[str]) -> Dataset:
    """Like ``input_columns``, with the gold state besides: for training, never for prediction."""
    return _selected(rows, reads, GOLD)


def _selected(rows: Dataset, reads: Sequence[str], gold: Sequence[str]) -> Dataset:
    if wrong := [name for name in reads if name not in INPUTS]:
        raise SgdxError(
            f"a tracker asks to read {', '.join(wrong)}, expected only {', '.join(INPUTS)}"
        )
    columns = [*IDENTITY, *(name for name in reads if name != SYSTEM_ACTS), *gold]
    rows = rows.select_columns(columns)
    return rows if SYSTEM_ACTS in reads or "history" not in reads else _without_acts(rows)


def _without_acts(rows: Dataset) -> Dataset:
    """The rows with a history of speakers and utterances alone; no text is copied for it."""
    table: pa.Table = rows.with_format("arrow")[:].replace_schema_metadata(None)
    index = table.schema.get_field_index("history")
    column = pa.chunked_array(
        [_text_histories(chunk) for chunk in table["history"].chunks],
        pa.list_(pa.struct(list(_TEXT_FIELDS.items()))),
    )
    turn = {"speaker": Value("string"), "utterance": Value("string")}
    features = Features({**rows.features, "history": [turn]})
    fingerprint = hashlib.sha256(f"{rows._fingerprint} without acts".encode()).hexdigest()[:16]
    return Dataset(
        table.set_column(index, "history", column),
        DatasetInfo(features=features),
        fingerprint=fingerprint,
    )


def _text_histories(histories: pa.ListArray) -> pa.ListArray:
    """Histories whose turns have the fields of ``_TEXT_FIELDS`` only."""
    turns = histories.flatten()
    # `flatten` drops the offsets of a sliced array, so they are computed again from the lengths.
    columns = [pc.struct_field(turns, name) for name in _TEXT_FIELDS]
    lengths = np.concatenate([[0], np.cumsum(histories.value_lengths().to_numpy())])
    texts = pa.StructArray.from_arrays(columns, list(_TEXT_FIELDS))
    return pa.ListArray.from_arrays(pa.array(lengths, pa.int32()), texts)


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
    start = starting_provenance(settings, oracle)
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
    if start is not None:
        provenance = provenance.continued_from(start)
    return Training(random_dialogues(rows, settings), provenance)


def starting_provenance(settings: Settings, oracle: bool) -> Provenance | None:
    """The provenance of the model that a recipe starts from; None if it has seen no SGD."""
    if settings.model == "tiny":
        return None
    try:
        start = model_provenance(settings.model, getattr(settings, "revision", None))
    except SgdxError as error:
        reason = str(error).removeprefix(f"{settings.model}: ")
        raise SgdxError(f"{settings.model}: model cannot be loaded: {reason}") from None
    if start is not None and start.oracle and not oracle:
        raise SgdxError(_leak_message(f"model: {settings.model} was trained on", start.overlaps))
    return start


def original_leak(source: str | None, oracle: bool) -> Leak:
    """What the original train schemas of a source have in common with v1..v5."""
    release = open_release(source)
    leak = find_leak(release, {"original": release.schema("train", "original")})
    if leak.oracle and not oracle:
        raise SgdxError(_leak_message(f"{release.name}: train/schema.json has", leak.overlaps))
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


def frame_rows(dialogues: Dataset, split: str, source: str | None) -> Dataset:
    """The frame rows of dialogue rows; a ``RowsOf``, which does not need the last two arguments."""
    return frames(dialogues)


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
