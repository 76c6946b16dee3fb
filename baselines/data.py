"""Frame rows to train and to choose a model by; the guard between training and the variants."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from datasets import Dataset, concatenate_datasets

from sgdx_dataset import VARIANTS, SgdxError, frames, load

# Nothing else of a frame row is decoded to predict: the gold state is out of a tracker's reach.
INPUTS = ["frame_id", "variant", "history", "utterance", "schema"]
GOLD = ["active_intent", "requested_slots", "slot_values"]


def is_oracle(configs: Sequence[str]) -> bool:
    """Whether a training on these configs sees the schemas that it is judged on."""
    return not set(configs).isdisjoint(VARIANTS)


def training_frames(configs: Sequence[str], source: str | None, oracle: bool) -> Dataset:
    """The train split's frame rows under each config, one config after the other.

    Raises:
        SgdxError: A variant is among them without ``oracle``; a config is unknown; the source is at
            fault.
    """
    if is_oracle(configs) and not oracle:
        raise SgdxError(
            f"train: {', '.join(configs)} has variants that trackers are judged on, expected "
            "original or backtrans; for an upper bound that sees them, and says so, give --oracle"
        )
    return concatenate_datasets([frames(load(config, "train", source)) for config in configs])


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
