"""Attention in training: as PyTorch's own, and only where it is the faster one."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModel, BertConfig, BertModel, T5Config, T5ForConditionalGeneration

from baselines.training.accelerator import ATTENTION, train_with_matrix_products, training_attention

LENGTHS = (7, 5, 1)
PADDING = torch.tensor([[1] * length + [0] * (7 - length) for length in LENGTHS])


def encoder(changed: bool) -> BertModel:
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        initializer_range=0.3,
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False)
    if changed:
        train_with_matrix_products(model)
    return model


def learn(
    model: BertModel, mask: torch.Tensor, dtype: torch.dtype
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The vectors of real tokens and the gradients of all weights."""
    model.train()
    ids = torch.arange(21).reshape(3, 7)
    with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        vectors = model(input_ids=ids, attention_mask=mask).last_hidden_state
    real = torch.cat([vectors[i, :length].float() for i, length in enumerate(LENGTHS)])
    torch.autograd.backward((real * torch.arange(32)).square().mean())
    return real.detach(), [p.grad for p in model.parameters() if p.grad is not None]


BLOCKS = torch.ones(3, 1, 7, 7)
BLOCKS[0, 0, 2:4, 4:] = BLOCKS[0, 0, 4:, 2:4] = 0
BLOCKS *= PADDING[:, None, None]
MASKS = {
    "padding": PADDING,
    "choice": BLOCKS.bool(),
    "added": (1 - BLOCKS) * torch.finfo(torch.float32).min,
}


@pytest.mark.parametrize("kind", MASKS)
def test_vectors_and_gradients_are_those_of_the_fused_attention(kind: str) -> None:
    """As near to those in float32 as the fused attention's are, up to the luck of rounding."""
    exact, exact_gradients = learn(encoder(False), MASKS[kind], torch.float32)
    fused, fused_gradients = learn(encoder(False), MASKS[kind], torch.bfloat16)
    products, gradients = learn(encoder(True), MASKS[kind], torch.bfloat16)
    assert not torch.equal(products, fused)  # it was another computation
    assert 0 < (products - exact).norm() < 1.5 * (fused - exact).norm()
    for one, other, right in zip(gradients, fused_gradients, exact_gradients, strict=True):
        assert (one - right).norm() <= 2 * (other - right).norm() + 0.02 * right.norm()


def test_weights_are_dropped_and_the_others_grow() -> None:
    query = torch.zeros(1, 1, 400, 8, dtype=torch.bfloat16, requires_grad=True)
    module = encoder(False).get_submodule("encoder.layer.0.attention.self")
    ones = torch.ones(1, 1, 400, 8, dtype=torch.bfloat16)
    torch.manual_seed(0)
    kept, _ = training_attention(module, query, ones, ones, None, dropout=0.25)
    assert kept.shape == (1, 400, 1, 8)
    assert kept.float().mean().item() == pytest.approx(1, abs=0.01)
    assert kept.float().std().item() == pytest.approx((0.25 / 0.75 / 400) ** 0.5, rel=0.2)


def test_prediction_and_float32_are_the_fused_attention_bit_for_bit() -> None:
    own, changed = encoder(False).eval(), encoder(True).eval()
    ids = torch.arange(21).reshape(3, 7)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        one, other = (m(input_ids=ids, attention_mask=PADDING)[0] for m in (own, changed))
    assert torch.equal(one, other)
    one, other = (learn(model, PADDING, torch.float32)[0] for model in (own, changed))
    assert torch.equal(one, other)


def test_nothing_of_it_is_saved_and_an_encoder_decoder_keeps_its_own(tmp_path: Path) -> None:
    model = encoder(True)
    assert model.config._attn_implementation == ATTENTION
    model.save_pretrained(tmp_path)
    assert AutoModel.from_pretrained(tmp_path).config._attn_implementation == "sdpa"
    small = T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    t5 = T5ForConditionalGeneration(small)
    train_with_matrix_products(t5)
    assert ATTENTION not in [m.config._attn_implementation for m in (t5, t5.encoder, t5.decoder)]
