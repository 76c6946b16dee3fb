"""Learning, the frozen encoder, the Hub's way to load, models that are none of this tracker."""

from __future__ import annotations

from pathlib import Path

import torch

from baselines.encoders.load import load_encoder
from baselines.sgd_baseline.settings import SgdOptions
from baselines.sgd_baseline.tracker import SgdTracker
from baselines.training.accelerator import make_accelerator


def test_the_frozen_encoder_is_the_one_that_training_began_with(trained: Path) -> None:
    before = load_encoder(str(trained / "initial"))[0].state_dict()
    model = SgdTracker.load(str(trained), SgdOptions(), make_accelerator()).model
    frozen = model.schema_encoder.state_dict()
    assert before.keys() == frozen.keys()
    assert all(torch.equal(tensor, frozen[name]) for name, tensor in before.items())
    tuned = model.encoder.state_dict()["embeddings.word_embeddings.weight"]
    assert not torch.equal(tuned, before["embeddings.word_embeddings.weight"])
    assert not any(p.requires_grad for p in model.schema_encoder.parameters())
