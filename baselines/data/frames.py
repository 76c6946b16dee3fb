"""Frame rows to train and to choose a model by; the guard between training and the variants."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from datasets import Dataset, concatenate_datasets

from sgdx_dataset import SgdxError, frames, load

from .augment import augmented
from .config import Augment, Settings

# Nothing else of a frame row is decoded to predict: the gold state is out of a tracker's reach.
INPUTS = ["frame_id", "variant", "history", "utterance", "schema"]
GOLD = ["active_intent", "requested_slots", "slot_values"]


class TrainedOn(msgspec.Struct, frozen=True, kw_only=True):
    """What a model has seen; it stands in every artefact made with it."""

    train: tuple[str, ...] = ("original",)  # schema variants
    augment: Augment | None = None
    schemas: str = ""  # a digest of the augmentation's schemas
    overlaps: int = 0  # texts of the schemas that v1..v5 have too and the original lacks
    oracle: bool = False  # whether it saw schemas that it is judged on
    seed: int = 0


@dataclass(frozen=True)
class Training:
    """Frame rows to train on, and what a model sees in them."""

    rows: Dataset
    seen: TrainedOn


def training_frames(settings: Settings, source: str | None, oracle: bool) -> Training:
    """The train split's frame rows under the original schemas, then under the augmentation's.

    A dialogue is there once under each; rows are read from disk, whatever their number.

    Args:
        settings: ``augment`` and ``seed`` of them.
        source: As of ``sgdx_dataset.load``.
        oracle: Whether schemas that trackers are judged on are allowed.

    Raises:
        SgdxError: Such schemas are among them without ``oracle``; or as ``augmented``.
    """
    rows = frames(load("original", "train", source))
    seen = TrainedOn(augment=settings.augment, seed=settings.seed)
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
