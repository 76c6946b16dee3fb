"""A recipe may learn from some of the train dialogues."""

from __future__ import annotations

import msgspec
import pytest
from datasets import concatenate_datasets

from baselines.data.frames import random_dialogues
from baselines.training.settings import Settings
from sgdx_dataset import SgdxError, frames, load

RECIPE = Settings(
    tracker="sgp_dst", model="tiny", steps=1, batch_size=1, token_budget=1, optimizer="adamw",
    learning_rate=0.1, save_every=1, evaluate_every=1, train_dialogues=7, seed=3,
)  # fmt: skip


def test_the_same_dialogues_are_drawn_under_all_schemas() -> None:
    parts = [frames(load(config, "validation", "sample")) for config in ("original", "v1")]
    rows = concatenate_datasets(parts)
    some = random_dialogues(rows, RECIPE)
    drawn = {
        variant: {d for v, d in zip(some["variant"], some["dialogue_id"]) if v == variant}
        for variant in ("original", "v1")
    }
    assert len(drawn["original"]) == 7
    assert drawn["original"] == drawn["v1"]
    whole = list(zip(rows["variant"], rows["dialogue_id"], rows["frame_id"]))
    kept = list(zip(some["variant"], some["dialogue_id"], some["frame_id"]))
    assert kept == [row for row in whole if row[1] in drawn["original"]]  # whole and in order
    other = random_dialogues(rows, msgspec.structs.replace(RECIPE, seed=4))
    assert set(other["dialogue_id"]) != drawn["original"]
    everything = msgspec.structs.replace(RECIPE, train_dialogues=None)
    assert len(random_dialogues(rows, everything)) == len(rows)


def test_there_are_not_so_many() -> None:
    rows = frames(load("original", "validation", "sample"))
    many = msgspec.structs.replace(RECIPE, train_dialogues=10**6)
    with pytest.raises(
        SgdxError, match="train_dialogues: 1000000, found [0-9]+ dialogues in train"
    ):
        random_dialogues(rows, many)
