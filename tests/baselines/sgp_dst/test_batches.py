"""Negatives of an epoch; that each sub-model learns; the score by which checkpoints are chosen."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from accelerate import Accelerator
from datasets import Dataset

from baselines.encoders import corpus_texts, tiny_encoder
from baselines.settings import PartSettings, read_recipe
from baselines.sgp_dst.data import EASY, HARD, POSITIVE, SYSTEM, Vocabulary
from baselines.sgp_dst.modeling import Answers
from baselines.sgp_dst.rules import Answer, Span
from baselines.sgp_dst.training import (
    READS,
    ExampleColumns,
    SgpProvenance,
    TrainingData,
    decision_f1,
    decisions,
    dev_examples,
    epoch_examples,
    part_settings,
    right_decisions,
    stratified,
)
from sgdx_dataset import frames, load
from sgdx_dataset.tracker_inputs import training_columns

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
    ("of_all", "of_the_part", "steps"), [(None, None, 7), (None, 5, 5), (4, 5, 4), (9, 8, 7)]
)
def test_steps_are_those_of_the_epochs_or_fewer(
    of_all: int | None, of_the_part: int | None, steps: int
) -> None:
    smoke = read_recipe(ROOT / "baselines" / "sgp_dst" / "config" / "smoke.yaml")
    recipe = msgspec.structs.replace(smoke, steps=of_all, batch_size=32)
    assert part_settings(recipe, part(steps=of_the_part), 193).steps == steps


@pytest.fixture(scope="module")
def train_rows() -> Dataset:
    return frames(load("original", "train", "sample"))


@pytest.fixture(scope="module")
def tiny(train_rows: Dataset) -> tuple[Any, Any]:
    """An untrained encoder and its tokenizer."""
    return tiny_encoder(corpus_texts(train_rows), vocabulary=800, hidden=32)


SURE = Span(4, 8, "Bath", 1.1)


def test_only_sure_answers_are_decisions() -> None:
    assert decisions("intent", Answer(2, 0.3, 0.1), False) == {("intent", 2)}
    for part, least in (("copy", 0.85), ("cross", 0.9)):
        answers = [Answer(1, p, p) for p in (0.6, least - 0.01, least + 0.01)]
        found = [bool(decisions(part, answer, False)) for answer in answers]  # type: ignore[arg-type]
        assert found == [False, False, True]
    unsure, sure = Answer(3, 0.79, 0, 0.89, SURE), Answer(3, 0.81, 0, 0.89, SURE)
    assert decisions("combine", unsure, True) == set()
    assert decisions("combine", sure, True) == {("value", 3)}
    assert decisions("combine", Answer(0, 0.99, 0, 0.91, SURE), False) == {
        ("requested",), ("span", 4, 8),
    }  # fmt: skip
    assert decisions("combine", sure._replace(requested=0.91), True) == {("requested",)}  # rule 5
    dontcare = Answer(1, 0.9, 0.9, 0.1, SURE)
    assert decisions("combine", dontcare, False) == {("value", 1)}  # it is put after the span
    weak = SURE._replace(score=1.0)
    assert decisions("combine", Answer(0, 0.9, 0, 0, weak), False) == set()


def test_right_decisions() -> None:
    assert right_decisions("intent", [2]) == {("intent", 2)}
    assert [right_decisions("cross", [label]) for label in (0, 1)] == [set(), {("copy",)}]
    assert right_decisions("combine", [-1, -1, 0, 0]) == set()
    assert right_decisions("combine", [4, 8, 0, 1]) == {("span", 4, 8), ("requested",)}
    assert right_decisions("combine", [-1, -1, 2, 0]) == {("value", 2)}


class Sure(torch.nn.Module):
    """A submodel that says yes with one probability, whatever it reads."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.logits = torch.tensor([1 - probability, probability]).log()

    def forward(self, input_ids: torch.Tensor, **_: Any) -> Answers:
        return Answers(logits=self.logits.expand(len(input_ids), 2))


def test_f1_counts_what_is_sure_enough_as_often_as_it_occurs(tiny: tuple[Any, Any]) -> None:
    rows = training_columns(frames(load("original", "validation", "sample")), READS)
    provenance = SgpProvenance(part="copy", max_tokens=160, model="")
    sub: Any = SimpleNamespace(vocabulary=Vocabulary(tiny[1]), provenance=provenance)
    data = TrainingData(ExampleColumns(dev_examples("copy", rows)), sub)
    positive = float((data.kinds == POSITIVE).mean())
    assert 0.02 < positive < 0.3
    for most in (30, 10**6):  # as frequent in a balanced sample as in all of dev
        sample = stratified(data.kinds, most)
        score = {
            p: decision_f1("copy", Sure(p), data, sample, Accelerator(cpu=True))  # type: ignore[arg-type]
            for p in (0.84, 0.86)
        }
        assert score[0.84] == 0.0  # likeliest, but not sure enough for rule 7
        assert score[0.86] == pytest.approx(2 * positive / (1 + positive), abs=1e-6)
