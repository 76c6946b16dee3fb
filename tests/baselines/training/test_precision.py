"""Encoders that train in bfloat16: as autocast does it, only faster, and never saved."""

from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import AutoModel, BertConfig, BertModel, T5Config, T5ForConditionalGeneration

from baselines.precision import ByteDropout, train_in_bfloat16

LENGTHS = (7, 5, 1)
PADDING = torch.tensor([[1] * length + [0] * (7 - length) for length in LENGTHS])


class Wrapped(nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(3)
        config = BertConfig(
            vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=64, hidden_dropout_prob=dropout, attention_probs_dropout_prob=0.0,
            initializer_range=0.3,
        )  # fmt: skip
        self.encoder = BertModel(config, add_pooling_layer=False)


def learn(
    model: Wrapped, mask: torch.Tensor, dtype: torch.dtype
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The vectors of real tokens and the gradients of all weights."""
    model.train()
    ids = torch.arange(21).reshape(3, 7)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype != torch.float32):
        vectors = model.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
    real = torch.cat([vectors[i, :length].float() for i, length in enumerate(LENGTHS)])
    torch.autograd.backward((real * torch.arange(32)).square().mean())
    return real.detach(), [p.grad for p in model.parameters() if p.grad is not None]


BLOCKS = torch.ones(3, 1, 7, 7)
BLOCKS[0, 0, 2:4, 4:] = BLOCKS[0, 0, 4:, 2:4] = 0
BLOCKS *= PADDING[:, None, None]
MASKS = {"padding": PADDING, "added": (1 - BLOCKS) * torch.finfo(torch.float32).min}


@pytest.mark.parametrize("kind", MASKS)
def test_vectors_and_gradients_are_as_near_to_float32_as_those_of_autocast(kind: str) -> None:
    changed = Wrapped()
    train_in_bfloat16(changed)
    exact, exact_gradients = learn(Wrapped(), MASKS[kind], torch.float32)
    cast, cast_gradients = learn(Wrapped(), MASKS[kind], torch.bfloat16)
    for one, right in zip(learn(changed, MASKS[kind], torch.float32), (exact, exact_gradients)):
        torch.testing.assert_close(one, right, atol=1e-4, rtol=1e-4)
    changed.zero_grad()
    found, gradients = learn(changed, MASKS[kind], torch.bfloat16)
    assert not torch.equal(found, cast)  # it was another computation
    assert 0 < (found - exact).norm() < 3 * (cast - exact).norm()
    for one, other, right in zip(gradients, cast_gradients, exact_gradients, strict=True):
        assert one.dtype == torch.float32
        assert (one - right).norm() <= 3 * (other - right).norm() + 0.03 * right.norm()


def test_numbers_are_dropped_and_the_others_grow() -> None:
    model = Wrapped(0.25)
    train_in_bfloat16(model)
    dropout = next(part for part in model.modules() if isinstance(part, ByteDropout))
    ones = torch.ones(401, 399, dtype=torch.bfloat16)
    torch.manual_seed(0)
    dropped = dropout(ones)
    assert dropped.unique().tolist() == pytest.approx([0, 4 / 3], abs=0.01)
    assert dropped.float().mean().item() == pytest.approx(1, abs=0.01)
    torch.manual_seed(0)
    assert torch.equal(dropout(ones), dropped)
    assert torch.equal(dropout.eval()(ones), ones)


def test_nothing_of_it_is_saved_and_an_encoder_decoder_keeps_its_own(tmp_path: Path) -> None:
    model = Wrapped()
    names = list(model.state_dict())
    train_in_bfloat16(model)
    assert list(model.state_dict()) == names
    model.encoder.save_pretrained(tmp_path)
    assert AutoModel.from_pretrained(tmp_path).config._attn_implementation == "sdpa"
    small = T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    t5 = T5ForConditionalGeneration(small)
    kinds = [type(part) for part in (t5, t5.encoder, t5.decoder)]
    train_in_bfloat16(t5)
    assert [type(part) for part in (t5, t5.encoder, t5.decoder)] == kinds
