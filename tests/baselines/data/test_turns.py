"""What models are trained on: turns and some of the dialogues, under which schemas."""

from __future__ import annotations

import msgspec
import pytest
from datasets import Dataset, concatenate_datasets

from baselines.data.rows import random_dialogues, turn_rows
from baselines.settings import TrainingSettings
from sgdx_dataset import SgdxError, frames, load


@pytest.fixture(scope="module")
def rows() -> Dataset:
    return turn_rows(load("v2", "test", "sample"), "test", "sample")


def test_the_original_names_have_the_same_acts_and_values(rows: Dataset) -> None:
    original = turn_rows(load("original", "test", "sample"), "test", "sample")
    by_id = {row["turn_id"]: row for row in original.remove_columns("schemas")}
    renamed = 0
    for row in rows.remove_columns("schemas"):
        assert row["original_actions"] == by_id[row["turn_id"]]["actions"]
        assert row["original_intent"] == by_id[row["turn_id"]]["intent"]
        assert row["dialogue_id"] == row["turn_id"].rpartition("/")[0]
        for own, first in zip(row["actions"], row["original_actions"], strict=True):
            assert own["act"] == first["act"]
            renamed += own["slot"] != first["slot"]
    assert renamed > 50
    assert original["actions"] == original["original_actions"]


RECIPE = TrainingSettings(
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
