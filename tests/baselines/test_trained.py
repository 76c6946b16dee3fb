"""What trained systems share: answers in order, chunks that are used again, errors of loading."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from baselines.sgd_baseline.model import SgdProvenance
from baselines.sgd_baseline.modeling import SgdBaselineModel
from baselines.sgd_baseline.settings import SgdOptions
from baselines.trained import (
    answer_batches,
    fingerprint,
    load_trained,
    read_provenance,
)
from baselines.training.batching import Ints
from sgdx_dataset import SgdxError

OPTIONS = SgdOptions(batch_size=2, token_budget=20, chunk_size=3)
LENGTHS = np.array([3, 9, 1, 7, 5, 9, 2], np.int64)


def test_answers_come_in_the_order_of_the_inputs() -> None:
    batches: list[list[int]] = []

    def answer(batch: Ints) -> list[int]:
        batches.append(batch.tolist())
        return [10 * index for index in batch.tolist()]

    assert answer_batches(LENGTHS, OPTIONS, answer) == [0, 10, 20, 30, 40, 50, 60]
    assert batches == [[1, 5], [3, 4], [0, 6], [2]]
    assert answer_batches(LENGTHS[:0], OPTIONS, answer) == []


def test_other_weights_options_or_inputs_have_another_folder() -> None:
    names = {
        fingerprint("a", OPTIONS),
        fingerprint("b", OPTIONS),
        fingerprint("a", SgdOptions()),
        fingerprint("a", OPTIONS, inputs=[LENGTHS]),
        fingerprint("a", OPTIONS, inputs=[LENGTHS[:3], LENGTHS[3:]]),
    }
    assert len(names) == 5


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SgdxError, match="found no config.json"):
        read_provenance(str(tmp_path), SgdProvenance)
    config = {"model_type": "bert", "sgdx": {"tracker": "sgd_baseline"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(SgdxError, match=r"config.json: sgdx: .* missing required field `max_turn`"):
        read_provenance(str(tmp_path), SgdProvenance)
    config["sgdx"] = {"max_turn": 80, "seed": 3}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_provenance(str(tmp_path), SgdProvenance) == SgdProvenance(max_turn=80, seed=3)
    with pytest.raises(SgdxError, match="is a bert model, expected one of sgd_baseline"):
        load_trained(str(tmp_path), SgdBaselineModel, SgdProvenance, torch.device("cpu"))
