"""Prefix tuning: its size, its arithmetic, what it leaves alone, and how it generates."""

from __future__ import annotations

import pytest
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
    set_seed,
)

from baselines.t2g2.model import PLACES, PrefixTuned
from sgdx_dataset import SgdxError

LENGTH = 5


def random_t5(decoder_layers: int = 2) -> T5ForConditionalGeneration:
    """A T5 of two encoder layers whose heads do not fill d_model."""
    set_seed(0)
    config = T5Config(
        vocab_size=60, d_model=32, d_kv=6, d_ff=48, num_layers=2, num_heads=3,
        num_decoder_layers=decoder_layers, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    config.decoder_start_token_id = 0
    model = T5ForConditionalGeneration(config)
    for name, weight in model.named_parameters():
        if "layer_norm" not in name:  # else all tokens are about equally likely
            torch.nn.init.normal_(weight, std=0.3)
    model.eval()
    return model


def tuned(decoder_layers: int = 2) -> PrefixTuned:
    base = random_t5(decoder_layers)
    set_seed(1)
    return PrefixTuned(base, LENGTH, 16, learnt=True).eval()


@pytest.fixture
def batch() -> dict[str, torch.Tensor]:
    """Three inputs, of which two are padded."""
    ids = torch.randint(2, 60, (3, 9), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(9) < torch.tensor([9, 4, 6])[:, None]).long()
    return {"input_ids": ids * mask, "attention_mask": mask}


def test_seven_million_parameters_are_trained_on_t5_small_s_shape() -> None:
    with torch.device("meta"):
        config = T5Config()  # whose defaults are T5-small's
        model = PrefixTuned(T5ForConditionalGeneration(config), 10, 384, learnt=True)
        trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        assert model.networks is not None
        each = [sum(p.numel() for p in model.networks[place].parameters()) for place in PLACES]
        assert each == [2_567_552] * 3
        assert sum(p.numel() for p in trained.values()) == 7_702_656
        assert sum(p.numel() for p in model.parameters()) == 68_209_280
        assert all(name.startswith("networks.") for name in trained)
        assert sum(network().numel() for network in model.networks.values()) == 184_320


def test_generation_is_the_same_with_and_without_cache(batch: dict[str, torch.Tensor]) -> None:
    model = tuned()
    outputs = [
        model.generate(**batch, num_beams=5, max_new_tokens=12, use_cache=use_cache)
        for use_cache in (True, False)
    ]
    assert torch.equal(*outputs)
    assert len(set(map(tuple, outputs[0].tolist()))) == 3  # the inputs matter


def test_what_cannot_have_a_prefix() -> None:
    config = BartConfig(
        vocab_size=30, d_model=8, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=8,
        decoder_ffn_dim=8, encoder_attention_heads=1, decoder_attention_heads=1,
    )  # fmt: skip
    with pytest.raises(SgdxError, match="prefix: found a bart model, expected a T5"):
        PrefixTuned(BartForConditionalGeneration(config), 2, 4, learnt=True)
