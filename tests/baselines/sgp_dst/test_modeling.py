"""The sub-models: what sees what, heads, and the way through ``AutoModel``."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import BertConfig, RobertaConfig, set_seed

from baselines.sgp_dst.modeling import (
    CombineModel,
    CopyModel,
    IntentModel,
    SgpConfig,
)
from baselines.sgp_dst.rules import best_spans

SIZE: dict[str, Any] = {
    "vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 16, "initializer_range": 0.5, "hidden_dropout_prob": 0.0,
}  # fmt: skip
BATCH = {
    "input_ids": torch.tensor([[2, 11, 12, 3, 20, 21, 3, 30, 3, 0]]),
    "attention_mask": torch.tensor([[1] * 9 + [0]]),
    "token_type_ids": torch.tensor([[0] * 4 + [1] * 5 + [0]]),
    "features": torch.zeros(1, 10, dtype=torch.long),
    "elements": torch.tensor([[0, -1, -1, 0, 1, 1, 0, 2, 0, 0]]),
    "present": torch.tensor([[True, True]]),
}


def config() -> SgpConfig:
    set_seed(0)
    return SgpConfig(encoder=BertConfig(**SIZE).to_dict(), initializer_range=0.5)


@pytest.mark.parametrize("kind", [IntentModel, CombineModel])
def test_an_intent_or_value_is_scored_whatever_the_others_are(kind: type[IntentModel]) -> None:
    model = kind(config()).train(False)
    other = BATCH | {"input_ids": BATCH["input_ids"].clone()}
    other["input_ids"][0, 7] = 31
    one, two = model(**BATCH).logits, model(**other).logits
    assert one.shape == (1, 2)
    torch.testing.assert_close(one[0, 0], two[0, 0])
    assert abs((one[0, 1] - two[0, 1]).item()) > 1e-2


def test_an_encoder_without_segments_or_pooler() -> None:
    set_seed(0)
    told = RobertaConfig(**SIZE, type_vocab_size=1, max_position_embeddings=40)
    model = CopyModel(SgpConfig(encoder=told.to_dict())).train(False)
    assert torch.isfinite(model(**BATCH).logits).all()


@pytest.mark.parametrize(
    ("kind", "labels"), [(IntentModel, [[1]]), (CombineModel, [[1, 2, 1, 0]]), (CopyModel, [[1]])]
)
def test_half_precision_and_checkpointing(kind: type[IntentModel], labels: list[list[int]]) -> None:
    model: Any = kind(config())
    model.gradient_checkpointing_enable({"use_reentrant": False})
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(**BATCH, labels=torch.tensor(labels)).loss
    loss.backward()
    gradients = {name: p.grad for name, p in model.named_parameters()}
    missing = [name for name, gradient in gradients.items() if gradient is None]
    assert missing == []  # else processes would wait for it
    assert all(torch.isfinite(g).all() for g in gradients.values() if g is not None)


def test_best_spans() -> None:
    start = torch.tensor([[0.9, 0.2, 0.6, 0.1], [0.1, 0.5, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]])
    end = torch.tensor([[0.9, 0.7, 0.5, 0.4], [0.4, 0.3, 0.6, 0.1], [1.0, 0.0, 0.0, 0.0]])
    user = torch.tensor([[1, 4], [0, 4], [2, 2]])
    first, last, score = best_spans(start, end, user)
    assert list(zip(first.tolist(), last.tolist()))[:2] == [(2, 2), (1, 2)]
    torch.testing.assert_close(score, torch.tensor([1.1, 1.1, -torch.inf]))
