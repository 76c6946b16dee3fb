"""The model: what attends to what, pooling, spans, the loss, and encoders of several kinds."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    DebertaV2Config,
    ModernBertConfig,
    MPNetConfig,
    PreTrainedConfig,
    RobertaConfig,
)

from baselines.onepass.data import Item, make_batch
from baselines.onepass.frames import FrameInput
from baselines.onepass.layout import Variant, Vocabulary, sequences, variant_of
from baselines.onepass.modeling import (
    Logits,
    OnePassConfig,
    OnePassModel,
)
from sgdx_dataset.schema import Service

from .conftest import frame_of

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


def item(frame: FrameInput, vocabulary: Vocabulary, variant: Variant | None = None) -> Item:
    (sequence,) = sequences(frame, vocabulary, 512, variant)
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
    frame = frame_of(restaurants)
    own = variant_of(restaurants)
    backwards = Variant(dict(reversed(own.intents.items())), dict(reversed(own.slots.items())))
    there = read(model, item(frame, vocabulary))
    back = read(model, item(frame, vocabulary, backwards))
    torch.testing.assert_close(there.status, back.status.flip(0), atol=1e-5, rtol=0)
    torch.testing.assert_close(there.requested, back.requested.flip(0), atol=1e-5, rtol=0)
    torch.testing.assert_close(there.intent[0, :2], back.intent[0, :2].flip(0), atol=1e-5, rtol=0)
