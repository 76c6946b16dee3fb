"""Tracking: one pass for all variants; whole epochs; the frozen encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from datasets import Dataset

from baselines.encoders import load_encoder
from baselines.predicting import predict as track
from baselines.sgd_baseline.settings import Settings
from baselines.sgd_baseline.system import SgdTracker
from baselines.tracker import with_steps

from ..conftest import RECIPES

Row = dict[str, Any]


def of_variant(rows: Dataset, variant: str) -> Dataset:
    return rows.select([i for i, name in enumerate(rows["variant"]) if name == variant])


def test_variants_together_are_variants_apart_for_one_pass_of_the_encoder(
    tracker: SgdTracker, test_rows: Dataset
) -> None:
    passes: list[int] = []
    hook = tracker.encoder.register_forward_hook(
        lambda module, given, named, output: passes.append(len(named["input_ids"])),
        with_kwargs=True,
    )
    together = track(tracker, test_rows).rows
    of_all = list(passes)
    apart = []
    for variant in ("original", "v2", "v5"):
        passes.clear()
        rows = of_variant(test_rows, variant)
        apart += track(tracker, rows).rows
        assert passes == of_all
    hook.remove()
    assert together == apart
    turns = {(*(turn["utterance"] for turn in row["history"][-1:]), row["utterance"])
             for row in test_rows}  # fmt: skip
    assert sum(of_all) == len(turns) <= len(test_rows) / 3
    assert [row["frame_id"] for row in together] == list(test_rows["frame_id"])
    assert [row["variant"] for row in together] == list(test_rows["variant"])
    # An untrained model says something, and not the same under each schema's words.
    values = {str(row["slot_values"]) for row in together}
    assert len(values) > 10


def test_epochs_are_whole_whatever_the_data() -> None:
    """Under an augmentation that doubles the turns, there are twice as many steps."""
    recipe = msgspec.convert(RECIPES["sgd_baseline"] | {"epochs": 3, "steps": None}, Settings)
    turns = np.full(40, 8)
    assert with_steps(recipe, turns, 1).steps == 9  # 3 x (16 + 16 + 8 turns)
    assert with_steps(recipe, np.tile(turns, 2), 1).steps == 15
    assert with_steps(recipe, turns, 2).steps == 8  # 3 x 5 batches of 8 turns, by twos
    halves = msgspec.structs.replace(recipe, accumulation=2)
    assert with_steps(halves, turns, 1).steps == 8
    small = msgspec.structs.replace(recipe, token_budget=8 * 8)
    assert with_steps(small, turns, 1).steps == 15
    assert with_steps(msgspec.structs.replace(recipe, steps=4), turns, 1).steps == 4


def test_the_frozen_encoder_is_the_one_that_training_began_with(trained: Path) -> None:
    before = load_encoder(str(trained / "initial"))[0].state_dict()
    model = SgdTracker.from_pretrained(trained)
    frozen = model.schema_encoder.state_dict()
    assert before.keys() == frozen.keys()
    assert all(torch.equal(tensor, frozen[name]) for name, tensor in before.items())
    tuned = model.encoder.state_dict()["embeddings.word_embeddings.weight"]
    assert not torch.equal(tuned, before["embeddings.word_embeddings.weight"])
    assert not any(p.requires_grad for p in model.schema_encoder.parameters())
