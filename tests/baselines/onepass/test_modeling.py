"""The model: what attends to what, pooling, spans, the loss, and encoders of several kinds."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from transformers import (
    AutoModel,
    BertConfig,
    DebertaV2Config,
    ModernBertConfig,
    MPNetConfig,
    PreTrainedConfig,
    RobertaConfig,
)

from baselines.onepass.data import Item, make_batch
from baselines.onepass.frames import FrameInput
from baselines.onepass.layout import Vocabulary, sequences
from baselines.onepass.modeling import (
    Logits,
    OnePassConfig,
    OnePassModel,
    block_attention_mask,
    fuse_attention,
)
from sgdx_dataset.schema import Service, read_service

from .conftest import RESTAURANTS, frame_of

SIZES: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "vocab_size": 600, "pad_token_id": 0,
}  # fmt: skip
ENCODERS = {
    "bert": BertConfig(**SIZES),
    "roberta": RobertaConfig(**SIZES | {"pad_token_id": 1}, type_vocab_size=1),
    "deberta-v2": DebertaV2Config(
        **SIZES, type_vocab_size=0, position_biased_input=False, relative_attention=True,
        pos_att_type=["p2c", "c2p"], max_position_embeddings=128,
    ),
    "modernbert": ModernBertConfig(**SIZES, local_attention=16),
    "mpnet": MPNetConfig(**SIZES),
}  # fmt: skip


def untrained(encoder: PreTrainedConfig) -> OnePassModel:
    torch.manual_seed(0)
    model = OnePassModel(OnePassConfig(encoder=encoder.to_dict()))
    model.reset_heads()
    model.train(False)
    return model


def item(frame: FrameInput, vocabulary: Vocabulary) -> Item:
    (sequence,) = sequences(frame, vocabulary, 512)
    return Item(frame, sequence)


@torch.inference_mode()
def read(model: OnePassModel, *items: Item) -> Logits:
    return model.compute_logits(make_batch(items, 0))


@pytest.mark.parametrize("kind", ENCODERS)
def test_a_frame_is_read_alike_in_a_batch_and_alone(
    kind: str, restaurants: Service, vocabulary: Vocabulary
) -> None:
    model = untrained(ENCODERS[kind])
    short = item(frame_of(restaurants), vocabulary)
    longer = item(frame_of(restaurants, asked=frozenset({"day"})), vocabulary)
    alone, beside = read(model, short), read(model, longer, short)
    assert len(beside.status) == 2 * len(alone.status)
    torch.testing.assert_close(alone.status, beside.status[5:], atol=1e-5, rtol=0)
    torch.testing.assert_close(alone.intent[0], beside.intent[1], atol=1e-5, rtol=0)
    torch.testing.assert_close(alone.span, beside.span[5:], atol=1e-5, rtol=0)
    different = (beside.status[:5] - beside.status[5:]).abs().amax(1)
    assert different[4] > 1e-4  # the day, which the system asks for


# DeBERTa and MPNet know also how far apart two tokens stand in the sequence.
@pytest.mark.parametrize("kind", sorted(ENCODERS.keys() - {"deberta-v2", "mpnet"}))
def test_the_order_of_the_elements_cannot_matter(
    kind: str, restaurants: Service, vocabulary: Vocabulary
) -> None:
    model = untrained(ENCODERS[kind])
    turned = {part: RESTAURANTS[part][::-1] for part in ("slots", "intents")}
    schemas = restaurants, read_service(RESTAURANTS | turned)
    there, back = (read(model, item(frame_of(each), vocabulary)) for each in schemas)
    torch.testing.assert_close(there.status, back.status.flip(0), atol=1e-5, rtol=0)
    torch.testing.assert_close(there.requested, back.requested.flip(0), atol=1e-5, rtol=0)
    torch.testing.assert_close(there.intent[0, :2], back.intent[0, :2].flip(0), atol=1e-5, rtol=0)


@pytest.mark.parametrize("blocks", [False, True])
def test_the_fused_attention_of_mpnet_is_that_of_transformers(blocks: bool) -> None:
    torch.manual_seed(0)
    config = MPNetConfig(
        **SIZES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.3
    )
    plain: Any = AutoModel.from_config(config)
    fused = copy.deepcopy(plain)
    fuse_attention(fused)
    assert type(fused.encoder) is not type(plain.encoder)
    ids, mask = torch.randint(2, 600, (3, 21)), torch.ones(3, 21, dtype=torch.long)
    mask[0, 13:] = 0
    shown = mask
    if blocks:
        of_tokens = torch.randint(-2, 3, (3, 21))
        of_tokens[:, 0] = 0
        visible = block_attention_mask(of_tokens, mask)
        shown = torch.zeros(visible.shape).masked_fill(~visible, -1e9)
    outputs = []
    for model in (plain.train(), fused.train()):
        hidden = model(input_ids=ids, attention_mask=shown).last_hidden_state * mask[..., None]
        hidden.sin().mean().backward()
        outputs.append(hidden)
    torch.testing.assert_close(*outputs, atol=1e-5, rtol=0)
    for (name, own), theirs in zip(plain.named_parameters(), fused.parameters()):
        torch.testing.assert_close(own.grad, theirs.grad, atol=1e-5, rtol=0, msg=name)
    assert plain.encoder.relative_attention_bias.weight.grad.abs().max() > 1e-4
