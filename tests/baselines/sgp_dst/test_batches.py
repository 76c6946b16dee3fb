"""Negatives of an epoch; labels; that each sub-model learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from accelerate import Accelerator

from baselines.data.frames import learnable
from baselines.encoders.tiny import corpus_texts, tiny_encoder
from baselines.sgp_dst.batches import (
    READS,
    ExampleColumns,
    TrainingData,
    accuracy,
    all_epochs,
    epoch_examples,
    part_examples,
)
from baselines.sgp_dst.examples import EASY, HARD, POSITIVE
from baselines.sgp_dst.modeling import SgpConfig
from baselines.sgp_dst.sequences import Vocabulary
from baselines.sgp_dst.submodels import MODELS, PARTS, About, Part, PartSettings, SubModel
from sgdx_dataset import frames, load

KINDS = np.array([EASY] * 40 + [HARD] * 3 + [POSITIVE] * 5, np.int8)


def test_an_epoch_keeps_what_is_hard_and_samples_what_is_easy() -> None:
    first, again, second = (epoch_examples(KINDS, 2.0, 7, epoch) for epoch in (0, 0, 1))
    assert first.tolist() == again.tolist()
    assert first.tolist() != second.tolist()
    assert first.tolist() != epoch_examples(KINDS, 2.0, 8, 0).tolist()
    for chosen in (first, second):
        assert chosen[-8:].tolist() == list(range(40, 48))
        assert len(chosen) == 8 + 10 == len(set(chosen.tolist()))
    assert len(epoch_examples(KINDS, 99.0, 0, 0)) == 48  # there are no more
    assert len(epoch_examples(KINDS, 0.0, 0, 0)) == 8


def test_a_training_is_one_epoch_after_the_other() -> None:
    settings = PartSettings(epochs=2, warmup=0.1, max_tokens=99, negatives=2.0)
    expected = [*epoch_examples(KINDS, 2.0, 3, 0), *epoch_examples(KINDS, 2.0, 3, 1)]
    assert all_epochs(KINDS, settings, 3).tolist() == expected


@pytest.mark.parametrize(("part", "at_least"), [
    ("intent", 0.7), ("combine", 0.4), ("copy", 0.6), ("cross", 0.5),
])  # fmt: skip
def test_the_loss_falls_and_dev_accuracy_is_told(part: Part, at_least: float) -> None:
    rows = frames(load("original", "train", "sample"))
    encoder, tokenizer = tiny_encoder(corpus_texts(rows), vocabulary=800, hidden=32)
    torch.manual_seed(0)
    model = MODELS[part](SgpConfig(encoder=encoder.config.to_dict()))
    model.take(encoder)
    sub = SubModel(model, Vocabulary(tokenizer), About(part=part, max_tokens=196, model="tiny"))
    lessons = ExampleColumns(part_examples(part, rows))
    lesson, kinds = TrainingData(lessons, sub), lessons.kinds
    order = np.random.default_rng(0).permutation(epoch_examples(kinds, 1.0, 0, 0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(36):
        loss = model(**lesson.batch(np.resize(np.roll(order, -16 * step), 16))).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert np.mean(losses[-6:]) < 0.8 * np.mean(losses[:6])
    dev = ExampleColumns(part_examples(part, frames(load("original", "validation", "sample"))))
    chosen = epoch_examples(dev.kinds, 1.0, 0, 0)[::3]
    told = accuracy(model.train(False), TrainingData(dev, sub), chosen, Accelerator(cpu=True), 4096)
    assert at_least <= told <= 1.0


def test_accuracy_needs_every_head() -> None:
    """Labels made from the answers are all right; with one head's changed, none is."""
    rows = learnable(frames(load("original", "validation", "sample")), READS)
    encoder, tokenizer = tiny_encoder(corpus_texts(rows), vocabulary=800, hidden=32)
    model = MODELS["combine"](SgpConfig(encoder=encoder.config.to_dict())).train(False)
    sub = SubModel(model, Vocabulary(tokenizer), About(part="combine", max_tokens=196, model=""))
    lesson = TrainingData(ExampleColumns(part_examples("combine", rows)), sub)
    chosen = np.arange(8)
    lesson.kinds[:8] = [POSITIVE, EASY] * 4
    with torch.inference_mode():
        answers = model(**lesson.batch(chosen))
    lesson.spans = False
    found = (answers.start, answers.end, answers.logits, answers.requested)
    lesson.labels[:8] = torch.stack([logits.argmax(1) for logits in found], 1).numpy()
    accelerator = Accelerator(cpu=True)
    assert accuracy(model, lesson, chosen, accelerator, 4096) == 1.0
    assert len(PARTS) == 4
    for head in range(4):
        lesson.labels[:8, head] += 1
        assert accuracy(model, lesson, chosen, accelerator, 4096) == 0.0
        lesson.labels[:8, head] -= 1
    lesson.labels[0, 3] += 1  # one of four positives: half of the mean is theirs
    assert accuracy(model, lesson, chosen, accelerator, 4096) == 0.875
    assert accuracy(model, lesson, chosen[1::2], accelerator, 4096) == 1.0
