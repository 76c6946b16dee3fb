"""Frame rows to train on, to choose a model by and to track, and what of them a tracker sees.

This is the only place that decides which columns reach a tracker. A leak would be the worst bug:
the gold state in prediction, dialogue acts of the system in a tracker that says it reads none, or
the schemas that trackers are judged on in training.
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

from sgdx_dataset import SgdxError, frames, load

from ..tracker import Predictions, Tracker, TrainedOn
from ..training.settings import Settings
from .augment import augmented

IDENTITY = ("frame_id", "variant", "dialogue_id", "turn", "service")  # every tracker sees these
SYSTEM_ACTS = "system_acts"  # the dialogue acts of the system's turns, inside the history
INPUTS = ("history", "utterance", "schema", SYSTEM_ACTS)  # what a tracker may declare to read
GOLD = ("active_intent", "requested_slots", "slot_values", "slots")  # in training alone


def visible(rows: Dataset, reads: Sequence[str]) -> Dataset:
    """Frame rows with nothing but what tells which frame it is and what a tracker reads.

    Args:
        rows: Frame rows.
        reads: Of ``INPUTS``. Without ``system_acts`` the turns of ``history`` have no ``actions``.

    Raises:
        SgdxError: The tracker asks for something else, such as the gold state.
    """
    return _selected(rows, reads, ())


def track(tracker: Tracker, rows: Dataset, shards: Path) -> Predictions:
    """Have a tracker predict; of the frame rows it gets only what it declares to read.

    Args and result are those of ``Tracker.predict``. Nothing else of the project calls that.
    """
    return tracker.predict(visible(rows, tracker.READS), shards)


def learnable(rows: Dataset, reads: Sequence[str]) -> Dataset:
    """The same with the gold state besides: for training, never for prediction."""
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
    place = table.schema.get_field_index("history")
    column = pa.chunked_array(
        [_said(chunk) for chunk in table["history"].chunks],
        pa.list_(pa.struct(list(_SAID.items()))),
    )
    turn = {"speaker": Value("string"), "utterance": Value("string")}
    features = Features({**rows.features, "history": [turn]})
    fingerprint = hashlib.sha256(f"{rows._fingerprint} without acts".encode()).hexdigest()[:16]
    return Dataset(
        table.set_column(place, "history", column),
        DatasetInfo(features=features),
        fingerprint=fingerprint,
    )


_SAID = {"speaker": pa.string(), "utterance": pa.string()}


def _said(histories: pa.ListArray) -> pa.ListArray:
    turns = histories.flatten()
    columns = [pc.struct_field(turns, name) for name in _SAID]
    lengths = np.concatenate([[0], np.cumsum(histories.value_lengths().to_numpy())])
    said = pa.StructArray.from_arrays(columns, list(_SAID))
    return pa.ListArray.from_arrays(pa.array(lengths, pa.int32()), said)


@dataclass(frozen=True)
class Training:
    """Frame rows to train on, and what a model sees in them."""

    rows: Dataset
    seen: TrainedOn


def training_frames(settings: Settings, source: str | None, oracle: bool) -> Training:
    """The train split's frame rows under the original schemas, then under the augmentation's.

    A dialogue is there once under each; rows are read from disk, whatever their number.

    Args:
        settings: ``tracker``, ``augment`` and ``seed`` of them.
        source: As of ``sgdx_dataset.load``.
        oracle: Whether schemas that trackers are judged on are allowed.

    Raises:
        SgdxError: Such schemas are among them without ``oracle``; or as ``augmented``.
    """
    rows = frames(load("original", "train", source))
    seen = TrainedOn(tracker=settings.tracker, augment=settings.augment, seed=settings.seed)
    if settings.augment is None:
        return Training(rows, seen)
    more = augmented(settings.augment, source)
    if more.oracle and not oracle:
        raise SgdxError(
            f"augment: {settings.augment.schemas} has texts of variants that trackers are judged "
            f"on ({more.overlaps}), expected none; for an upper bound that sees them, and says so, "
            "give --oracle"
        )
    variants = ("original", *more.rows.unique("variant"))
    seen = msgspec.structs.replace(
        seen, train=variants, schemas=more.schemas, overlaps=more.overlaps, oracle=more.oracle
    )
    return Training(concatenate_datasets([rows, more.rows]), seen)


def dev_frames(source: str | None) -> Dataset:
    """Dev's frame rows under the original schemas."""
    return frames(load("original", "validation", source))


def spread(rows: Dataset, count: int) -> Dataset:
    """``count`` frame rows, evenly spread; all if there are fewer."""
    count = min(count, len(rows))
    return rows.select([len(rows) * i // count for i in range(count)])


def whole_dialogues(rows: Dataset, count: int) -> Dataset:
    """Dialogues, evenly spread, with about ``count`` frame rows together; all if there are fewer.

    For trackers that go by a dialogue's turns in order.
    """
    ids = np.array(rows["dialogue_id"])
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    kept = min(len(starts), max(1, round(len(starts) * count / len(rows))))
    picked = starts[np.arange(kept) * len(starts) // kept]
    return rows.select(np.flatnonzero(np.isin(ids, ids[picked])))


def describe(rows: Dataset) -> dict[str, Any]:
    """What a run's record says of its frames: how many, and a digest of which."""
    names = "\n".join(f"{v} {i}" for v, i in zip(rows["variant"], rows["frame_id"]))
    return {"frames": len(rows), "sha256": hashlib.sha256(names.encode()).hexdigest()}
