"""Heads and losses on literal inputs."""

from __future__ import annotations

import math

import pytest
import torch
from transformers import BertConfig

from baselines.sgd_baseline.modeling import (
    IGNORED,
    SgdBaselineConfig,
    SgdBaselineModel,
    Tensors,
)

LOG2, LOG3, LOG_1_E5 = math.log(2), math.log(3), math.log(1 + math.exp(5))


@pytest.fixture
def model() -> SgdBaselineModel:
    torch.manual_seed(0)
    encoder = BertConfig(
        vocab_size=20, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16,
    )  # fmt: skip
    made = SgdBaselineModel(SgdBaselineConfig(encoder=encoder))
    made.train(False)
    return made


def batch() -> Tensors:
    """Two turns; three frames, the last two of the second turn; elements of two services."""
    torch.manual_seed(1)
    places = {
        "turn": [0, 1, 1],
        "intents": [[0, 1, -1], [0, 1, -1], [0, 2, 3]],
        "categorical": [4, 4],
        "categorical_frame": [0, 1],
        "values": [[5, 6, -1], [5, 6, 7]],
        "free": [8, 8, 9],
        "free_frame": [0, 1, 2],
        "span": [2],
        "intent_label": [1, 0, 2],
        "requested_label": [0, 1, 0, 0, 0],
        "categorical_status_label": [2, 0],
        "value_label": [1, IGNORED],
        "free_status_label": [0, 1, 2],
        "start_label": [3],
        "end_label": [4],
    }
    ids = torch.tensor([[2, 3, 7, 8, 3, 0], [2, 9, 3, 10, 11, 3]])
    return {
        "input_ids": ids,
        "attention_mask": (ids > 0).long(),
        "token_type_ids": torch.zeros_like(ids),
        "elements": torch.randn(9, 16),
        **{name: torch.tensor(column) for name, column in places.items()},
    }


def test_what_pads_is_never_chosen(model: SgdBaselineModel) -> None:
    logits = model(**batch()).logits
    assert (logits["intent"][:2, 2] < -1e30).all()
    assert logits["value"][0, 2] < -1e30
    assert {name: tuple(each.shape) for name, each in logits.items()} == {
        "intent": (3, 3),
        "requested": (5,),
        "categorical_status": (2, 3),
        "value": (2, 3),
        "free_status": (3, 3),
        "start": (1, 6),
        "end": (1, 6),
    }
    asked = batch() | {"span": torch.tensor([0])}
    assert model(**asked).logits["start"][0, 5] < -1e30  # the first turn is one token shorter


def test_a_frame_s_logits_depend_on_its_own_turn_and_service(model: SgdBaselineModel) -> None:
    before, changed = batch(), batch()
    changed["input_ids"][0, 2] = 12  # the first turn
    changed["elements"][2] += 1.0  # an intent of the third frame alone
    old, new = model(**before).logits, model(**changed).logits
    assert torch.equal(old["free_status"][1:], new["free_status"][1:])
    assert torch.equal(old["intent"][1], new["intent"][1])
    assert not torch.equal(old["intent"][0], new["intent"][0])
    assert not torch.equal(old["intent"][2], new["intent"][2])


def test_training_moves_all_but_the_frozen_encoder(model: SgdBaselineModel) -> None:
    model(**batch()).loss.backward()
    moved = {name for name, p in model.named_parameters() if p.grad is not None}
    frozen = {name for name, _ in model.named_parameters() if name.startswith("schema_encoder.")}
    assert frozen
    assert moved == {name for name, _ in model.named_parameters()} - frozen


def test_a_batch_where_nothing_is_active_has_a_loss(model: SgdBaselineModel) -> None:
    nothing = batch() | {
        "value_label": torch.tensor([IGNORED, IGNORED]),
        **dict.fromkeys(("span", "start_label", "end_label"), torch.zeros(0, dtype=torch.long)),
    }
    output = model(**nothing)
    assert output.losses["value"] == output.losses["start"] == output.losses["end"] == 0
    output.loss.backward()  # of the span head too: processes average all gradients
    gradients = {name: p.grad for name, p in model.named_parameters()}
    assert gradients["heads.span.out.weight"] is not None
