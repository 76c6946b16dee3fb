"""Attention in training: as PyTorch's own, and only where it is the faster one."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModel, BertConfig, BertModel, T5Config, T5ForConditionalGeneration

from baselines.training.accelerator import ATTENTION, train_with_matrix_products, training_attention

LENGTHS = (7, 5, 1)


def encoder() -> BertModel:
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        initializer_range=0.3,
    )  # fmt: skip
    return BertModel(config, add_pooling_layer=False)


def learn(
    model: BertModel, mask: torch.Tensor, dtype: torch.dtype
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The vectors of real tokens and the gradients of all weights."""
    model.train()
    model.zero_grad()
    ids = torch.arange(21).reshape(3, 7)
    with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        vectors = model(input_ids=ids, attention_mask=mask).last_hidden_state
    real = torch.cat([vectors[i, :length].float() for i, length in enumerate(LENGTHS)])
    torch.autograd.backward((real * torch.arange(32)).square().mean())
    return real.detach(), [p.grad.clone() for p in model.parameters() if p.grad is not None]


def masks() -> dict[str, torch.Tensor]:
    flat = torch.tensor([[1] * length + [0] * (7 - length) for length in LENGTHS])
    blocks = torch.ones(3, 1, 7, 7)
    blocks[0, 0, 2:4, 4:] = blocks[0, 0, 4:, 2:4] = 0
    blocks *= flat[:, None, None]
    lowest = torch.finfo(torch.float32).min
    return {
        "none": torch.ones_like(flat),
        "padding": flat,
        "choice": blocks.bool(),
        "added": (1 - blocks) * lowest,
    }


@pytest.mark.parametrize("kind", ["none", "padding", "choice", "added"])
def test_vectors_and_gradients_are_those_of_the_fused_attention(kind: str) -> None:
    mask = masks()[kind]
    exact, exact_gradients = learn(encoder(), mask, torch.float32)
    fused, fused_gradients = learn(encoder(), mask, torch.bfloat16)
    model = encoder()
    train_with_matrix_products(model)
    products, gradients = learn(model, mask, torch.bfloat16)

    assert not torch.equal(products, fused)  # it was another computation
    # As near to float32 as the fused attention is, up to the luck of rounding.
    error = (fused - exact).norm()
    assert 0 < (products - exact).norm() < 1.5 * error
    for one, other, right in zip(gradients, fused_gradients, exact_gradients, strict=True):
        assert (one - right).norm() <= 2 * (other - right).norm() + 0.02 * right.norm()


def test_what_is_masked_has_no_influence() -> None:
    model = encoder()
    train_with_matrix_products(model)
    mask = masks()["padding"]
    ids = torch.arange(21).reshape(3, 7)
    other = torch.where(mask.bool(), ids, 49)
    with torch.autocast("cpu", torch.bfloat16):
        one, two = (
            model(input_ids=each, attention_mask=mask).last_hidden_state for each in (ids, other)
        )
    assert torch.equal(one[mask.bool()], two[mask.bool()])
    assert not torch.equal(one, two)


def test_weights_are_dropped_and_the_others_grow() -> None:
    query = torch.zeros(1, 1, 400, 8, dtype=torch.bfloat16, requires_grad=True)
    module = encoder().get_submodule("encoder.layer.0.attention.self")
    ones = torch.ones(1, 1, 400, 8, dtype=torch.bfloat16)
    torch.manual_seed(0)
    kept, _ = training_attention(module, query, ones, ones, None, dropout=0.25)
    assert kept.shape == (1, 400, 1, 8)
    assert kept.float().mean().item() == pytest.approx(1, abs=0.01)
    assert kept.float().std().item() == pytest.approx((0.25 / 0.75 / 400) ** 0.5, rel=0.2)


def test_prediction_and_float32_are_the_fused_attention_bit_for_bit() -> None:
    own = encoder().eval()
    changed = encoder().eval()
    train_with_matrix_products(changed)
    ids, mask = torch.arange(21).reshape(3, 7), masks()["padding"]
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        expected = own(input_ids=ids, attention_mask=mask).last_hidden_state
        assert torch.equal(changed(input_ids=ids, attention_mask=mask).last_hidden_state, expected)
    assert torch.equal(learn(own, mask, torch.float32)[0], learn(changed, mask, torch.float32)[0])


def test_nothing_of_it_is_saved(tmp_path: Path) -> None:
    model = encoder()
    train_with_matrix_products(model)
    assert model.config._attn_implementation == ATTENTION
    model.save_pretrained(tmp_path)
    assert ATTENTION not in (tmp_path / "config.json").read_text()
    assert AutoModel.from_pretrained(tmp_path).config._attn_implementation == "sdpa"


def test_an_encoder_decoder_is_left_as_it_is() -> None:
    config = T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    model = T5ForConditionalGeneration(config)
    before = [part.config._attn_implementation for part in (model, model.encoder, model.decoder)]
    train_with_matrix_products(model)
    assert ATTENTION not in before
    after = [part.config._attn_implementation for part in (model, model.encoder, model.decoder)]
    assert after == before
