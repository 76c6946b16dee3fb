"""Greedy generation against ``model.generate``, for two architectures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GenerationConfig,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
    set_seed,
)

from baselines.t5dst.generate import greedy


def bart() -> PreTrainedModel:
    set_seed(1)
    config = BartConfig(
        vocab_size=40, d_model=32, encoder_layers=1, decoder_layers=2, encoder_ffn_dim=32,
        decoder_ffn_dim=32, encoder_attention_heads=2, decoder_attention_heads=2,
        bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, init_std=1.5,
    )  # fmt: skip
    return BartForConditionalGeneration(config)


def t5() -> PreTrainedModel:
    set_seed(5)
    untied: Any = {"tie_word_embeddings": False}  # tied, random ones say one word for ever
    config = T5Config(
        vocab_size=40, d_model=32, d_kv=8, d_ff=32, num_layers=2, num_heads=4,
        pad_token_id=0, eos_token_id=1, initializer_factor=8.0, **untied,
    )  # fmt: skip
    config.decoder_start_token_id = 0
    return T5ForConditionalGeneration(config)


def padded_inputs(model: PreTrainedModel) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens of 48 inputs, a third of them padded, and their mask."""
    torch.manual_seed(0)
    ids = torch.randint(3, 40, (48, 11))
    mask = torch.ones_like(ids).bool()
    for row in range(0, 48, 3):
        mask[row, 11 - row % 7 :] = False
    ids[~mask] = model.config.pad_token_id
    return ids, mask[:, None, None]


@pytest.mark.parametrize("make", [t5, bart])
def test_it_writes_what_generate_writes(make: Callable[[], PreTrainedModel]) -> None:
    model = make().eval()
    model.generation_config.forced_eos_token_id = None  # BART's own habit, which training drops
    ids, mask = padded_inputs(model)
    start, end = model.generation_config.decoder_start_token_id, model.config.eos_token_id
    settings = GenerationConfig(
        max_new_tokens=20, decoder_start_token_id=start, eos_token_id=end, pad_token_id=end
    )
    flat = mask[:, 0, 0].long()
    expected = model.generate(ids, attention_mask=flat, generation_config=settings)[:, 1:]
    found = greedy(model, ids, mask, 20)
    assert greedy(model, ids, flat, 20).tolist() == found.tolist()
    lengths = {row.index(end) if end in row else 20 for row in found.tolist()}
    assert len(lengths) > 2  # so that sequences left the batch at different places
    assert found.tolist() == expected.tolist()


class Shapes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes every operation on tensors with its shapes, for each call of a model."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[list[str]] = [[]]
        model.register_forward_pre_hook(lambda *given: self.calls.append([]))

    def __torch_dispatch__(
        self, operation: Any, types: Any, given: Any = (), named: Any = None
    ) -> Any:
        result = operation(*given, **(named or {}))
        shapes = [tuple(t.shape) for t in tree_leaves((given, named, result)) if torch.is_tensor(t)]
        self.calls[-1].append(f"{operation} {shapes}")
        return result


@pytest.mark.parametrize("make", [t5, bart])
def test_static_steps_have_the_same_shapes_and_the_same_answers(
    make: Callable[[], PreTrainedModel],
) -> None:
    """After the first step, which encodes, each does the same operations on the same shapes."""
    model = make().eval()
    ids, mask = (tensor[:16] for tensor in padded_inputs(model))
    expected = greedy(model, ids, mask, 20)
    with Shapes(model) as noted:
        found = greedy(model, ids, mask, 20, static=True)
    assert found.tolist() == expected.tolist()
    _, _, *later, last = noted.calls  # the last one is followed by the end
    assert len(later) > 5
    assert [call for call in later if call != later[0]] == []
    assert last[: len(later[0]) // 2] == later[0][: len(later[0]) // 2]
    with Shapes(model) as grows:
        greedy(model, ids, mask, 20)
    assert len({tuple(call) for call in grows.calls}) > 5
