"""The sub-models: encoders of another kind, and the best span."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import RobertaConfig, set_seed

from baselines.sgp_dst.modeling import CombineModel, CopyModel, IntentModel, SgpConfig
from baselines.sgp_dst.rules import best_spans

BATCH = {
    "input_ids": torch.tensor([[2, 11, 12, 3, 20, 21, 3, 30, 3, 0]]),
    "attention_mask": torch.tensor([[1] * 9 + [0]]),
    "token_type_ids": torch.tensor([[0] * 4 + [1] * 5 + [0]]),
    "features": torch.zeros(1, 10, dtype=torch.long),
    "elements": torch.tensor([[0, -1, -1, 0, 1, 1, 0, 2, 0, 0]]),
    "present": torch.tensor([[True, True]]),
}


@pytest.mark.parametrize(
    ("kind", "labels"), [(IntentModel, [[1]]), (CombineModel, [[1, 2, 1, 0]]), (CopyModel, [[1]])]
)
def test_an_encoder_without_segments_or_pooler_in_half_precision(
    kind: type[Any], labels: list[list[int]]
) -> None:
    """With checkpointing all weights have a gradient, for which processes would wait."""
    set_seed(0)
    encoder = RobertaConfig(
        vocab_size=60, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, type_vocab_size=1, max_position_embeddings=40,
    )  # fmt: skip
    model = kind(SgpConfig(encoder=encoder.to_dict()))
    model.gradient_checkpointing_enable({"use_reentrant": False})
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(**BATCH, labels=torch.tensor(labels)).loss
    loss.backward()
    gradients = [p.grad for p in model.parameters()]
    assert all(g is not None and torch.isfinite(g).all() for g in gradients)


def test_best_spans() -> None:
    start = torch.tensor([[0.9, 0.2, 0.6, 0.1], [0.1, 0.5, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]])
    end = torch.tensor([[0.9, 0.7, 0.5, 0.4], [0.4, 0.3, 0.6, 0.1], [1.0, 0.0, 0.0, 0.0]])
    user = torch.tensor([[1, 4], [0, 4], [2, 2]])
    first, last, score = best_spans(start, end, user)
    assert list(zip(first.tolist(), last.tolist()))[:2] == [(2, 2), (1, 2)]
    torch.testing.assert_close(score, torch.tensor([1.1, 1.1, -torch.inf]))
