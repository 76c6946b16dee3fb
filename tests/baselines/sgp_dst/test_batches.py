"""Negatives of an epoch; labels; that each sub-model learns."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest
import torch
from accelerate import Accelerator

from baselines.encoders.tiny import corpus_texts, tiny_encoder
from baselines.sgp_dst.batches import (
    ExampleColumns,
    TrainingData,
    dev_examples,
    epoch_examples,
    part_settings,
    training_examples,
)
from baselines.sgp_dst.examples import EASY, HARD, POSITIVE, SYSTEM
from baselines.sgp_dst.modeling import SgpConfig
from baselines.sgp_dst.selection import decision_f1, stratified
from baselines.sgp_dst.settings import PartSettings, SgpSettings
from baselines.sgp_dst.submodels import (
    MODELS,
    PARTS,
    Part,
    SgpProvenance,
    SubModel,
)
from baselines.training.settings import read_recipe
from sgdx_dataset import frames, load

from ...conftest import ROOT

KINDS = np.array([EASY] * 60 + [HARD] * 4 + [POSITIVE] * 5 + [SYSTEM] * 3, np.int8)


def part(**settings: float | None) -> PartSettings:
    return msgspec.structs.replace(PartSettings(epochs=1, warmup=0.1, max_tokens=99), **settings)


def test_an_epoch_keeps_positives_and_samples_the_others() -> None:
    two = part(negatives=2.0)
    first, again, second = (epoch_examples(KINDS, two, 7, epoch) for epoch in (0, 0, 1))
    assert first.tolist() == again.tolist()
    assert first.tolist() != second.tolist()
    assert first.tolist() != epoch_examples(KINDS, two, 8, 0).tolist()
    for chosen in (first, second):
        assert chosen[-12:].tolist() == list(range(60, 72))
        assert len(chosen) == 12 + 2 * 8 == len(set(chosen.tolist()))
    assert len(epoch_examples(KINDS, part(negatives=99.0), 0, 0)) == 72  # there are no more
    assert len(epoch_examples(KINDS, part(negatives=0.0), 0, 0)) == 12
    some = Counter(KINDS[epoch_examples(KINDS, part(negatives=3.0, hard=0.5, system=1 / 3), 0, 0)])
    assert some == {EASY: 18, HARD: 2, POSITIVE: 5, SYSTEM: 1}


@pytest.mark.parametrize(
    ("of_all", "of_the_part", "steps"),
    [(None, None, 7), (None, 5, 5), (4, 5, 4), (9, 8, 7)],
)
def test_steps_are_those_of_the_epochs_or_fewer(
    of_all: int | None, of_the_part: int | None, steps: int
) -> None:
    smoke = read_recipe(ROOT / "baselines" / "sgp_dst" / "config" / "smoke.yaml", SgpSettings)
    recipe = msgspec.structs.replace(smoke, steps=of_all, batch_size=32)
    assert part_settings(recipe, part(steps=of_the_part), 193).steps == steps


@pytest.mark.parametrize("name", PARTS)
def test_the_loss_falls_and_dev_is_scored(name: Part) -> None:
    rows = frames(load("original", "train", "sample"))
    encoder, tokenizer = tiny_encoder(corpus_texts(rows), vocabulary=800, hidden=32)
    torch.manual_seed(0)
    model = MODELS[name](SgpConfig(encoder=encoder.config.to_dict()))
    model.use_encoder(encoder)
    provenance = SgpProvenance(part=name, max_tokens=196, model="tiny")
    sub = SubModel(model, tokenizer, provenance)
    examples = ExampleColumns(training_examples(name, rows))
    data = TrainingData(examples, sub)
    order = epoch_examples(examples.kinds, part(negatives=1.0), 0, 0)
    order = np.random.default_rng(0).permutation(order)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(60):
        loss = model(**data.batch(np.resize(np.roll(order, -16 * step), 16))).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert np.mean(losses[-6:]) < 0.8 * np.mean(losses[:6])
    rows = frames(load("original", "validation", "sample"))
    dev = TrainingData(ExampleColumns(dev_examples(name, rows)), sub)
    sample = stratified(dev.kinds, 60)
    score = decision_f1(name, model.train(False), dev, sample, Accelerator(cpu=True))
    assert (0.5 if name == "intent" else 0.0) <= score <= 1.0
