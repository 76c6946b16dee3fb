"""One precision in training, dev evaluation and prediction, recorded as what really ran."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.modules.module import register_module_forward_hook

from baselines import predict, train
from baselines.training.optimizer import autocast, has_bf16, resolved

from ..conftest import command, write_recipe

CPU = torch.device("cpu")


@contextmanager
def formats_of_products() -> Iterator[set[torch.dtype]]:
    """The number formats of what the linear layers of any model return, while this is open."""
    found: set[torch.dtype] = set()

    def note(module: nn.Module, _: Any, result: Any) -> None:
        if isinstance(module, nn.Linear):
            found.add(result.dtype)

    hook = register_module_forward_hook(note)
    try:
        yield found
    finally:
        hook.remove()


def test_auto_is_what_the_device_has_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    capabilities: dict[str, bool] = {"avx512_bf16": True}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert has_bf16(CPU)
    assert resolved("auto", CPU) == "bf16"
    capabilities["avx512_bf16"] = False
    assert not has_bf16(CPU)
    assert resolved("auto", CPU) == "fp32"
    assert resolved("bf16", CPU) == "bf16"
    assert resolved("fp32", CPU) == "fp32"
    monkeypatch.delattr(torch.cpu, "get_capabilities")  # as with torch 2.4
    assert resolved("auto", CPU) == "fp32"


def test_only_products_change_their_format() -> None:
    layer, numbers = nn.Linear(2, 2), torch.ones(1, 2)
    with autocast("bf16", CPU):
        assert layer(numbers).dtype == torch.bfloat16
        assert cross_entropy(layer(numbers), torch.tensor([0])).dtype == torch.float32
    with autocast("fp32", CPU):
        assert layer(numbers).dtype == torch.float32
    assert layer.weight.dtype == torch.float32


def test_training_evaluation_and_prediction_share_one_precision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")  # as accelerate launch sets it
    recipe = write_recipe(tmp_path / "r.yaml", steps=1, precision="bf16", evaluate_frames=2)
    with formats_of_products() as found:
        assert command(monkeypatch, train, "--config", recipe, "--output", tmp_path / "run") == 0
    assert found == {torch.bfloat16}
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["record"]["settings"]["precision"] == "bf16"
    (tmp_path / "one.txt").write_text("1_00000\n")
    one = ("--config", "v1", "--dialogues", tmp_path / "one.txt")
    some = ("--model", tmp_path / "run", *one, "--output", tmp_path)
    with formats_of_products() as found:
        assert command(monkeypatch, predict, *some) == 0
    assert found == {torch.bfloat16}
    with (tmp_path / "v1.jsonl").open() as file:
        assert json.loads(file.readline())["metadata"]["system"]["precision"] == "bf16"
    capsys.readouterr()
    assert command(monkeypatch, predict, *some, "--precision", "fp32") == 0
    assert "as the precision of v1" in capsys.readouterr().err
