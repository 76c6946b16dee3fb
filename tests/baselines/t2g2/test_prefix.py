"""Prefix tuning: its size, its arithmetic, what it leaves alone, and how it generates."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load, save
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
    set_seed,
)

from baselines.t2g2 import model as prefix_module
from baselines.t2g2.model import ATTENTION, PLACES, PrefixTuned
from sgdx_dataset import SgdxError

LENGTH = 5
LABELS = torch.tensor([[5, 1], [6, 1], [7, 1]])


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


def test_without_a_prefix_it_is_the_stock_model(batch: dict[str, torch.Tensor]) -> None:
    stock, ours = random_t5(), random_t5()
    stock.set_attn_implementation("eager")
    ours.set_attn_implementation(ATTENTION)
    expected, found = stock(**batch, labels=LABELS), ours(**batch, labels=LABELS)
    assert torch.equal(found.logits, expected.logits)
    assert torch.equal(found.encoder_last_hidden_state, expected.encoder_last_hidden_state)


def test_one_attention_by_hand() -> None:
    """Softmax over the prefix and the keys, where mask and bias touch the keys alone."""
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(1, 1, n, 2, generator=generator) for n in (1, 3, 3))
    mask, bias = torch.tensor([[[[0.0, -1e9, 0.0]]]]), torch.tensor([[[[0.5, 0.1, -0.5]]]])
    module = torch.nn.Module()
    module.prefix = torch.randn(2, 1, 2, 2, generator=generator)
    found, weights = prefix_module.prefix_attention(
        module, query, key, value, mask, position_bias=bias, scaling=1.0
    )
    q, (keys, values) = query[0, 0, 0], module.prefix[:, 0]
    scores = [q @ keys[0], q @ keys[1], q @ key[0, 0, 0] + 0.5, q @ key[0, 0, 2] - 0.5]
    shares = torch.stack(scores).softmax(0)
    rows = torch.stack([values[0], values[1], value[0, 0, 0], value[0, 0, 2]])
    assert weights.shape == (1, 1, 1, 5)
    torch.testing.assert_close(found[0, 0, 0], shares @ rows)


def test_every_layer_of_the_three_attentions_has_its_own_prefix(
    batch: dict[str, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tuned(decoder_layers=3)
    prefixes = model.prefixes()
    shapes = {name: tuple(prefix.shape) for name, prefix in prefixes.items()}
    layers = {"encoder": 2, "decoder": 3, "cross": 3}
    assert shapes == {name: (number, 2, 3, LENGTH, 6) for name, number in layers.items()}
    with torch.no_grad():
        whole = model(**batch, labels=LABELS).logits
        for name, layer in ((name, i) for name, number in layers.items() for i in range(number)):
            changed = {n: p.clone() for n, p in prefixes.items()}
            changed[name][layer] += 1.0
            monkeypatch.setattr(model, "prefixes", lambda changed=changed: changed)
            assert not torch.allclose(model(**batch, labels=LABELS).logits, whole)


def test_only_the_networks_get_gradients_and_the_base_stays_bit_for_bit(
    batch: dict[str, torch.Tensor],
) -> None:
    model = tuned().train()
    before = {name: weight.clone() for name, weight in model.base.state_dict().items()}
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.1)
    losses = []
    for _ in range(5):
        loss = model(**batch, labels=LABELS).loss
        loss.backward()
        assert all(p.grad is None for p in model.base.parameters())
        learnt = [p for name, p in model.named_parameters() if name.startswith("networks.")]
        assert len(learnt) == 15
        assert all(p.grad is not None and p.grad.any() for p in learnt)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    after = model.base.state_dict()
    assert all(torch.equal(after[name], weight) for name, weight in before.items())


def test_generation_is_the_same_with_and_without_cache(batch: dict[str, torch.Tensor]) -> None:
    model = tuned()
    outputs = [
        model.generate(**batch, num_beams=5, max_new_tokens=12, use_cache=use_cache)
        for use_cache in (True, False)
    ]
    assert torch.equal(*outputs)
    assert len(set(map(tuple, outputs[0].tolist()))) == 3  # the inputs matter


def test_a_prefix_that_is_fixed_says_what_the_learnt_one_says(
    batch: dict[str, torch.Tensor],
) -> None:
    learnt = tuned()
    fixed = PrefixTuned(random_t5(), LENGTH, 16, learnt=False).eval()
    with torch.no_grad():
        made = {name: prefix.contiguous() for name, prefix in learnt.prefixes().items()}
    fixed.fixed.load_state_dict(load(save(made)))
    assert not any(p.requires_grad for p in fixed.parameters())
    with torch.no_grad():
        logits = [model(**batch, labels=LABELS).logits for model in (learnt, fixed)]
    assert torch.equal(*logits)


def test_what_cannot_have_a_prefix() -> None:
    config = BartConfig(
        vocab_size=30, d_model=8, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=8,
        decoder_ffn_dim=8, encoder_attention_heads=1, decoder_attention_heads=1,
    )  # fmt: skip
    with pytest.raises(SgdxError, match="prefix: found a bart model, expected a T5"):
        PrefixTuned(BartForConditionalGeneration(config), 2, 4, learnt=True)
