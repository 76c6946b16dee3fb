"""The sub-models: what sees what, heads, and the way through ``AutoModel``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, BertConfig, RobertaConfig, set_seed

from baselines.sgp_dst.modeling import (
    CombineModel,
    CopyModel,
    ElementScorer,
    IntentModel,
    SgpConfig,
    element_mask,
)
from baselines.sgp_dst.rules import best_spans
from baselines.sgp_dst.training import load_part

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


def test_elements_do_not_see_each_other() -> None:
    mask = element_mask(BATCH["elements"], BATCH["attention_mask"], torch.float32)
    seen = (mask[0, 0] == 0).tolist()
    common = [0, 1, 2, 3, 6, 8]
    assert [i for i in range(10) if seen[4][i]] == sorted([*common, 4, 5])
    assert [i for i in range(10) if seen[7][i]] == sorted([*common, 7])
    assert [i for i in range(10) if seen[1][i]] == common


@pytest.mark.parametrize("kind", [IntentModel, CombineModel])
def test_an_intent_or_value_is_scored_whatever_the_others_are(kind: type[IntentModel]) -> None:
    model = kind(config()).train(False)
    other = BATCH | {"input_ids": BATCH["input_ids"].clone()}
    other["input_ids"][0, 7] = 31
    one, two = model(**BATCH).logits, model(**other).logits
    assert one.shape == (1, 2)
    torch.testing.assert_close(one[0, 0], two[0, 0])
    assert abs((one[0, 1] - two[0, 1]).item()) > 1e-2


@pytest.mark.parametrize("kind", [IntentModel, CombineModel, CopyModel])
def test_every_tokens_feature_counts(kind: type[IntentModel]) -> None:
    model = kind(config()).train(False)
    plain = model(**BATCH).logits
    for place in (0, 2):
        features = BATCH["features"].clone()
        features[0, place] = 5
        assert not torch.allclose(plain, model(**BATCH | {"features": features}).logits)


def test_the_pool_is_of_an_elements_tokens() -> None:
    scorer = ElementScorer(2)
    scorer.dense.load_state_dict({"weight": torch.eye(2), "bias": torch.zeros(2)})
    scorer.score.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.zeros(1)})
    hidden = torch.tensor([[[9.0, 9.0], [0.1, -3.0], [-2.0, 0.3], [-0.5, -0.5]]] * 2)
    elements = torch.tensor([[0, 1, 1, 2], [-1, 0, 0, 1]])
    tanh = np.tanh
    expected = [[tanh(0.1) + tanh(0.3), 2 * tanh(-0.5)], [2 * tanh(-0.5), -np.inf]]
    present = torch.tensor([[True, True], [True, False]])
    found = scorer(hidden, elements, present).detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_combine_sums_four_losses() -> None:
    model = CombineModel(config()).train(False)
    answers = model(**BATCH, labels=torch.tensor([[1, 2, 1, 0]]))
    heads = (answers.start, answers.end, answers.logits, answers.requested)
    terms = [-logits.log_softmax(-1)[0, label] for logits, label in zip(heads, (1, 2, 1, 0))]
    torch.testing.assert_close(answers.loss, torch.stack(terms).sum())
    assert torch.isfinite(answers.start[0]).tolist() == [False, True, True] + [False] * 7


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


def test_the_hub_s_class_reads_the_weights(trained: Path) -> None:
    ours = load_part(trained / "intent", torch.device("cpu")).model.state_dict()
    theirs = AutoModel.from_pretrained(trained / "intent", trust_remote_code=True).state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(weight, theirs[name]) for name, weight in ours.items())
